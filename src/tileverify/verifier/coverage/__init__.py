"""Whether every element of an array is written: no part of `proved`, and asked for by `--complete`."""
