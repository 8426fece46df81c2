"""Why an attempt to compare exactly ends without an answer."""

from __future__ import annotations

from ..backend.interpreter.values import InterpreterStop


class Undecided(InterpreterStop):
    """Something that exact numbers have no rule for; the text names it."""


class NearTie(Undecided):
    """Two different numbers are too close in float64 for a comparison to be believed; another point may do."""


class ShadowLost(NearTie):
    """A number went beyond float64 on the way, so what float64 says of it decides nothing; another point may do."""

    def __init__(self) -> None:
        super().__init__("a number is beyond float64, or on one side of 0 by its rounding alone")
