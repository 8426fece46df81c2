"""Where poison comes from: from the op that an open value reached back to the one that made it.

Asked once, when a run ends.  The values that the block holds at that time tell which operands are open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...frontend.bytecode.model import Block, Op, Value
from ...frontend.bytecode.traverse import walk
from .values import TensorView, Tile, TileView, taint_bits

if TYPE_CHECKING:
    from .machine import BlockRun

_LOOPS = frozenset({"for", "loop"})
_COMBINE = frozenset({"reduce", "scan"})


def poison_source(run: BlockRun, op: Op) -> Op | None:
    """The op that made the first open operand of ``op``: one with open results and no open operand."""
    makers = _makers(run.program.entry.body)
    seen: set[Value] = set()
    pending = list(_operands(op))
    while pending:
        value = pending.pop(0)
        if value in seen or not _is_open(run, value) or value not in makers:
            continue
        seen.add(value)
        maker, earlier = makers[value]
        if not any(_is_open(run, each) for each in earlier):
            return maker
        pending = [*earlier, *pending]
    return None


def _is_open(run: BlockRun, value: Value) -> bool:
    match run.values.get(value):
        case Tile(taint=taint):
            return bool(taint_bits(taint) & run.conduct.open)
        case TensorView(taint=bits) | TileView(tensor=TensorView(taint=bits)):
            return bool(bits & run.conduct.open)
    return False


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
        inits = op.group("inits") if op.name in _LOOPS else op.group("inputs") if op.name in _COMBINE else ()
        inside = [block for region in op.regions for block in region.blocks]
        left = {kind: _left_with(inside, kind) for kind in ("yield", "break", "continue")}
        ends = left["break" if op.name == "loop" else "continue" if op.name == "for" else "yield"]
        for number, result in enumerate(op.results):
            found[result] = op, (*_at(ends, number), *inits[number : number + 1])
        first = 1 if op.name == "for" else 0
        for block in inside:
            for number, argument in enumerate(block.arguments[first:]):
                if op.name in _LOOPS:
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
