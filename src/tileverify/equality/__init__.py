"""Is it the same function?  A kernel and its reference on numbers of a finite field, where comparisons are exact."""
