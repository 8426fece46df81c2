"""Findings that shall not fail a run, and why: comments beside kernels, tables in the configuration, a baseline.

A suppression changes the exit code and nothing else.  Verdicts stay what they are, suppressed findings stay in every
report, and a suppression without a reason, out of date, or without anything to suppress is a finding of its own.
"""
