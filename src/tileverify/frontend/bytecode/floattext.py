"""Floats as Tile IR assembly writes them: six digits in exponent form if they read back, else all digits, else hex.

This is how LLVM prints floats (APFloat::toString and MLIR's choice between its forms).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """``mantissa`` stored bits, exponent ``bias``; ``specials`` says which patterns are not finite numbers.

    ``ieee``: the largest exponent holds infinities and NaNs; ``nan``: only all ones is NaN; ``none``: all are finite.
    ``signed`` is False for the exponent-only scale format, which has neither sign nor zero.
    """

    bits: int
    mantissa: int
    bias: int
    specials: str = "ieee"
    signed: bool = True


FORMATS: Final[dict[str, FloatFormat]] = {
    "f16": FloatFormat(16, 10, 15),
    "bf16": FloatFormat(16, 7, 127),
    "f32": FloatFormat(32, 23, 127),
    "tf32": FloatFormat(19, 10, 127),
    "f64": FloatFormat(64, 52, 1023),
    "f8E4M3FN": FloatFormat(8, 3, 7, "nan"),
    "f8E5M2": FloatFormat(8, 2, 15),
    "f8E8M0FNU": FloatFormat(8, 0, 127, "nan", signed=False),
    "f4E2M1FN": FloatFormat(4, 1, 1, "none"),
}


def is_nan(bits: int, format: FloatFormat) -> bool:
    exponent, fraction = _split(bits, format)
    if format.specials == "none":
        return False
    if format.specials == "nan":
        return exponent == _top(format) and fraction == (1 << format.mantissa) - 1
    return exponent == _top(format) and fraction != 0


def is_finite(bits: int, format: FloatFormat) -> bool:
    if format.specials == "ieee":
        return _split(bits, format)[0] != _top(format)
    return not is_nan(bits, format)


def is_negative(bits: int, format: FloatFormat) -> bool:
    return format.signed and bits >> (format.bits - 1) == 1


def magnitude(bits: int, format: FloatFormat) -> Fraction:
    """The absolute value of a finite number."""
    return _value(*_split(bits, format), format)


def float_text(bits: int, format: FloatFormat) -> str:
    """The assembly text of the number with pattern ``bits``."""
    if is_finite(bits, format):
        value = magnitude(bits, format)
        sign = "-" if is_negative(bits, format) else ""
        if value == 0:
            return f"{sign}0.000000e+00"
        digits, exponent = _digits(value, 6)
        if _reads_back(digits * Fraction(10) ** exponent, bits, format):
            text = str(digits)
            exponent += len(text) - 1
            return f"{sign}{text[0]}.{text[1:]:0<6}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"
        text = _all_digits(value, format)
        if "." in text:
            return sign + text
    return f"0x{bits:X}"


def _all_digits(value: Fraction, format: FloatFormat) -> str:
    """Every digit that the format can hold; plain notation when at most three zeros are needed for it."""
    limit = 2 + (format.mantissa + 1) * 59 // 196
    digits, exponent = _digits(value, limit)
    text = str(digits)
    leading = exponent + len(text) - 1
    scientific = exponent > 3 or len(text) + exponent > limit if exponent >= 0 else leading < -3
    if scientific:
        return f"{text[0]}.{text[1:] or '0'}E{'-' if leading < 0 else '+'}{abs(leading)}"
    if exponent >= 0:
        return text + "0" * exponent
    if leading >= 0:
        return f"{text[: leading + 1]}.{text[leading + 1 :]}"
    return f"0.{'0' * (-leading - 1)}{text}"


def _digits(value: Fraction, count: int) -> tuple[int, int]:
    """At most ``count`` significant decimal digits and their exponent, without trailing zeros.

    LLVM first cuts the exact digits to a few more bits than needed, then rounds half up: where the cut leaves no
    further digit, the result is truncated.
    """
    twos = value.denominator.bit_length() - 1
    exact, exponent = value.numerator * 5**twos, -twos
    removable = max(0, exact.bit_length() - (count * 196 + 58) // 59) * 59 // 196
    digits = exact // 10**removable
    exponent += removable
    excess = len(str(digits)) - count
    if excess > 0:
        digits = (digits // 10 ** (excess - 1) + 5) // 10
        exponent += excess
    while digits % 10 == 0:
        digits //= 10
        exponent += 1
    return digits, exponent


def _reads_back(value: Fraction, bits: int, format: FloatFormat) -> bool:
    """Whether the nearest number to ``value``, ties to even, has the (finite, non-zero) pattern ``bits``."""
    exponent, fraction = _split(bits, format)
    here = _value(exponent, fraction, format)
    below = _neighbour(exponent, fraction, -1, format)
    above = _neighbour(exponent, fraction, 1, format)
    even = fraction % 2 == 0
    low, high = (here + below) / 2, (here + above) / 2
    return low < value < high or (even and value in (low, high))


def _neighbour(exponent: int, fraction: int, step: int, format: FloatFormat) -> Fraction:
    """The next number up or down, as if there were no largest exponent."""
    joined = (exponent << format.mantissa) + fraction + step
    if joined < 0:
        return _value(exponent, fraction, format) / 2
    return _value(joined >> format.mantissa, joined & ((1 << format.mantissa) - 1), format)


def _split(bits: int, format: FloatFormat) -> tuple[int, int]:
    if format.signed:
        bits &= (1 << (format.bits - 1)) - 1
    return bits >> format.mantissa, bits & ((1 << format.mantissa) - 1)


def _top(format: FloatFormat) -> int:
    return (1 << (format.bits - format.mantissa - format.signed)) - 1


def _value(exponent: int, fraction: int, format: FloatFormat) -> Fraction:
    if not format.signed:
        return Fraction(2) ** (exponent - format.bias)
    whole = fraction if exponent == 0 else fraction + (1 << format.mantissa)
    return whole * Fraction(2) ** (max(exponent, 1) - format.bias - format.mantissa)
