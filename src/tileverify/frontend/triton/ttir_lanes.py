"""What combines lanes: reductions, scans, gathers, histograms, matrix products.

Triton IR gives a reduction no identity, and Tile IR wants one.  Of one op (a sum, a maximum) it is known.  Any other
body is applied to halves of the tile, again and again: to whole tiles, in place of pairs of lanes, which is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from ..bytecode.assembly_text import FORMATS
from ..bytecode.builder import I32, scalar, tile
from ..bytecode.model import Bounded, FloatAttribute, IntegerAttribute, ScalarType, TileType, Value
from .translated import TileBuilder, Translated, element_of, shape_of, tile_of, tiles
from .ttir import TritonOp
from .ttir_arithmetic import Rule
from .ttir_constants import float_bits
from .ttir_shapes import halves

Body: TypeAlias = Callable[[Sequence[Value]], list[Value]]
"""The region of a reduction: from the values so far and those to take in, to the values then."""

_COMBINING: Final[Mapping[str, tuple[str, str | None]]] = {
    "arith.addi": ("zero", None), "arith.addf": ("zero", None), "arith.muli": ("one", None),
    "arith.mulf": ("one", None), "arith.andi": ("ones", None), "arith.ori": ("zero", None),
    "arith.xori": ("zero", None), "arith.maxsi": ("least", "signed"), "arith.minsi": ("greatest", "signed"),
    "arith.maxui": ("least", "unsigned"), "arith.minui": ("greatest", "unsigned"), "arith.maxnumf": ("least", None),
    "arith.minnumf": ("greatest", None), "arith.maximumf": ("least", None), "arith.minimumf": ("greatest", None),
}  # fmt: skip
"""Ops of which a body may consist, with their identity and, of integers, how they are read."""


def identity(what: str, element: ScalarType, sign: str | None = None) -> IntegerAttribute | FloatAttribute:
    if element.is_float:
        values = {"zero": 0.0, "one": 1.0, "least": float("-inf"), "greatest": float("inf")}
        return FloatAttribute(element, float_bits(values[what], FORMATS[element.name]))
    bits = element.bits
    least, greatest = (0, (1 << bits) - 1) if sign == "unsigned" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    number = {"zero": 0, "one": 1, "ones": -1, "least": least, "greatest": greatest}[what]
    return IntegerAttribute(
        element, number & 1 if bits == 1 else (number + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    )


def single_op(op: TritonOp) -> TritonOp | None:
    """The one op that a reduction's body consists of, if it is one that is known to combine."""
    block = op.regions[0].block
    if len(block.ops) != 2 or len(block.arguments) != 2:
        return None
    first, last = block.ops
    known = first.name in _COMBINING and set(first.operands) == set(block.arguments)
    return first if known and last.operands == first.results else None


def reduce(b: TileBuilder, op: TritonOp, operands: Sequence[Translated], body: Body) -> tuple[Value, ...]:
    axis = op.integer("axis")
    single = single_op(op)
    if single is not None:
        (value,) = tiles(operands)
        what, sign = _COMBINING[single.name]
        with b.body.reduce([value], axis, [identity(what, element_of(value), sign)]) as region:
            lhs, rhs = region.arguments
            b.body.op("yield", args=tuple(body([lhs, rhs])))
        return region.results
    values = tiles(operands)
    shape = shape_of(values[0])
    while shape_of(values[0])[axis] > 1:
        pairs = [halves(b, value, axis) for value in values]
        values = body([*(first for first, _ in pairs), *(second for _, second in pairs)])
    return tuple(b.reshaped(value, shape[:axis] + shape[axis + 1 :]) for value in values)


def scan(b: TileBuilder, op: TritonOp, operands: Sequence[Translated], body: Body) -> tuple[Value, ...]:
    axis, reverse = op.integer("axis"), op.attributes.get("reverse") is True
    single = single_op(op)
    if single is not None:
        (value,) = tiles(operands)
        what, sign = _COMBINING[single.name]
        with b.body.scan([value], axis, [identity(what, element_of(value), sign)], reverse=reverse) as region:
            lhs, rhs = region.arguments
            b.body.op("yield", args=tuple(body([lhs, rhs])))
        return region.results
    values = tiles(operands)
    shape = shape_of(values[0])
    width = 1
    while width < shape[axis]:
        values = _doubled(b, values, axis, width, body, reverse=reverse)
        width *= 2
    return tuple(values)


def mapped(b: TileBuilder, op: TritonOp, operands: Sequence[Translated], body: Body) -> tuple[Value, ...]:
    """``tl.map_elementwise``: a function of single lanes, applied to whole tiles where it does not branch."""
    (region,) = op.regions
    if op.attributes.get("pack") != 1 or len(region.blocks) != 1 or any(each.regions for each in region.block.ops):
        raise b.cannot(op, "tt.map_elementwise of a function that branches or takes several lanes has no translation")
    return tuple(b.stretched(value, shape_of(operands[0])) for value in body(tiles(operands)))


def _doubled(b: TileBuilder, values: list[Value], axis: int, width: int, body: Body, *, reverse: bool) -> list[Value]:
    """From scans of runs of ``width`` lanes those of runs twice as long: the half that comes later in the scan takes in
    the last value of the half before it."""
    shape = shape_of(values[0])
    runs = (*shape[:axis], shape[axis] // (2 * width), 2, width, *shape[axis + 1 :])
    pairs = [halves(b, b.reshaped(value, runs), axis + 1) for value in values]
    earlier, later = ([pair[half] for pair in pairs] for half in ((1, 0) if reverse else (0, 1)))
    ends = [_end(b, value, axis + 2, first=reverse) for value in earlier]
    wide = [b.stretched(value, shape_of(later[0])) for value in ends]
    taken = body([*wide, *later])
    ordered = zip(taken, earlier, strict=True) if reverse else zip(earlier, taken, strict=True)
    made = []
    for first, second in ordered:
        joined = b.body.op("cat", lhs=first, rhs=second, dim=axis + 1, results=[TileType(tile_of(first).element, runs)])
        made.append(b.reshaped(joined, shape))
    return made


def _end(b: TileBuilder, value: Value, dim: int, *, first: bool) -> Value:
    """The first or the last lane along ``dim``, which stays as an extent of 1."""
    type = tile_of(value)
    part = replace(type, shape=tuple(1 if d == dim else e for d, e in enumerate(type.shape)))
    zero = b.number(0)
    last = b.number(0 if first else type.shape[dim] - 1)
    index = tuple(last if d == dim else zero for d in range(len(type.shape)))
    made: Value = b.body.op("extract", s=value, index=index, results=[part])
    return made


# --------------------------------------------------------------------------------------------- gather, histogram
_LARGEST: Final = 1 << 20
"""Lanes of a tile that compares every index with every place."""


def gather(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    """``source[..., index, ...]``: of all lanes along the axis the one whose number is the index, its bits or-ed with
    zeros.  That an index is a lane is promised, as Triton leaves others undefined."""
    source, index = tiles(operands)
    axis = op.integer("axis")
    shape, count = shape_of(index), shape_of(source)[axis]
    wide = (*shape, count)
    if tile_of(source).size // count * shape[axis] * count > _LARGEST:
        raise b.cannot(op, f"a gather of {shape[axis]} of {count} lanes is too wide")
    index = b.body.op("assume", s=index, pred=Bounded(0, count - 1))
    element = element_of(source)
    bits = scalar(f"i{element.bits}")
    values = (
        source if element.is_integer else b.body.op("bitcast", s=source, results=[TileType(bits, shape_of(source))])
    )
    order = (*(d for d in range(len(shape)) if d != axis), axis)
    last = tuple(shape_of(source)[d] for d in order)
    if order != tuple(range(len(shape))):
        values = b.body.op("permute", s=values, perm=order, results=[TileType(bits, last)])
    values = b.stretched(b.reshaped(values, (*last[:axis], 1, *last[axis:])), wide)
    lanes = b.along(b.lanes(count, element_of(index)), len(shape), wide)
    hit = b.body.op(
        "cmpi", lhs=b.stretched(b.reshaped(index, (*shape, 1)), wide), rhs=lanes, pred="equal", sgn="signed"
    )
    alone = b.body.op("select", c=hit, t=values, f=b.number(0, bits, *wide))
    with b.body.reduce([alone], len(shape), [identity("zero", bits)]) as region:
        lhs, rhs = region.arguments
        b.body.op("yield", args=(b.body.op("ori", lhs=lhs, rhs=rhs),))
    (made,) = region.results
    if element.is_integer:
        return made
    cast: Value = b.body.op("bitcast", s=made, results=[TileType(element, shape)])
    return cast


def histogram(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    """How many lanes hold each of 0, 1, ...; a mask leaves lanes out."""
    value, *masks = tiles(operands)
    (bins,) = op.result_type.shape if isinstance(op.result_type, TileType) else ()
    (count,) = shape_of(value)
    wide = (count, bins)
    if count * bins > _LARGEST:
        raise b.cannot(op, f"a histogram of {count} lanes in {bins} bins is too wide")
    numbers = b.along(b.lanes(bins, element_of(value)), 1, wide)
    hit = b.body.op("cmpi", lhs=b.along(value, 0, wide), rhs=numbers, pred="equal", sgn="signed")
    for mask in masks:
        hit = b.body.op("andi", lhs=hit, rhs=b.along(mask, 0, wide))
    ones = b.body.op("exti", s=hit, sgn="unsigned", results=[tile(I32, *wide)])
    with b.body.reduce([ones], 0, [identity("zero", I32)]) as region:
        lhs, rhs = region.arguments
        b.body.op("yield", args=(b.body.op("addi", lhs=lhs, rhs=rhs),))
    return region.results[0]


# ------------------------------------------------------------------------------------------------------ products
def dot(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    """A matrix product; ``inputPrecision = tf32`` rounds f32 inputs first."""
    lhs, rhs, acc = tiles(operands)
    if element_of(lhs).is_integer:
        made: Value = b.body.op("mmai", lhs=lhs, rhs=rhs, acc=acc, sl="signed", sr="signed")
        return made
    precision = str(op.attributes.get("inputPrecision", "ieee"))
    if element_of(lhs).name == "f32" and precision == "tf32":
        lhs, rhs = (
            b.body.op("ftof", s=value, rnd="nearest_away", results=[TileType(scalar("tf32"), shape_of(value))])
            for value in (lhs, rhs)
        )
    product: Value = b.body.op("mmaf", lhs=lhs, rhs=rhs, acc=acc)
    return product


RULES: Final[Mapping[str, Rule]] = {
    "tt.gather": gather,
    "tt.histogram": histogram,
    "tt.dot": dot,
}
