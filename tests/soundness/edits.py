"""Changes of a decoded module in place: where values are visible, inserting ops, and numbering them anew.

A decoded module belongs to the caller alone, so its ops, blocks and values may be changed as they stand; `finished`
makes the file of the result and refuses what the structure rules of the bytecode do not allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import constant
from tileverify.frontend.bytecode.model import Block, Entry, Module, Op, Operand, ScalarType, TileType, Type, Value
from tileverify.frontend.bytecode.optable import BY_NAME
from tileverify.system.errors import DecodeError, EncodeError

Place: TypeAlias = "tuple[str, int | None]"
"""An operand by name, and the position in it where it is a group."""


@dataclass(frozen=True, slots=True)
class Site:
    """An op and the block that it stands in."""

    op: Op
    block: Block

    def insert_before(self, *ops: Op) -> None:
        place = self.block.ops.index(self.op)
        self.block.ops = (*self.block.ops[:place], *ops, *self.block.ops[place:])

    def replace_by(self, ops: Sequence[Op]) -> None:
        place = self.block.ops.index(self.op)
        self.block.ops = (*self.block.ops[:place], *ops, *self.block.ops[place + 1 :])

    def set_operand(self, place: Place, value: Value) -> None:
        """Put ``value`` in an operand, or in one member of a group."""
        name, member = place
        given: Operand = value
        if member is not None:
            group = list(self.op.group(name))
            group[member] = value
            given = tuple(group)
        self.op.operands = {**self.op.operands, name: given}

    def set_attribute(self, name: str, value: Any) -> None:
        self.op.attributes = {**self.op.attributes, name: value}

    def drop_operand(self, name: str) -> None:
        """Leave out an optional operand, and the flag that announces it."""
        self.op.operands = {**self.op.operands, name: None}
        self.op.flags = self.op.flags - {name}


def sites(block: Block) -> Iterator[Site]:
    """Every op of ``block`` and of the regions in it, in pre-order."""
    for op in block.ops:
        yield Site(op, block)
        for region in op.regions:
            for nested in region.blocks:
                yield from sites(nested)


def places(op: Op) -> Iterator[tuple[Place, Value]]:
    """The values that an op takes, with where it takes them."""
    for name, operand in op.operands.items():
        if isinstance(operand, tuple):
            yield from (((name, member), value) for member, value in enumerate(operand))
        elif operand is not None:
            yield (name, None), operand


def visible(entry: Entry, target: Op) -> list[Value]:
    """The values that ``target`` may take."""
    found = _visible(entry.body, target, [])
    assert found is not None
    return found


def _visible(block: Block, target: Op, outer: Sequence[Value]) -> list[Value] | None:
    seen = [*outer, *block.arguments]
    for op in block.ops:
        if op is target:
            return seen
        for region in op.regions:
            for nested in region.blocks:
                found = _visible(nested, target, seen)
                if found is not None:
                    return found
        seen += op.results
    return None


def integer_bits(type: Type) -> int:
    """The width of a tile of integers; 0 for anything else."""
    if isinstance(type, TileType) and isinstance(type.element, ScalarType) and type.element.is_integer:
        return type.element.bits
    return 0


def made_op(name: str, result: Type, operands: dict[str, Operand], attributes: dict[str, Any]) -> Op:
    """A new op with one result and no flags."""
    return Op(BY_NAME[name], (Value(-1, result),), operands, attributes, frozenset())


def made_constant(type: TileType, value: int) -> Op:
    return made_op("constant", type, {}, {"value": constant(type, value)})


def finished(module: Module) -> bytes | None:
    """The file of a changed module; ``None`` if the bytecode's rules do not allow it."""
    for entry in module.entries:
        _number(entry.body, 0)
    try:
        data = encode(replace(module, layout=None))
        decode(data)
    except (EncodeError, DecodeError):
        return None
    return data


def _number(block: Block, first: int) -> None:
    """Count values as the decoder does: ids used inside a region are free again behind it."""
    for value in block.arguments:
        value.number, first = first, first + 1
    for op in block.ops:
        for region in op.regions:
            for nested in region.blocks:
                _number(nested, first)
        for value in op.results:
            value.number, first = first, first + 1
