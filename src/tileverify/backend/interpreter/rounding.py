"""Elements as bits: encodings in memory, and correct rounding of arithmetic into any float format in every mode.

f16, bf16, tf32 are IEEE-like prefixes of f32 or f64; the 8- and 4-bit formats follow the OCP tables (OFP8, MX).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from ...frontend.bytecode.model import ScalarType
from .values import Array, NotModelled, carrier


# ---------------------------------------------------------------------------------------- minifloat tables
@dataclass(frozen=True, slots=True)
class Minifloat:
    """A float of 4 or 8 bits.  ``infinity``/``nans`` are the magnitude codes with that meaning."""

    exponent: int
    mantissa: int
    bias: int
    signed: bool = True
    infinity: int | None = None
    nans: tuple[int, ...] = ()

    def magnitude(self, code: int) -> float:
        """The value of the magnitude code (sign bit removed)."""
        if code in self.nans:
            return float("nan")
        if code == self.infinity:
            return float("inf")
        exponent, fraction = code >> self.mantissa, code & ((1 << self.mantissa) - 1)
        if not self.signed:  # f8E8M0: a power of two, no zero
            return float(2.0 ** (code - self.bias))
        if exponent == 0:
            return fraction * 2.0 ** (1 - self.bias - self.mantissa)
        return (1 + fraction / (1 << self.mantissa)) * 2.0 ** (exponent - self.bias)


MINIFLOATS: Final[dict[str, Minifloat]] = {
    "f8E4M3FN": Minifloat(4, 3, 7, nans=(0x7F,)),
    "f8E5M2": Minifloat(5, 2, 15, infinity=0x7C, nans=(0x7D, 0x7E, 0x7F)),
    "f8E8M0FNU": Minifloat(8, 0, 127, signed=False, nans=(0xFF,)),
    "f4E2M1FN": Minifloat(2, 1, 1),
}


@cache
def _table(name: str) -> tuple[Array, Array, int]:
    """Values of all codes, finite magnitudes in ascending order of code, and the sign bit (0: unsigned)."""
    form = MINIFLOATS[name]
    bits = form.exponent + form.mantissa
    magnitudes = [form.magnitude(code) for code in range(1 << bits)]
    finite = np.array([m for m in magnitudes if np.isfinite(m)], np.float64)
    codes = magnitudes + [-m for m in magnitudes] if form.signed else magnitudes
    return np.array(codes, np.float32), finite, (1 << bits) if form.signed else 0


def _encode_minifloat(data: Array, name: str) -> Array:
    _, finite, sign = _table(name)
    form = MINIFLOATS[name]
    magnitude = np.abs(data.astype(np.float64))
    middles = (finite[1:] + finite[:-1]) / 2
    code = np.searchsorted(middles, magnitude, side="left")
    tie = middles[np.minimum(code, len(middles) - 1)] == magnitude
    code = np.where(tie & (code % 2 == 1), code + 1, code)
    if form.infinity is not None:
        code = np.where(np.isinf(magnitude), form.infinity, code)
    if form.nans:
        code = np.where(np.isnan(magnitude), form.nans[-1], code)
    if sign:
        code = code | np.where(np.signbit(data), sign, 0)
    return code.astype(np.uint8)


# ------------------------------------------------------------------------------------------------ encoding
def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its error (Knuth), if nothing overflows."""
    total = np.asarray(a + b)
    part = total - a
    return total, np.asarray((a - (total - part)) + (b - part))


def to_odd_f32(data: Array) -> Array:
    """f64 values as f32, rounded to odd: a later rounding to fewer bits then equals rounding once."""
    if data.dtype == np.float32:
        return np.ascontiguousarray(data)
    nearest = np.ascontiguousarray(data).astype(np.float32)
    back = nearest.astype(np.float64)
    even = (nearest.view(np.uint32) & np.uint32(1)) == 0
    toward = np.where(back < data, np.float32(np.inf), np.float32(-np.inf))
    return np.where((back != data) & even & np.isfinite(data), np.nextafter(nearest, toward), nearest)


def to_odd_f64(a: Array, b: Array) -> Array:
    """``a + b`` in f64 with what does not fit made sticky in the last bit: rounded to odd."""
    total, error = two_sum(a, b)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(np.isfinite(total) & (error != 0) & even, np.nextafter(total, toward), total)


def _chop_f32(data: Array, dropped: int) -> Array:
    """The bits of f32 values rounded to nearest even with ``dropped`` fewer mantissa bits (NaN stays NaN)."""
    raw = to_odd_f32(data).view(np.uint32)
    half, kept = np.uint32((1 << (dropped - 1)) - 1), np.uint32(0xFFFFFFFF << dropped & 0xFFFFFFFF)
    rounded = raw + half + ((raw >> np.uint32(dropped)) & np.uint32(1))
    quiet = raw | np.uint32(0x00400000)
    return np.asarray(np.where(np.isnan(data), quiet, rounded) & kept)


def to_bits(data: Array, element: ScalarType) -> Array:
    """Memory bits of a carrier array, one unsigned word of the storage width per element."""
    data = np.asarray(data)
    match element.name:
        case "i1":
            return data.astype(np.uint8)
        case name if name[0] == "i":
            return data
        case "f64":
            return np.ascontiguousarray(data).view(np.uint64).reshape(data.shape)
        case "f32" | "tf32":
            return np.ascontiguousarray(data).view(np.uint32).reshape(data.shape)
        case "f16":
            return data.astype(np.float16).view(np.uint16)
        case "bf16":
            return (_chop_f32(data, 16) >> np.uint32(16)).astype(np.uint16).reshape(data.shape)
        case name if name in MINIFLOATS:
            return _encode_minifloat(data, name)
    raise NotModelled(f"the element type {element.name}")


def from_bits(bits: Array, element: ScalarType) -> Array:
    """The carrier array of memory bits; an i1 byte is true when it is not zero."""
    match element.name:
        case "i1":
            return np.asarray(bits != 0)
        case name if name[0] == "i":
            return bits
        case "f64":
            return bits.view(np.float64)
        case "f32" | "tf32":
            return bits.view(np.float32)
        case "f16":
            return bits.view(np.float16).astype(np.float32)
        case "bf16":
            return np.asarray(bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
        case name if name in MINIFLOATS:
            return np.asarray(_table(name)[0][bits])
    raise NotModelled(f"the element type {element.name}")


def raw_to_storage(raw: Array, element: ScalarType) -> Array:
    """Raw element patterns (as constants carry them) to memory bits; they differ for tf32 alone (19 bits)."""
    return raw << np.uint32(13) if element.name == "tf32" else raw


def round_to(data: Array, element: ScalarType) -> Array:
    """``data`` (float32 or float64) rounded to nearest even into ``element``, as a carrier.

    Minifloats saturate, infinities too: no rule says so, but an H100 does it (f8E4M3FN, f8E5M2).
    """
    match element.name:
        case "f64":
            return data.astype(np.float64, copy=False)
        case "f32":
            return data.astype(np.float32, copy=False)
        case "tf32":
            return _chop_f32(data, 13).view(np.float32).reshape(data.shape)
        case name if name in MINIFLOATS:
            largest = largest_finite(element)
            return np.asarray(from_bits(to_bits(np.clip(data, -largest, largest), element), element))
        case _:
            return np.asarray(from_bits(to_bits(data, element), element), carrier(element))


def largest_finite(element: ScalarType) -> float:
    """The largest finite value of a minifloat; infinity for the formats that overflow to it by IEEE rules."""
    return float(_table(element.name)[1][-1]) if element.name in MINIFLOATS else float("inf")


# ------------------------------------------------------------------------------------------------------------- rounding
# Correct rounding of + - * / sqrt and fused products into any float format, in every mode.
#
# An `Exact` result is the nearest f64 and the sign of what is missing to the true value, found without error by Knuth's
# sum, Dekker's product and their remainders; operands are scaled first, so that nothing on the way overflows or is
# subnormal.  `quantised` cuts it to the grid of a format.  The common case, nearest even, is NumPy's own arithmetic
# (`floats`, `formats`); here are the directed modes and what NumPy has no exact operation for.


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
