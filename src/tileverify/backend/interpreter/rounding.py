"""Correct rounding of + - * / sqrt and fused products into any float format, in every mode.

An `Exact` result is the nearest f64 and the sign of what is missing to the true value, found without error by Knuth's
sum, Dekker's product and their remainders; operands are scaled first, so that nothing on the way overflows or is
subnormal.  `quantised` cuts it to the grid of a format.  The common case, nearest even, is NumPy's own arithmetic
(`floats`, `formats`); here are the directed modes and what NumPy has no exact operation for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ...frontend.bytecode.model import ScalarType
from .encodings import to_odd_f64, two_sum
from .values import Array, carrier


@dataclass(frozen=True, slots=True)
class Grid:
    """A float format: ``mantissa`` bits, exponent of the smallest normal number, largest finite value.

    ``infinite``: what is too large becomes infinity; formats without one take the largest value.
    """

    mantissa: int
    smallest: int
    largest: float
    infinite: bool = True


GRIDS: Final = {
    "f64": Grid(52, -1022, float(np.finfo(np.float64).max)),
    "f32": Grid(23, -126, float(np.finfo(np.float32).max)),
    "tf32": Grid(10, -126, (2 - 2**-10) * 2.0**127),
    "bf16": Grid(7, -126, (2 - 2**-7) * 2.0**127),
    "f16": Grid(10, -14, 65504.0),
    "f8E5M2": Grid(2, -14, 57344.0, infinite=False),
    "f8E4M3FN": Grid(3, -6, 448.0, infinite=False),
    "f8E8M0FNU": Grid(0, -127, 2.0**127, infinite=False),
    "f4E2M1FN": Grid(1, 0, 6.0, infinite=False),
}
NEAREST: Final = frozenset({"nearest_even", "nearest_away"})
DIRECTED: Final = frozenset({"zero", "negative_inf", "positive_inf"})
_FAR: Final = 128
"""Exponents this far apart: the smaller number only says on which side of the larger one the sum lies."""


@dataclass(frozen=True, slots=True)
class Exact:
    """The number ``nearest * 2**shift`` and the sign of the true value minus that (less than half a last place).

    Where an operand is no number, or the divisor zero, ``nearest`` is what IEEE 754 says.  ``cancelled``: lanes whose
    true value is a zero that came from summands of opposite signs, so that the mode decides its sign.
    """

    nearest: Array
    missing: Array
    shift: Array | int = 0
    cancelled: Array | None = None

    def below(self, bound: float) -> Array:
        """Whether the true magnitude is below ``bound``; for values that f64 does not round to nothing."""
        value = np.abs(np.ldexp(self.nearest, self.shift))
        inward = np.sign(self.nearest) * self.missing < 0
        return np.asarray((value < bound) | ((value == bound) & inward))


def rounded(exact: Exact, element: ScalarType, mode: str) -> Array:
    """The carrier of the true value rounded into ``element``; to nearest away only where the format is short of f64."""
    grid = GRIDS[element.name]
    nearest = exact.nearest
    negative = np.signbit(nearest)
    plain = np.isfinite(nearest) & (nearest != 0)
    magnitude = np.where(plain, np.abs(nearest), 1.0)
    missing = np.where(negative, -exact.missing, exact.missing)
    steps, place = _grid_steps(magnitude, missing, exact.shift, grid, mode, negative)
    result = np.ldexp(steps, place)
    result = np.where(result > grid.largest, _too_large(negative, grid, mode), result)
    result = np.where(plain, np.copysign(result, nearest), nearest)
    if not grid.infinite:
        result = np.where(np.isinf(nearest), np.copysign(grid.largest, nearest), result)
    if exact.cancelled is not None and mode == "negative_inf":
        result = np.where(exact.cancelled, -0.0, result)
    return np.asarray(result).astype(carrier(element))


def _grid_steps(
    magnitude: Array, missing: Array, shift: Array | int, grid: Grid, mode: str, negative: Array
) -> tuple[Array, Array]:
    """The rounded magnitude as a whole number of steps of the grid, and the exponent of a step there."""
    fraction, exponent = np.frexp(magnitude)
    under = (fraction == 0.5) & (missing < 0)  # just under a power of two, where steps are half as wide
    fraction = np.where(under, 1.0, fraction)
    exponent = exponent - under + shift  # the value lies in [2^(exponent - 1), 2^exponent)
    place = np.maximum(exponent - 1, grid.smallest) - grid.mantissa
    scaled = np.ldexp(fraction, np.maximum(exponent - place, -_FAR))
    steps = np.floor(scaled)
    rest = scaled - steps
    below = (rest == 0) & (missing < 0)
    steps, rest = steps - below, np.where(below, 1.0, rest)
    inexact = (rest > 0) | (missing > 0)
    match mode:
        case "zero":
            up = np.zeros(steps.shape, np.bool_)
        case "negative_inf":
            up = inexact & negative
        case "positive_inf":
            up = inexact & ~negative
        case "nearest_away":
            up = (rest > 0.5) | ((rest == 0.5) & (missing >= 0))
        case _:
            up = (rest > 0.5) | ((rest == 0.5) & ((missing > 0) | ((missing == 0) & (steps % 2 == 1))))
    return steps + up, place


def _too_large(negative: Array, grid: Grid, mode: str) -> Array:
    """The magnitude of a value beyond the largest finite one."""
    away = np.full(negative.shape, mode in NEAREST)
    if mode == "positive_inf":
        away = ~negative
    elif mode == "negative_inf":
        away = negative
    return np.where(away & grid.infinite, np.inf, grid.largest)


# --------------------------------------------------------------------------------------- without an error
def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its error (Dekker), for operands of moderate size."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _split(a: Array) -> tuple[Array, Array]:
    """The upper 26 bits and the rest (Veltkamp)."""
    wide = a * 134217729.0  # 2^27 + 1
    high = wide - (wide - a)
    return high, a - high


def _wide(*operands: Array) -> tuple[Array, ...]:
    return tuple(np.asarray(operand, np.float64) for operand in operands)


def _or_plain(native: Array, plain: Array, nearest: Array, missing: Array, shift: Array) -> Exact:
    """The computed parts on the ``plain`` lanes, elsewhere what NumPy's operation gives."""
    return Exact(
        np.where(plain, nearest, native),
        np.where(plain, np.sign(missing), 0.0),
        np.where(plain, shift, 0),
    )


# ------------------------------------------------------------------------------------------------ operations
def exact_value(a: Array) -> Exact:
    """A float as it is."""
    (value,) = _wide(a)
    return Exact(value, np.zeros(value.shape))


def exact_integer(number: Array) -> Exact:
    """An integer of up to 64 bits."""
    nearest = number.astype(np.float64)
    if number.dtype.itemsize <= 4:
        return Exact(nearest, np.zeros(nearest.shape))
    # Half words are exact in f64; the nearest value itself may be 2^64, which no integer type holds.
    high = (number >> np.asarray(32).astype(number.dtype)).astype(np.float64) * 2.0**32
    low = (number & np.asarray(0xFFFFFFFF).astype(number.dtype)).astype(np.float64)
    return Exact(nearest, np.sign((high - nearest) + low))


def exact_sum(a: Array, b: Array) -> Exact:
    a, b = _wide(a, b)
    total, error = two_sum(a, b)
    finite = np.isfinite(a) & np.isfinite(b)
    large = finite & np.isinf(total)
    half, half_error = two_sum(a * 0.5, b * 0.5)
    return Exact(
        np.where(large, half, total),
        np.where(finite, np.sign(np.where(large, half_error, error)), 0.0),
        np.where(large, 1, 0),
        finite & (total == 0) & (np.signbit(a) != np.signbit(b)),
    )


def exact_product(a: Array, b: Array) -> Exact:
    a, b = _wide(a, b)
    (a_part, a_exponent), (b_part, b_exponent) = np.frexp(a), np.frexp(b)
    product, error = _two_product(a_part, b_part)
    plain = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    return _or_plain(a * b, plain, product, error, a_exponent + b_exponent)


def exact_quotient(a: Array, b: Array) -> Exact:
    a, b = _wide(a, b)
    plain = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    (a_part, a_exponent), (b_part, b_exponent) = np.frexp(a), np.frexp(np.where(plain, b, 1.0))
    quotient = a_part / b_part
    product, error = _two_product(quotient, b_part)
    remainder = (a_part - product) - error
    return _or_plain(a / b, plain, quotient, remainder * np.sign(b_part), a_exponent - b_exponent)


def exact_root(a: Array) -> Exact:
    (a,) = _wide(a)
    plain = np.isfinite(a) & (a > 0)
    part, exponent = np.frexp(np.where(plain, a, 1.0))
    odd = exponent % 2
    part, exponent = np.ldexp(part, odd), exponent - odd
    root = np.sqrt(part)
    product, error = _two_product(root, root)
    return _or_plain(np.sqrt(a), plain, root, (part - product) - error, exponent // 2)


def exact_fused(a: Array, b: Array, c: Array) -> Exact:
    """``a * b + c``: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums" (2008)."""
    a, b, c = _wide(a, b, c)
    native = np.asarray(a * b + c)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    plain = finite & (a != 0) & (b != 0) & (c != 0)
    parts = [np.frexp(np.where(plain, operand, 1.0)) for operand in (a, b, c)]
    (a_part, a_exponent), (b_part, b_exponent), (c_part, c_exponent) = parts
    product, error = _two_product(a_part, b_part)
    shift = a_exponent + b_exponent
    distance = c_exponent - shift
    # An addend far below the last bit of the product's error only decides on which side the sum lies.
    addend = np.ldexp(c_part, np.clip(distance, -_FAR, _FAR))
    high, low = two_sum(addend, error)
    total, rest = two_sum(product, high)
    nearest, missing = two_sum(total, to_odd_f64(rest, low))
    above = distance > _FAR  # and so does a product far below the last bit of the addend
    nearest = np.where(above, c_part, nearest)
    missing = np.where(above, product, missing)
    result = _or_plain(native, plain, nearest, missing, np.where(above, c_exponent, shift))
    # With a zero among the factors NumPy's sum is exact; a zero addend leaves the product.
    alone, only_product = exact_product(a, b), finite & (c == 0) & (a != 0) & (b != 0)
    zero = finite & ~only_product & (np.where(plain, nearest, native) == 0)
    return Exact(
        np.where(only_product, alone.nearest, result.nearest),
        np.where(only_product, alone.missing, result.missing),
        np.where(only_product, alone.shift, result.shift),
        zero & ((np.signbit(a) != np.signbit(b)) != np.signbit(c)),
    )
