"""Products of scaled blocks (`tl.dot_scaled`): small floats, with one scale for each group of them along K.

Tile IR has the product of two scaled operands of 8 bits.  All others become a product of bf16 (of f16 beside an operand
of f16), as Triton itself computes them where the hardware has none: a number of at most four significant bits times
its scale is exact there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..bytecode.assembly_text import FORMATS
from ..bytecode.builder import I8, I32, scalar
from ..bytecode.model import ScalarType, TileType, Value
from .translated import TileBuilder, Translated, element_of, shape_of, tiles
from .ttir import TritonOp
from .ttir_arithmetic import Rule
from .ttir_constants import float_bits
from .ttir_shapes import swapped

_FORMATS: Final[Mapping[str, str]] = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "bf16": "bf16", "fp16": "f16"}
_OF_8_BITS: Final = ("e4m3", "e5m2")
_F32: Final = scalar("f32")
_NO_SCALE: Final = 255
"""The byte of e8m0 that is no number."""
_LEAST: Final = 0x00400000
"""2^-127 as the bits of an f32, which stands for the byte 0 of e8m0."""


@dataclass(frozen=True, slots=True)
class _Operand:
    """``lhs`` is [M, K] with scales [M, G]; the right one [K, N] with scales [N, G]; both may have a dimension before.

    ``kind``: the format's name in Triton.  Numbers of e2m1 come two in a byte, along K where they are
    ``packed_along_k``.
    """

    value: Value
    scale: Value | None
    kind: str
    packed_along_k: bool
    is_lhs: bool

    @property
    def packed_axis(self) -> int:
        return len(shape_of(self.value)) - (1 if self.is_lhs is self.packed_along_k else 2)


def dot_scaled(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    """``lhs scale s, rhs scale t, acc``; either scale may be missing."""
    lhs, rhs, acc = _operands(op, tiles(operands))
    scales = [each.scale for each in (lhs, rhs) if each.scale is not None and element_of(each.scale) == I8]
    if len(scales) == 2 and lhs.kind in _OF_8_BITS and rhs.kind in _OF_8_BITS:
        native: Value = b.body.op(
            "mmaf_scaled",
            lhs=_of_format(b, lhs),
            rhs=_of_format(b, rhs),
            acc=acc,
            ls=_bits_as(b, scales[0], scalar("f8E8M0FNU")),
            rs=_bits_as(b, swapped(b, scales[1]), scalar("f8E8M0FNU")),
        )
        return native
    computed = scalar("f16" if "fp16" in (lhs.kind, rhs.kind) else "bf16")
    first, second = (_scaled(b, each, computed) for each in (lhs, rhs))
    made: Value = b.body.op("mmaf", lhs=first, rhs=second, acc=acc)
    return made


def _operands(op: TritonOp, values: list[Value]) -> tuple[_Operand, _Operand, Value]:
    scaled = {position for word, position in op.words if word == "scale"}
    rest = list(enumerate(values))
    found: list[_Operand] = []
    for side in ("lhs", "rhs"):
        position, value = rest.pop(0)
        scale = rest.pop(0)[1] if position + 1 in scaled else None
        packed = op.attributes.get(f"{side}_k_pack") is not False
        found.append(_Operand(value, scale, str(op.attributes[side]), packed, side == "lhs"))
    ((_, acc),) = rest
    return found[0], found[1], acc


def _scaled(b: TileBuilder, operand: _Operand, computed: ScalarType) -> Value:
    """The operand's numbers times their scales, in the format ``computed``."""
    number = _unpacked(b, operand) if operand.kind == "e2m1" else _as_float(b, _of_format(b, operand), _F32)
    if operand.scale is not None:
        number = b.body.op("mulf", lhs=number, rhs=_stretched(b, operand, _numbers_of(b, operand.scale), number))
    return _as_float(b, number, computed)


def _of_format(b: TileBuilder, operand: _Operand) -> Value:
    return _bits_as(b, operand.value, scalar(_FORMATS[operand.kind]))


def _bits_as(b: TileBuilder, value: Value, element: ScalarType) -> Value:
    if element_of(value) == element:
        return value
    made: Value = b.body.op("bitcast", s=value, results=[TileType(element, shape_of(value))])
    return made


def _as_float(b: TileBuilder, value: Value, element: ScalarType) -> Value:
    if element_of(value) == element:
        return value
    made: Value = b.body.op("ftof", s=value, rnd="nearest_even", results=[TileType(element, shape_of(value))])
    return made


def _unpacked(b: TileBuilder, operand: _Operand) -> Value:
    """Numbers of e2m1, the one in the lower half of a byte first, as f32."""
    axis, before = operand.packed_axis, shape_of(operand.value)
    apart = (*before[: axis + 1], 1, *before[axis + 1 :])
    code = b.widened(operand.value, I32, signed=False)
    fours = [b.body.op("andi", lhs=_shifted(b, code, by), rhs=_all(b, 15, code)) for by in (0, 4)]
    halves = [b.reshaped(each, apart) for each in fours]
    both = TileType(I32, (*apart[: axis + 1], 2, *apart[axis + 2 :]))
    joined = b.body.op("cat", lhs=halves[0], rhs=halves[1], dim=axis + 1, results=[both])
    whole = tuple(2 * extent if d == axis else extent for d, extent in enumerate(before))
    return _of_code(b, b.reshaped(joined, whole))


def _of_code(b: TileBuilder, code: Value) -> Value:
    """The f32 of codes of e2m1: a sign, two bits of an exponent, one of a fraction.

    Twice the number is the fraction's bit where the exponent is 0, else (2 + the fraction's bit) << (exponent - 1).
    """
    fraction = b.body.op("andi", lhs=code, rhs=_all(b, 1, code))
    exponent = b.body.op("andi", lhs=_shifted(b, code, 1), rhs=_all(b, 3, code))
    normal = b.body.op("mini", lhs=exponent, rhs=_all(b, 1, code), sgn="signed")
    whole = b.body.op("addi", lhs=fraction, rhs=b.body.op("shli", lhs=normal, rhs=_all(b, 1, code)))
    twice = b.body.op("shli", lhs=whole, rhs=b.body.op("subi", lhs=exponent, rhs=normal))
    type = TileType(_F32, shape_of(code))
    number = b.body.op("itof", s=twice, sgn="signed", results=[type])
    half = b.body.constant(type, float_bits(0.5, FORMATS["f32"]))
    number = b.body.op("mulf", lhs=number, rhs=half)
    sign = b.body.op("cmpi", lhs=code, rhs=_all(b, 8, code), pred="greater_than_or_equal", sgn="signed")
    made: Value = b.body.op("select", c=sign, t=b.body.op("negf", s=number), f=number)
    return made


def _numbers_of(b: TileBuilder, scale: Value) -> Value:
    """Scales as f32: bytes are exponents (e8m0), others are floats of 8 bits."""
    if element_of(scale) != I8:
        return _as_float(b, scale, _F32)
    byte = b.widened(scale, I32, signed=False)
    bits = b.body.op("shli", lhs=byte, rhs=_all(b, 23, byte))
    bits = b.body.op("maxi", lhs=bits, rhs=_all(b, _LEAST, byte), sgn="signed")
    type = TileType(_F32, shape_of(scale))
    none = b.body.op("cmpi", lhs=byte, rhs=_all(b, _NO_SCALE, byte), pred="equal", sgn="signed")
    no_number = b.body.constant(type, float_bits(float("nan"), FORMATS["f32"]))
    made: Value = b.body.op("select", c=none, t=no_number, f=_bits_as(b, bits, _F32))
    return made


def _stretched(b: TileBuilder, operand: _Operand, scale: Value, number: Value) -> Value:
    """One scale for each number."""
    *outer, groups = shape_of(scale)
    along_k = shape_of(number)[-1 if operand.is_lhs else -2]
    one_each = b.stretched(b.reshaped(scale, (*outer, groups, 1)), (*outer, groups, along_k // groups))
    made = b.reshaped(one_each, (*outer, along_k))
    return made if operand.is_lhs else swapped(b, made)


def _shifted(b: TileBuilder, value: Value, by: int) -> Value:
    made: Value = b.body.op("shri", lhs=value, rhs=_all(b, by, value), sgn="unsigned") if by else value
    return made


def _all(b: TileBuilder, number: int, like: Value) -> Value:
    return b.number(number, I32, *shape_of(like))


RULES: Final[Mapping[str, Rule]] = {"tt.dot_scaled": dot_scaled}
