"""What an entry reads: the axes of the grid that steer it, and values that the specification leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tileverify.frontend.bytecode.model import (
    Block,
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
    ends = list(_ends(entry.body, ()))
    return tuple(
        axis
        for axis in range(3)
        if _reaches(ops, ends, {op.results[axis] for op in ops if op.name == "get_tile_block_id"})
    )


COMPUTED = ("cmpf", "ftoi", "reduce", "scan")
"""Ops whose results the prover takes for whatever it likes."""


def steered_by_what_is_computed(entry: Entry) -> bool:
    """Whether an address, a mask or a condition comes from ops whose results the prover does not follow."""
    ops = list(walk(entry.body))
    return _reaches(
        ops, list(_ends(entry.body, ())), {value for op in ops if op.name in COMPUTED for value in op.results}
    )


End: TypeAlias = tuple[Op, Op]
"""A terminator, and the op that it gives its operands to."""


def _ends(block: Block, around: tuple[Op, ...]) -> Iterator[End]:
    """The terminators in a block; ``around``: the ops that it is a part of, the innermost last."""
    for op in block.ops:
        if op.name == "yield":
            yield op, around[-1]
        elif op.name in ("continue", "break"):
            yield op, next(each for each in reversed(around) if each.name in ("for", "loop"))
        for region in op.regions:
            for inner in region.blocks:
                yield from _ends(inner, (*around, op))


def _reaches(ops: list[Op], ends: list[End], known: set[Value]) -> bool:
    """Whether something that depends on ``known`` values steers the kernel; tokens carry no number."""
    while known:
        before = len(known)
        for op in ops:
            if not any(value in known for value in operands(op)):
                continue
            steers = op.declaration.effect in ("read", "write", "read_write") or op.name in ("if", "for")
            if steers and any(value in known for value in _deciding(op)):
                return True
            if not op.regions:
                known.update(value for value in op.results if not isinstance(value.type, TokenType))
        for op in (op for op in ops if op.regions):
            known.update(_passed_on(op, known))
        for end, around in ends:
            known.update(_given(end, around, known))
        if len(known) == before:
            return False
    return False


def _passed_on(op: Op, known: set[Value]) -> Iterator[Value]:
    """Arguments of a body to which values outside of it go: what is carried, and the number of the iteration."""
    if op.name in ("for", "loop"):
        carried = op.operands.get("inits", ())
        assert isinstance(carried, tuple)
        for argument, value in zip(_carried(op), carried, strict=True):
            if value in known and not isinstance(argument.type, TokenType):
                yield argument
        if op.name == "for" and any(value in known for value in _deciding(op)):
            yield op.regions[0].blocks[0].arguments[0]
    elif any(value in known for value in operands(op)):
        yield from op.results
        yield from (value for region in op.regions for block in region.blocks for value in block.arguments)


def _given(end: Op, around: Op, known: set[Value]) -> Iterator[Value]:
    """Results and carried arguments that a terminator gives known values to."""
    if around.name not in ("if", "for", "loop"):
        if any(value in known for value in operands(end)):
            yield from around.results
        return
    targets = [around.results] if around.name == "if" else [around.results, _carried(around)]
    if around.name == "loop":  # a `break` gives results, a `continue` the next iteration
        targets = targets[:1] if end.name == "break" else targets[1:]
    for each in targets:
        for target, value in zip(each, operands(end), strict=True):
            if value in known and not isinstance(target.type, TokenType):
                yield target


def _carried(op: Op) -> Sequence[Value]:
    arguments = op.regions[0].blocks[0].arguments
    return arguments[1:] if op.name == "for" else arguments


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
