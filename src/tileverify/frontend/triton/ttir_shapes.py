"""Shapes: ops that move lanes and change no number.  Of pointers they move the offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..bytecode.builder import I32
from ..bytecode.model import TileType, Value
from .translated import TileBuilder, Translated, TritonPointer, shape_of, tile_of, tiles
from .ttir import TritonOp
from .ttir_arithmetic import Rule


def _moved(op: TritonOp, value: Translated, move: Callable[[Value], Value]) -> Translated:
    """``value`` with its lanes moved as ``op`` does; a base without dimensions is the same for all of them."""
    if isinstance(value, Value):
        return move(value)
    assert isinstance(value, TritonPointer), value
    shape = _shape(op)
    base = value.base if not tile_of(value.base).shape else move(value.base)
    choice = value.choice
    if choice is not None and tile_of(choice.which).shape:
        choice = replace(choice, which=move(choice.which))
    offset = None if value.offset is None else move(value.offset)
    return replace(value, base=base, shape=shape, offset=offset, choice=choice)


def _shape(op: TritonOp) -> tuple[int, ...]:
    type = op.result_type
    assert isinstance(type, TileType)
    return type.shape


def stretched(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    return _moved(op, operands[0], lambda value: b.stretched(value, _shape(op)))


def reshaped(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    return _moved(op, operands[0], lambda value: b.reshaped(value, _shape(op)))


def transposed(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    order = op.attributes["order"]

    def move(value: Value) -> Value:
        made: Value = b.body.op("permute", s=value, perm=order, results=[replace(tile_of(value), shape=_shape(op))])
        return made

    return _moved(op, operands[0], move)


def swapped(b: TileBuilder, value: Value) -> Value:
    """``value`` with its last two dimensions exchanged."""
    *outer, first, second = shape_of(value)
    order = (*range(len(outer)), len(outer) + 1, len(outer))
    made: Value = b.body.op(
        "permute", s=value, perm=order, results=[replace(tile_of(value), shape=(*outer, second, first))]
    )
    return made


def numbers(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    start, end = op.integer("start"), op.integer("end")
    made = b.lanes(end - start)
    if start:
        made = b.body.op("addi", lhs=made, rhs=b.number(start, I32, end - start))
    return made


def concatenated(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    first, second = tiles(operands)
    type = TileType(tile_of(first).element, _shape(op))
    made: Value = b.body.op("cat", lhs=first, rhs=second, dim=0, results=[type])
    return made


def joined(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    """Both operands along a new last dimension of 2."""
    first, second = (b.reshaped(value, (*shape_of(value), 1)) for value in tiles(operands))
    type = TileType(tile_of(first).element, _shape(op))
    made: Value = b.body.op("cat", lhs=first, rhs=second, dim=len(shape_of(first)) - 1, results=[type])
    return made


def halves(b: TileBuilder, value: Value, dim: int) -> tuple[Value, Value]:
    """The two halves of ``value`` along ``dim``."""
    type = tile_of(value)
    part = replace(type, shape=tuple(e // 2 if d == dim else e for d, e in enumerate(type.shape)))
    zero = b.number(0)
    indices = [[b.number(half) if d == dim else zero for d in range(len(type.shape))] for half in (0, 1)]
    first, second = (b.body.op("extract", s=value, index=tuple(index), results=[part]) for index in indices)
    return first, second


def split(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> tuple[Value, Value]:
    """The two values along the last dimension, which goes."""
    (value,) = tiles(operands)
    shape = shape_of(value)
    first, second = halves(b, value, len(shape) - 1)
    return b.reshaped(first, shape[:-1]), b.reshaped(second, shape[:-1])


RULES: Final[Mapping[str, Rule]] = {
    "tt.splat": stretched,
    "tt.broadcast": stretched,
    "tt.expand_dims": reshaped,
    "tt.reshape": reshaped,
    "tt.unsplat": reshaped,
    "tt.trans": transposed,
    "tt.make_range": numbers,
    "tt.cat": concatenated,
    "tt.join": joined,
}
