"""Two floats in one register (``f16x2 bf16x2 e4m3x2 e5m2x2``), the first operand in its upper half (PTX ISA, cvt)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from .types import Array, to_bf16

EIGHT_BITS: Final = {"e4m3x2": "e4m3", "e5m2x2": "e5m2"}
_NAN: Final = 0x7F


@cache
def _magnitudes(kind: str) -> Array:
    """The values of the codes without a sign; the last are infinity and NaN, or NaN."""
    codes = np.arange(128)
    if kind == "e5m2":
        values = (codes.astype("u2") << np.uint16(8)).view("f2").astype("f8")
        return np.where(np.isnan(values), np.nan, values)
    exponent, fraction = codes >> 3, codes & 7
    values = np.ldexp(fraction + np.where(exponent > 0, 8.0, 0.0), np.maximum(exponent, 1) - 10)
    return np.where(codes == _NAN, np.nan, values)


def from_eight_bits(bits: Array, kind: str) -> Array:
    """float32 values of ``e4m3`` or ``e5m2``."""
    values = _magnitudes(kind)[bits & 0x7F].astype("f4")
    return np.asarray(np.where(bits & 0x80, -values, values))


def to_eight_bits(values: Array, kind: str) -> Array:
    """The bits of float32 values, rounded to nearest, ties to even, as ``.satfinite``: what is too large becomes the
    largest finite number."""
    magnitudes = _magnitudes(kind)
    finite = magnitudes[np.isfinite(magnitudes)]
    wanted = np.minimum(np.abs(values.astype("f8")), finite[-1])
    above = np.clip(np.searchsorted(finite, wanted), 1, len(finite) - 1)
    low, high = wanted - finite[above - 1], finite[above] - wanted
    code = np.where((low < high) | ((low == high) & (above % 2 == 1)), above - 1, above)
    code = np.where(np.signbit(values), code | 0x80, code)
    return np.where(np.isnan(values), _NAN, code).astype("u1")


def packing(to: str, *, relu: bool) -> Callable[[Array, Array], Array]:
    """Of two float32 values."""

    def both(a: Array, b: Array) -> Array:
        if relu:
            a, b = np.fmax(a, np.float32(0)), np.fmax(b, np.float32(0))
        high, low = (_bits(each, to) for each in (a, b))
        wide = "u2" if to in EIGHT_BITS else "u4"
        return np.asarray(low.astype(wide) | (high.astype(wide) << np.array(8 * low.itemsize, wide)))

    return both


def _bits(values: Array, to: str) -> Array:
    if to in EIGHT_BITS:
        return to_eight_bits(values, EIGHT_BITS[to])
    return to_bf16(values) if to == "bf16x2" else values.astype("f2").view("u2")


def widening(of: str) -> Callable[[Array], Array]:
    """``f16x2`` of two floats of eight bits."""
    kind = EIGHT_BITS[of]

    def both(bits: Array) -> Array:
        low, high = (from_eight_bits(each, kind).astype("f2").view("u2") for each in (bits & 0xFF, bits >> 8))
        return np.asarray(low.astype("u4") | (high.astype("u4") << np.uint32(16)))

    return both


def narrowing(to: str, *, relu: bool) -> Callable[[Array], Array]:
    """Two floats of eight bits of an ``f16x2``."""
    both = packing(to, relu=relu)

    def halves(bits: Array) -> Array:
        low, high = ((bits >> by & 0xFFFF).astype("u2").view("f2").astype("f4") for by in (0, 16))
        return both(high, low)

    return halves
