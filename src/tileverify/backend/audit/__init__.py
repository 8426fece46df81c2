"""A second reading of a proof: what the access summary says of launches of numbers, beside what the interpreter logs."""
