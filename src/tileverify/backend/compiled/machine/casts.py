"""The rule of an instruction that computes, and ``cvt``: conversions between integers, floats and packed floats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from ..ptx import Instruction
from .storage import DTYPES, Array, from_bf16, to_bf16

Function: TypeAlias = Callable[..., Array]


@dataclass(frozen=True, slots=True)
class ValueRule:
    """``function`` of operands read as ``sources`` is an array of type ``result``."""

    function: Function
    sources: tuple[str, ...]
    result: str


class UnknownInstruction(Exception):
    """An instruction without a rule."""


# ---------------------------------------------------------------------------------------------------------------- casts
# ``cvt``: conversions between integers, floats, and floats of fewer bits that lie in registers of bits.
#
# A type of fewer bits is written as PTX packs it: two values of ``e4m3x2`` in 16 bits, two of ``e2m1x2`` in 8, the
# first operand in the upper half; one of ``tf32`` in 32 bits, of which the lowest 13 are zero.  PTX ISA 9.4, section
# 9.7.9.21.


_TO_WHOLE: Final[dict[str, Function]] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_PACKED: Final = frozenset({"f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m1x2"})
_TYPES: Final = frozenset({*DTYPES, *_PACKED, "bf16", "tf32"})


def conversion(instruction: Instruction) -> ValueRule:
    """Modifiers stand before the types or behind them: ``cvt.rn.f16.f32``, ``cvt.f16.f32.rn``."""
    types = [part for part in instruction.opcode if part in _TYPES]
    if len(types) != 2:
        raise UnknownInstruction(instruction.name)
    to, of = types
    if to in _PACKED or of in _PACKED:
        return _packed(instruction, to, of)
    if to == "tf32":
        return _to_tf32(instruction, of)
    return _single(instruction, to, of)


def _single(instruction: Instruction, to: str, of: str) -> ValueRule:
    read = {"bf16": "b16"}.get(of, of)
    function: Function = from_bf16 if of == "bf16" else lambda a: a
    if to == "bf16":
        return ValueRule(_then(function, to_bf16), (read,), "b16")
    dtype = DTYPES[to]
    rounding = next((_TO_WHOLE[part] for part in instruction.opcode if part in _TO_WHOLE), None)
    if to.startswith("f"):
        after: Function = lambda a: a.astype(dtype)  # noqa: E731
        if instruction.has("sat"):
            after = saturated(after)
        if rounding is not None:
            function = _then(function, rounding)
    elif of.startswith(("f", "bf")):
        if rounding is None:
            raise UnknownInstruction(instruction.name)
        after = _then(rounding, lambda a: _clipped(a, dtype))
    elif instruction.has("sat"):
        after = lambda a: np.clip(a, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)  # noqa: E731
    else:
        after = lambda a: a.astype(dtype)  # noqa: E731
    return ValueRule(_then(function, after), (read,), to)


def saturated(function: Function) -> Function:
    """Between 0 and 1, and 0 for what is no number."""

    def clipped(*given: Array) -> Array:
        found = function(*given)
        return np.where(np.isnan(found), 0, np.clip(found, 0, 1)).astype(found.dtype)

    return clipped


def _then(first: Function, second: Function) -> Function:
    return lambda *given: second(first(*given))


def _clipped(values: Array, dtype: np.dtype[Any]) -> Array:
    """Floats to integers: what is outside becomes the end of the range, NaN 0."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = np.where(np.isnan(values), 0, values.astype("f8"))
    inside = np.clip(values, float(low), np.nextafter(float(high) + 1.0, 0.0)).astype(dtype)
    return np.where(values >= float(high), dtype.type(high), np.where(values <= float(low), dtype.type(low), inside))


# ------------------------------------------------------------------------------------------- tf32
_TF32_DROPS: Final = 13
"""Bits of a float32 that tf32 does not have."""


def _to_tf32(instruction: Instruction, of: str) -> ValueRule:
    """``.rn`` rounds to nearest and ties to even, ``.rna`` ties away from zero."""
    modifiers = {*instruction.opcode[1:]} - {"tf32", "f32"}
    if of != "f32" or modifiers not in ({"rn"}, {"rna"}):
        raise UnknownInstruction(instruction.name)
    to_even = "rn" in modifiers
    half, last = np.uint32(1 << _TF32_DROPS - 1), np.uint32(_TF32_DROPS)

    def rounded(a: Array) -> Array:
        bits = np.ascontiguousarray(a).view("u4")
        up = half - np.uint32(1) + ((bits >> last) & np.uint32(1)) if to_even else half
        found = (bits + up) >> last << last
        return np.asarray(np.where(np.isnan(a), np.uint32(0x7FFF_E000), found), "u4").reshape(a.shape)

    return ValueRule(rounded, ("f32",), "b32")


# ------------------------------------------------------------------------------------------- pairs
@dataclass(frozen=True, slots=True)
class _Narrow:
    """A float of a sign, an exponent with a ``bias``, and ``fraction`` bits.  ``most``: the code of the largest number.
    ``nan``: the code of what is no number; formats that have none make the largest number of it."""

    bits: int
    fraction: int
    bias: int
    most: int
    nan: int

    def coded(self, values: Array) -> Array:
        """float32 to codes, rounded to nearest, ties to even; what is too large becomes the largest number."""
        size = np.abs(np.where(np.isfinite(values), values, 0).astype("f8"))
        least = 1 - self.bias
        exponent = np.where(size == 0, least, np.maximum(np.frexp(size)[1] - 1, least))
        steps = np.rint(np.ldexp(size, self.fraction - exponent)).astype("i8")
        code = np.minimum((exponent.astype("i8") + self.bias - 1 << self.fraction) + steps, self.most)
        code = np.where(np.isinf(values), self.most, code)
        code |= np.signbit(values).astype("i8") << self.bits - 1
        return np.asarray(np.where(np.isnan(values), self.nan, code))

    def value(self, code: int) -> float:
        size = code & (1 << self.bits - 1) - 1
        sign = -1.0 if code >> self.bits - 1 else 1.0
        if size > self.most:
            infinite = self.nan > self.most + 1 and size == self.most + 1
            return sign * np.inf if infinite else np.nan
        exponent, steps = size >> self.fraction, size & (1 << self.fraction) - 1
        if exponent:
            steps |= 1 << self.fraction
        return sign * float(np.ldexp(float(steps), max(exponent, 1) - self.bias - self.fraction))

    def table(self) -> Array:
        """The float16 of each code."""
        return np.array([self.value(code) for code in range(1 << self.bits)], "f2")


_NARROW: Final = {
    "e4m3x2": _Narrow(8, 3, 7, 0x7E, 0x7F),
    "e5m2x2": _Narrow(8, 2, 15, 0x7B, 0x7F),
    "e2m1x2": _Narrow(4, 1, 1, 0x7, 0x7),
}


def from_eight_bits(codes: Array, kind: str) -> Array:
    """float32 values of ``e4m3`` or ``e5m2``."""
    return np.asarray(_NARROW[f"{kind}x2"].table()[codes].astype("f4"))


def to_eight_bits(values: Array, kind: str) -> Array:
    """The codes of float32 values, as `_Narrow.coded` rounds them."""
    return _NARROW[f"{kind}x2"].coded(values).astype("u1")


def _packed(instruction: Instruction, to: str, of: str) -> ValueRule:
    """``cvt.rn.f16x2.f32 d, a, b``: ``a`` becomes the upper half."""
    if {*instruction.opcode[1:]} - {to, of} - {"rn", "relu", "satfinite"}:
        raise UnknownInstruction(instruction.name)
    if of in _NARROW and to == "f16x2":
        return _widened(instruction, of)
    narrow = _NARROW.get(to)
    if of not in ("f32", "f16x2") or (narrow is not None) != instruction.has("satfinite"):
        raise UnknownInstruction(instruction.name)
    if of == "f16x2" and narrow is None:
        raise UnknownInstruction(instruction.name)
    bits = 16 if narrow is None else narrow.bits

    def coded(values: Array) -> Array:
        if narrow is not None:
            return narrow.coded(values)
        return to_bf16(values) if to == "bf16x2" else values.astype("f2").view("u2")

    def both(a: Array, b: Array) -> Array:
        if instruction.has("relu"):
            a, b = np.fmax(a, np.float32(0)), np.fmax(b, np.float32(0))
        high, low = (coded(each).astype("u4") for each in (a, b))
        return np.asarray((low | (high << np.uint32(bits))).astype(f"u{bits // 4}"))

    def halves(pair: Array) -> Array:
        """Of the two float16 in 32 bits."""
        high, low = ((pair >> np.uint32(shift)).astype("u2").view("f2").astype("f4") for shift in (16, 0))
        return both(high, low)

    if of == "f16x2":
        return ValueRule(halves, ("b32",), f"b{2 * bits}")
    return ValueRule(both, ("f32", "f32"), f"b{2 * bits}")


def _widened(instruction: Instruction, of: str) -> ValueRule:
    if instruction.has("relu") or instruction.has("satfinite"):
        raise UnknownInstruction(instruction.name)
    narrow = _NARROW[of]
    table, mask = narrow.table().view("u2").astype("u4"), (1 << narrow.bits) - 1

    def both(a: Array) -> Array:
        return np.asarray(table[a & mask] | (table[(a >> narrow.bits) & mask] << np.uint32(16)))

    return ValueRule(both, (f"b{2 * narrow.bits}",), "b32")
