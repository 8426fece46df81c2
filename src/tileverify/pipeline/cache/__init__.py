"""Verdicts on disk: what is known of a launch, or of a whole file, that has not changed."""
