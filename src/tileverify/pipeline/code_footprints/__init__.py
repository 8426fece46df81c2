"""Compiled code held against the proof for all launches: every access of the PTX beside the accesses of the summary."""
