"""Element encodings: between carriers and the bits that stand in memory, and rounding to a narrower float.

f16, bf16, tf32 are IEEE-like prefixes of f32 or f64; the 8- and 4-bit formats follow the OCP tables (OFP8, MX).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from ...frontend.bytecode.model import ScalarType
from .faults import NotModelled
from .values import Array, carrier


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
