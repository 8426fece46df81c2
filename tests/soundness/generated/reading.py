"""What an entry reads: the axes of the grid that steer it, and values that the specification leaves open."""

from __future__ import annotations

from collections.abc import Iterator

from tileverify.frontend.bytecode.model import (
    Entry,
    GatherScatterViewType,
    Op,
    PartitionViewType,
    StridedViewType,
    TokenType,
    Value,
)
from tileverify.frontend.bytecode.traverse import walk

TILE_VIEWS = (PartitionViewType, StridedViewType, GatherScatterViewType)


def operands(op: Op) -> Iterator[Value]:
    for operand in op.operands.values():
        yield from (value for value in (operand if isinstance(operand, tuple) else (operand,)) if value is not None)


def axes_read(entry: Entry) -> tuple[int, ...]:
    """The axes whose block number reaches an address, a mask, a condition, a trip count or a stored value."""
    ops = list(walk(entry.body))
    return tuple(
        axis for axis in range(3) if _reaches(ops, {op.results[axis] for op in ops if op.name == "get_tile_block_id"})
    )


def _reaches(ops: list[Op], known: set[Value]) -> bool:
    while known:
        before = len(known)
        for op in ops:
            if not any(value in known for value in operands(op)):
                continue
            steers = op.declaration.effect in ("read", "write", "read_write") or op.name in ("if", "for")
            if steers and any(value in known and not isinstance(value.type, TokenType) for value in _deciding(op)):
                return True
            known.update(op.results)
            for region in op.regions:
                known.update(value for block in region.blocks for value in block.arguments)
            if op.declaration.terminator:
                known.update(value for other in ops if other.regions for value in other.results)
        if len(known) == before:
            return False
    return False


def _deciding(op: Op) -> Iterator[Value]:
    """Of a loop its bounds, of others all operands."""
    if op.name == "for":
        yield from (op.value(name) for name in ("lower", "upper", "step"))
    else:
        yield from operands(op)


def may_be_open(entry: Entry) -> bool:
    """Some load may give what nobody said: beside its array, under a mask, or of memory that the block made."""
    for op in walk(entry.body):
        if op.name == "alloca" or (op.name == "load_ptr_tko" and op.optional("mask") and not op.optional("pad")):
            return True
        if op.name == "load_view_tko":
            kind = op.value("view").type
            assert isinstance(kind, TILE_VIEWS)
            if kind.padding is None:
                return True
    return False
