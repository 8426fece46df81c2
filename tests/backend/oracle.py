"""Correct rounding by rational arithmetic: slow, short, and nothing in common with the interpreter's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

MODES = ("nearest_even", "nearest_away", "zero", "negative_inf", "positive_inf")


@dataclass(frozen=True)
class Format:
    """A float format by its parameters; ``largest`` is the largest finite value."""

    mantissa: int
    smallest_exponent: int
    largest: Fraction
    has_infinity: bool = True

    def rounded(self, value: Fraction, mode: str) -> Fraction | float:
        """``value`` on the format's grid; an infinity where the mode makes it one; the largest value if there is none.

        Zeros have no sign here.
        """
        magnitude = abs(value)
        exponent = self.smallest_exponent
        if magnitude:
            exponent = max(exponent, _floor_log2(magnitude))
        step = Fraction(2) ** (exponent - self.mantissa)
        lower = magnitude // step
        rest = magnitude / step - lower
        up = {
            "nearest_even": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and lower % 2 == 1),
            "nearest_away": rest >= Fraction(1, 2),
            "zero": False,
            "negative_inf": rest > 0 and value < 0,
            "positive_inf": rest > 0 and value > 0,
        }[mode]
        result = (lower + up) * step
        if result > self.largest:
            to_infinity = mode in ("nearest_even", "nearest_away", "positive_inf" if value > 0 else "negative_inf")
            if to_infinity and self.has_infinity:
                return -math.inf if value < 0 else math.inf
            result = self.largest
        return _signed(result, value)


def _signed(magnitude: Fraction, like: Fraction) -> Fraction:
    return -magnitude if like < 0 else magnitude


def _floor_log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


def root(value: Fraction) -> Fraction:
    """The square root if it is rational with few bits, else a number that rounds like it to any format in any mode."""
    bits = 2400
    scaled = (value.numerator << 2 * bits) // value.denominator
    floor = math.isqrt(scaled)
    exact = floor * floor == scaled and scaled * value.denominator == value.numerator << 2 * bits
    return Fraction(2 * floor + (not exact), 2 << bits)


F64 = Format(52, -1022, Fraction((1 << 53) - 1) * Fraction(2) ** 971)
F32 = Format(23, -126, Fraction((1 << 24) - 1) * Fraction(2) ** 104)
TF32 = Format(10, -126, Fraction((1 << 11) - 1) * Fraction(2) ** 117)
BF16 = Format(7, -126, Fraction((1 << 8) - 1) * Fraction(2) ** 120)
F16 = Format(10, -14, Fraction(65504))
F8E5M2 = Format(2, -14, Fraction(57344), has_infinity=False)
F8E4M3FN = Format(3, -6, Fraction(448), has_infinity=False)
F4E2M1FN = Format(1, 0, Fraction(6), has_infinity=False)

FORMATS = {
    "f64": F64, "f32": F32, "tf32": TF32, "bf16": BF16, "f16": F16,
    "f8E5M2": F8E5M2, "f8E4M3FN": F8E4M3FN, "f4E2M1FN": F4E2M1FN,
}  # fmt: skip
