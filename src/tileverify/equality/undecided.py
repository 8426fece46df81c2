"""Why an attempt to compare exactly ends without an answer."""

from __future__ import annotations

from ..backend.interpreter.faults import InterpreterStop


class Undecided(InterpreterStop):
    """Something that exact numbers have no rule for; the text names it."""


class NearTie(Undecided):
    """Two different numbers are too close in float64 for a comparison to be believed; another point may do."""
