"""Instructions that compute a value of values, each a function of arrays, and ``cvt`` between their types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from ..ptx import Instruction
from .storage import DTYPES, RANK_BITS, UNSIGNED, Array, from_bf16, to_bf16, width

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


# ------------------------------------------------------------------------------------------------------------- computed
# Instructions that compute a value of values, each a function of arrays.
#
# ``RULES[base]`` makes the function for an instruction, with the type of each operand and of the result.  PTX ISA 9.4,
# sections 9.7.1 to 9.7.9.  Approximations (``ex2.approx``) are computed as exactly as NumPy does.


def rule_of(instruction: Instruction) -> ValueRule:
    """Raises `UnknownInstruction`."""
    make = RULES.get(instruction.opcode[0])
    if make is None:
        raise UnknownInstruction(instruction.name)
    try:
        return make(instruction)
    except KeyError:
        raise UnknownInstruction(instruction.name) from None


# ------------------------------------------------------------------------------------------- integers
def _divided(a: Array, b: Array) -> Array:
    """Towards zero; all ones for a divisor of 0, where PTX leaves the result open."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    if a.dtype.kind == "u":
        return np.where(b == 0, ~a.dtype.type(0), a // safe)
    quotient = a // safe
    inexact = (quotient * safe != a) & ((a < 0) != (safe < 0))
    return np.asarray(np.where(b == 0, a.dtype.type(-1), quotient + inexact.astype(a.dtype)))


def _remainder(a: Array, b: Array) -> Array:
    return np.where(b == 0, a, a - _divided(a, b) * b)


def _high(a: Array, b: Array) -> Array:
    """The upper half of the product."""
    if a.dtype.itemsize < 8:
        wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
        return np.asarray((a.astype(wide) * b.astype(wide) >> wide.type(8 * a.dtype.itemsize)).astype(a.dtype))
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x, y = a.view("u8"), b.view("u8")
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + (x0 * y0 >> half)
    other = x0 * y1 + (middle & low)
    high = x1 * y1 + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return np.asarray(high.view(a.dtype))


def _shifted_left(a: Array, by: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    return np.asarray(np.where(by >= bits, a.dtype.type(0), a << np.minimum(by, bits - 1).astype(a.dtype)))


def _shifted_right(a: Array, by: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    shifted = a >> np.minimum(by, bits - 1).astype(a.dtype)
    return np.asarray(shifted if a.dtype.kind == "i" else np.where(by >= bits, a.dtype.type(0), shifted))


def _leading_zeros(a: Array) -> Array:
    value, count = a.copy(), np.full(a.shape, 8 * a.dtype.itemsize, "u4")
    while value.any():
        count -= (value != 0).astype("u4")
        value = value >> value.dtype.type(1)
    return count


def _ones(a: Array) -> Array:
    return np.bitwise_count(a).astype("u4")


def _reversed(a: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    found = np.zeros_like(a)
    for place in range(bits):
        found |= ((a >> a.dtype.type(place)) & a.dtype.type(1)) << a.dtype.type(bits - 1 - place)
    return found


def _leftmost(a: Array) -> Array:
    """The place of the highest bit that differs from the sign; all ones where none does."""
    plain = (a ^ (a >> a.dtype.type(8 * a.dtype.itemsize - 1))) if a.dtype.kind == "i" else a
    unsigned = plain.view(UNSIGNED[a.dtype.itemsize])
    return np.uint32(8 * a.dtype.itemsize - 1) - _leading_zeros(unsigned)


def _field(a: Array, start: Array, length: Array) -> Array:
    """``bfe``: bits of ``a``, sign-extended for signed types."""
    bits = 8 * a.dtype.itemsize
    start, length = (start & 0xFF).astype("i8"), (length & 0xFF).astype("i8")
    unsigned = a.view(UNSIGNED[a.dtype.itemsize])
    last = np.minimum(start + length - 1, bits - 1)
    sign = np.where(
        last < 0, 0, (unsigned >> np.clip(last, 0, bits - 1).astype(unsigned.dtype)) & unsigned.dtype.type(1)
    )
    shifted = np.where(
        start >= bits, unsigned.dtype.type(0), unsigned >> np.minimum(start, bits - 1).astype(unsigned.dtype)
    )
    kept = np.minimum(length, bits)
    mask = np.where(
        kept >= bits,
        ~unsigned.dtype.type(0),
        (unsigned.dtype.type(1) << np.minimum(kept, bits - 1).astype(unsigned.dtype)) - unsigned.dtype.type(1),
    )
    found = shifted & mask
    if a.dtype.kind == "i":
        found = np.where((sign != 0) & (length != 0), found | ~mask, found)
    return np.asarray(found.view(a.dtype))


def _inserted(a: Array, into: Array, start: Array, length: Array) -> Array:
    """``bfi``: the low bits of ``a`` in ``into``."""
    bits = 8 * a.dtype.itemsize
    places = np.arange(bits)
    first, count = (start & 0xFF).astype("i8"), (length & 0xFF).astype("i8")
    inside = (places >= first[..., None]) & (places < (first + count)[..., None])
    mask = (inside * (np.uint64(1) << places.astype("u8"))).sum(-1, dtype="u8").astype(a.dtype)
    return np.asarray((into & ~mask) | (_shifted_left(a, start & np.uint32(0xFF)) & mask))


def _permuted(a: Array, b: Array, selector: Array) -> Array:
    """``prmt`` in its general mode: a byte of the eight of ``b`` and ``a`` for each nibble."""
    whole = (b.astype("u8") << np.uint64(32)) | a.astype("u8")
    found = np.zeros(np.broadcast(a, b, selector).shape, "u4")
    for place in range(4):
        nibble = (selector >> np.uint32(4 * place)) & np.uint32(0xF)
        byte = (whole >> (np.uint64(8) * (nibble & np.uint32(7)).astype("u8"))) & np.uint64(0xFF)
        signed = np.where(byte & np.uint64(0x80), np.uint64(0xFF), np.uint64(0))
        byte = np.where(nibble & np.uint32(8), signed, byte)
        found |= (byte << np.uint64(8 * place)).astype("u4")
    return found


def _any_logic(a: Array, b: Array, c: Array, table: Array) -> Array:
    """``lop3``: bit ``4a + 2b + c`` of the table."""
    found = np.zeros(np.broadcast(a, b, c).shape, a.dtype)
    for number in range(8):
        term = (a if number & 4 else ~a) & (b if number & 2 else ~b) & (c if number & 1 else ~c)
        found |= np.where((table >> np.uint32(number)) & np.uint32(1), term, a.dtype.type(0))
    return found


def _funnel_left(low: Array, high: Array, by: Array, clamp: bool) -> Array:
    by = np.minimum(by, 32) if clamp else by & np.uint32(31)
    whole = (high.astype("u8") << np.uint64(32)) | low.astype("u8")
    return np.asarray(
        (np.where(by >= 32, whole << np.uint64(32), whole << by.astype("u8")) >> np.uint64(32)).astype("u4")
    )


def _funnel_right(low: Array, high: Array, by: Array, clamp: bool) -> Array:
    by = np.minimum(by, 32) if clamp else by & np.uint32(31)
    whole = (high.astype("u8") << np.uint64(32)) | low.astype("u8")
    return np.asarray((whole >> by.astype("u8")).astype("u4"))


def _of_rank(address: Array, rank: Array) -> Array:
    """The same place in the shared memory of another block of the cluster."""
    return np.asarray(address & np.uint32((1 << RANK_BITS) - 1) | rank << np.uint32(RANK_BITS))


# ------------------------------------------------------------------------------------------- by type
_PLAIN: Final[dict[str, Function]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.fmin, "max": np.fmax,
    "fma": lambda a, b, c: a * b + c, "mad": lambda a, b, c: a * b + c, "neg": np.negative, "abs": np.abs,
    "sqrt": np.sqrt, "rsqrt": lambda a: 1 / np.sqrt(a), "rcp": lambda a: 1 / a, "ex2": np.exp2, "lg2": np.log2,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "copysign": lambda a, b: np.copysign(b, a),
}  # fmt: skip
"""Of floats; what is rounded once on the machine is rounded once here, as it is computed in float64."""
_WITH_NAN: Final[dict[str, Function]] = {"min": np.minimum, "max": np.maximum}
_INTEGER: Final[dict[str, Function]] = {
    "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert, "neg": np.negative, "abs": np.abs,
    "div": _divided, "rem": _remainder, "cnot": lambda a: (a == 0).astype(a.dtype),
}  # fmt: skip
_COMPARE: Final[dict[str, Function]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}  # fmt: skip
_JOIN: Final[dict[str, Function]] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_LOGIC: Final[dict[str, Function]] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not,
}  # fmt: skip


def _in_bf16(function: Function) -> Function:
    return lambda *given: to_bf16(function(*map(from_bf16, given)))


def _in_pairs(function: Function, half: str) -> Function:
    """Of the two halves of 32 bits."""

    def both(*given: Array) -> Array:
        parts = []
        for shift in (0, 16):
            halves = [((each >> np.uint32(shift)) & np.uint32(0xFFFF)).astype("u2") for each in given]
            parts.append(
                function(*(each.view("f2") for each in halves)).view("u2") if half == "f16" else function(*halves)
            )
        return np.asarray(parts[0].astype("u4") | (parts[1].astype("u4") << np.uint32(16)))

    return both


def _in_wide_pairs(function: Function) -> Function:
    """Of the two float32 in 64 bits."""

    def both(*given: Array) -> Array:
        parts = []
        for shift in (0, 32):
            halves = [((each >> np.uint64(shift)) & np.uint64(0xFFFFFFFF)).astype("u4").view("f4") for each in given]
            parts.append(_in_double(function)(*halves).view("u4").astype("u8"))
        return np.asarray(parts[0] | (parts[1] << np.uint64(32)))

    return both


def _float_function(instruction: Instruction, count: int) -> ValueRule:
    base, type_ = instruction.opcode[0], instruction.type
    function = (_WITH_NAN if instruction.has("NaN") else {}).get(base, _PLAIN[base])
    if instruction.has("relu"):
        plain = function
        function = lambda *given: np.fmax(plain(*given), given[0].dtype.type(0))  # noqa: E731
    if instruction.has("sat"):
        function = saturated(function)
    if type_ == "f32":
        function = _in_double(function)
    if type_ == "f32x2":
        return ValueRule(_in_wide_pairs(function), ("b64",) * count, "b64")
    if instruction.opcode[-2] == "f32" and type_ in ("f16", "bf16"):  # the first operand is narrow, the sum is not
        widen: Function = from_bf16 if type_ == "bf16" else lambda a: a.astype("f4")
        narrow = "b16" if type_ == "bf16" else type_
        return ValueRule(
            lambda a, *rest: _in_double(function)(widen(a), *rest), (narrow, *("f32",) * (count - 1)), "f32"
        )
    if type_ in ("f16x2", "bf16x2"):
        half = type_[:-2]
        function, type_ = _in_pairs(_in_bf16(function) if half == "bf16" else function, half), "b32"
    elif type_ == "bf16":
        function, type_ = _in_bf16(function), "b16"
    return ValueRule(function, (type_,) * count, type_)


def _in_double(function: Function) -> Function:
    return lambda *given: function(*(each.astype("f8") for each in given)).astype("f4")


def _is_float(type_: str) -> bool:
    return type_.startswith(("f", "bf"))


def _simple(count: int) -> Callable[[Instruction], ValueRule]:
    """Rules of operations that are alike in all types."""

    def make(instruction: Instruction) -> ValueRule:
        type_ = instruction.type
        if _is_float(type_):
            return _float_function(instruction, count)
        if type_ == "pred":
            return ValueRule(_LOGIC[instruction.opcode[0]], ("pred",) * count, "pred")
        return ValueRule(_INTEGER[instruction.opcode[0]], (type_,) * count, type_)

    return make


def _extreme(instruction: Instruction) -> ValueRule:
    """Of two operands, or of three (f32 on sm_100 and later), which give what two of two would."""
    if instruction.has("xorsign"):
        raise UnknownInstruction(instruction.name)
    pair = _simple(2)(instruction)
    _, *sources = instruction.operands
    if len(sources) == len(pair.sources):
        return pair
    of_two = pair.function
    return ValueRule(lambda a, b, c: of_two(of_two(a, b), c), (*pair.sources, pair.sources[0]), pair.result)


def _product(instruction: Instruction) -> ValueRule:
    type_ = instruction.type
    if _is_float(type_):
        return _float_function(instruction, 2)
    if instruction.has("wide"):
        wide = f"{type_[0]}{16 * width(type_)}"
        dtype = DTYPES[wide]
        return ValueRule(lambda a, b: a.astype(dtype) * b.astype(dtype), (type_, type_), wide)
    return ValueRule(_high if instruction.has("hi") else np.multiply, (type_, type_), type_)


def _product_and_sum(instruction: Instruction) -> ValueRule:
    type_ = instruction.type
    if _is_float(type_):
        return _float_function(instruction, 3)
    product = _product(instruction)
    return ValueRule(lambda a, b, c: np.add(product.function(a, b), c), (type_, type_, product.result), product.result)


def _shift(instruction: Instruction) -> ValueRule:
    type_ = instruction.type
    if instruction.opcode[0] == "shl":
        type_ = f"u{8 * width(type_)}"
        return ValueRule(_shifted_left, (type_, "u32"), type_)
    return ValueRule(_shifted_right, (type_.replace("b", "u"), "u32"), type_.replace("b", "u"))


def _funnel(instruction: Instruction) -> ValueRule:
    clamp, left = instruction.has("clamp"), instruction.has("l")
    function = _funnel_left if left else _funnel_right
    return ValueRule(lambda a, b, by: function(a, b, by, clamp), ("u32", "u32", "u32"), "u32")


def _comparison(instruction: Instruction) -> ValueRule:
    """``setp``: its second result, if it has one, is the opposite; `warp` instructions have their own."""
    opcode, type_ = instruction.opcode, instruction.type
    kind = opcode[1]
    if kind in _COMPARE:
        compare = _COMPARE[kind]
    else:
        ordered = _COMPARE[kind.removesuffix("u")]  # unordered: true where one of the two is no number
        compare = lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)  # noqa: E731
    if kind == "ne" and _is_float(type_):
        compare = lambda a, b: (a < b) | (a > b)  # noqa: E731
    read: tuple[str, ...] = (type_, type_)
    if type_ == "bf16":
        plain = compare
        compare, read = lambda a, b: plain(from_bf16(a), from_bf16(b)), ("b16", "b16")
    join = next((_JOIN[part] for part in opcode[2:-1] if part in _JOIN), None)
    if join is None:
        return ValueRule(compare, read, "pred")
    joined, plain_ = join, compare
    return ValueRule(lambda a, b, c: joined(plain_(a, b), c), (*read, "pred"), "pred")


def _selection(instruction: Instruction) -> ValueRule:
    type_ = f"b{8 * width(instruction.type)}" if instruction.type != "pred" else "pred"
    return ValueRule(lambda a, b, p: np.asarray(np.where(p, a, b)), (type_, type_, "pred"), type_)


def _move(instruction: Instruction) -> ValueRule:
    type_ = "pred" if instruction.type == "pred" else f"b{8 * width(instruction.type)}"
    return ValueRule(lambda a: a, (type_,), type_)


def _counting(function: Function) -> Callable[[Instruction], ValueRule]:
    return lambda instruction: ValueRule(function, (instruction.type,), "u32")


RULES: Final[dict[str, Callable[[Instruction], ValueRule]]] = {
    **dict.fromkeys(("add", "sub", "div", "rem", "and", "or", "xor", "copysign"), _simple(2)),
    **dict.fromkeys(("min", "max"), _extreme),
    **dict.fromkeys(("not", "neg", "abs", "cnot"), _simple(1)),
    **dict.fromkeys(("sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh"), _simple(1)),
    "fma": lambda instruction: _float_function(instruction, 3), "mul": _product, "mad": _product_and_sum,
    "shl": _shift, "shr": _shift, "shf": _funnel, "setp": _comparison, "selp": _selection, "mov": _move,
    "cvt": conversion, "cvta": lambda instruction: ValueRule(lambda a: a, ("b64",), "b64"),
    "mapa": lambda instruction: ValueRule(_of_rank, ("u32", "u32"), "u32"),
    "popc": _counting(_ones), "clz": _counting(_leading_zeros), "bfind": _counting(_leftmost),
    "brev": lambda instruction: ValueRule(_reversed, (instruction.type,), instruction.type),
    "bfe": lambda instruction: ValueRule(_field, (instruction.type, "u32", "u32"), instruction.type),
    "bfi": lambda instruction: ValueRule(_inserted, (*(instruction.type,) * 2, "u32", "u32"), instruction.type),
    "prmt": lambda instruction: ValueRule(_permuted, ("u32", "u32", "u32"), "u32"),
    "lop3": lambda instruction: ValueRule(_any_logic, ("u32", "u32", "u32", "u32"), "u32"),
}  # fmt: skip
