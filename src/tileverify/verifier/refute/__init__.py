"""What may be wrong without harm, because a replay confirms every witness."""
