"""Where poison comes from: from the op that an open value reached back to the one that made it.

Asked once, when a run ends.  The values that the block holds at that time tell which operands are open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...frontend.bytecode.model import Block, Op, Value
from ...frontend.bytecode.traverse import walk
from .values import Array, TensorView, Tile, TileView, taint_bits

if TYPE_CHECKING:
    from .machine import BlockRun


def poison_source(run: BlockRun, op: Op, marks: Array) -> Op | None:
    """The op that made the first open operand of ``op``, in the lanes with ``marks``: one with open results and no open
    operand.  What is open in other lanes alone, behind a `where` say, has no part in it."""
    makers = _makers(run.program.entry.body)
    seen: set[Value] = set()
    pending = [(value, _used_lanes(run, op, value, marks)) for value in _operands(op)]
    while pending:
        value, lanes = pending.pop(0)
        if value in seen or not _is_open(run, value, lanes) or value not in makers:
            continue
        seen.add(value)
        maker, earlier = makers[value]
        before = [(each, _lanes_before(run, maker, each, lanes)) for each in earlier]
        if not any(_is_open(run, each, needed) for each, needed in before):
            # Of a loop only the last round is known: another one may have left these lanes open.
            before = [(each, None) for each in earlier]
        if not any(_is_open(run, each, needed) for each, needed in before):
            return maker
        pending = [*before, *pending]
    return None


def _is_open(run: BlockRun, value: Value, lanes: Array | None) -> bool:
    match run.values.get(value):
        case Tile(data=data, taint=taint) if taint is not None:
            if lanes is not None and lanes.shape == data.shape:
                taint = np.where(lanes, taint, 0)
            return bool(taint_bits(taint) & run.conduct.open)
        case TensorView(taint=bits) | TileView(tensor=TensorView(taint=bits)):
            return bool(bits & run.conduct.open)
    return False


def _shape(run: BlockRun, value: Value) -> tuple[int, ...] | None:
    held = run.values.get(value)
    return held.data.shape if isinstance(held, Tile) else None


def _used_lanes(run: BlockRun, op: Op, value: Value, marks: Array) -> Array | None:
    """The lanes of an operand that the marks of a use are about; ``None``: any.  Of a view's tile that sticks out they
    are those of its first rows and columns."""
    shape = _shape(run, value)
    if shape is None or marks.ndim != len(shape) or (marks.shape != shape and "view" not in op.name):
        return None
    lanes = np.zeros(shape, np.bool_)
    lanes[tuple(map(slice, marks.shape))] = marks != 0
    return lanes


def _lanes_before(run: BlockRun, op: Op, value: Value, lanes: Array | None) -> Array | None:
    """The lanes of an operand of ``op`` on which those of its result hang; ``None``: any may."""
    shape = _shape(run, value)
    if lanes is None or shape is None:
        return None
    match op.name:
        case "reshape":
            return lanes.reshape(shape)
        case "permute":
            return lanes.transpose(np.argsort(op.attributes["perm"]))
        case "broadcast":
            spread = tuple(axis for axis, size in enumerate(shape) if size != lanes.shape[axis])
            return np.asarray(lanes.any(axis=spread, keepdims=True))
        case "reduce" if lanes.ndim == len(shape) - 1:
            return np.broadcast_to(np.expand_dims(lanes, op.attributes["dim"]), shape)
        case "select" if value in (op.value("t"), op.value("f")):
            condition = run.values[op.value("c")]
            assert isinstance(condition, Tile)
            return lanes & (condition.data if value == op.value("t") else ~condition.data)
        case "mmai" | "mmaf" if value != op.value("acc"):
            axis = -1 if value == op.value("lhs") else -2
            return np.broadcast_to(lanes.any(axis=axis, keepdims=True), shape)
    return lanes if lanes.shape == shape else None


def _operands(op: Op) -> Iterator[Value]:
    for operand in op.operands.values():
        if isinstance(operand, Value):
            yield operand
        elif operand is not None:
            yield from operand


def _makers(body: Block) -> dict[Value, tuple[Op, tuple[Value, ...]]]:
    """For every value the op that makes it and what it is made of, also around a loop and out of a branch."""
    found: dict[Value, tuple[Op, tuple[Value, ...]]] = {}
    for op in walk(body):
        if not op.regions:
            found |= {result: (op, tuple(_operands(op))) for result in op.results}
            continue
        # A combination of one element is that element: its body does not run.
        loops, combines = op.declaration.body == "loop", op.declaration.body == "combination"
        inits = op.group("inits") if loops else op.group("inputs") if combines else ()
        inside = [block for region in op.regions for block in region.blocks]
        left = {kind: _left_with(inside, kind) for kind in ("yield", "break", "continue")}
        ends = left["break" if op.name == "loop" else "continue" if op.name == "for" else "yield"]
        for number, result in enumerate(op.results):
            parts = _at(ends, number), inits[number : number + 1]
            # Of a combination the inputs come first: which of their lanes count is known, of its body's it is not.
            found[result] = op, (*parts[1], *parts[0]) if combines else (*parts[0], *parts[1])
        first = 1 if op.name == "for" else 0
        for block in inside:
            for number, argument in enumerate(block.arguments[first:]):
                if loops:
                    found[argument] = op, (*_at(left["continue"], number), *inits[number : number + 1])
                else:  # of a reduction: lhs and rhs of each input
                    found[argument] = op, op.group("inputs")[number // 2 : number // 2 + 1]
    return found


def _at(ends: list[tuple[Value, ...]], number: int) -> tuple[Value, ...]:
    return tuple(values[number] for values in ends if number < len(values))


def _left_with(blocks: list[Block], kind: str) -> list[tuple[Value, ...]]:
    """The operands of all terminators ``kind`` that leave these op lists; those of nested loops stay in them."""
    found = []
    for block in blocks:
        for op in block.ops:
            if op.name == kind:
                found.append(op.group("args"))
            elif op.name == "if" and kind != "yield":
                found += _left_with([inner for region in op.regions for inner in region.blocks], kind)
    return found
