"""Which axes of the grid a kernel reads: whose block number decides what a block does.

    read(a)  iff  the number of the block along a flows into an operand of an access (an address, an index, a mask, a
                  stored value, floats too), a branch, the bounds of a loop, or an assertion

Blocks that differ along other axes alone do the same thing, all of it.  How many blocks there are (`num_tile_blocks`)
is the same in each of them and does not count, nor does a number that is only printed (tokens carry no number).  The
pass follows values, not what they are worth, and so finds an axis read rather too often: a multiplication by zero does
not hide it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ..bytecode.model import Entry, Op, TokenType, Value
from ..bytecode.traverse import walk
from .written import region_flows

_DECIDES: Final = {"if": ("c",), "for": ("lower", "upper", "step"), "assert": ("c",)}
"""Ops without an effect on memory that act on what they are told, and the operands that tell them."""


def read_axes(entry: Entry) -> frozenset[int]:
    """The axes (0, 1, 2 for x, y, z) whose block number ``entry`` reads."""
    ops = list(walk(entry.body))
    axes: dict[Value, int] = {}  # a bit for each axis
    for op in ops:
        if op.name == "get_tile_block_id":
            axes |= {result: 1 << axis for axis, result in enumerate(op.results)}
    flows = [flow for op in ops for flow in _flows(op)] if axes else []
    changed = bool(axes)
    while changed:
        changed = False
        for targets, sources in flows:
            arriving = 0
            for source in sources:
                arriving |= axes.get(source, 0)
            for target in targets if arriving else ():
                known = axes.get(target, 0)
                if arriving & ~known and not isinstance(target.type, TokenType):
                    axes[target] = known | arriving
                    changed = True
    read = 0
    for op in ops:
        for value in _decisive(op):
            read |= axes.get(value, 0)
    return frozenset(axis for axis in range(3) if read >> axis & 1)


def _decisive(op: Op) -> Iterable[Value]:
    """The operands of ``op`` that decide what happens."""
    if op.name in _DECIDES:
        return [op.value(name) for name in _DECIDES[op.name]]
    return _operands(op) if op.declaration.touches_memory else ()


def _operands(op: Op) -> list[Value]:
    found: list[Value] = []
    for operand in op.operands.values():
        if isinstance(operand, tuple):
            found += operand
        elif operand is not None:
            found.append(operand)
    return found


def _flows(op: Op) -> Iterator[tuple[Sequence[Value], Sequence[Value]]]:
    """(targets, sources): what is in a source may decide what is in each of the targets."""
    if op.declaration.body in ("loop", "branch"):
        yield from (((target,), (source,)) for target, source, _ in region_flows(op))
        if op.name == "for":
            bounds = [op.value(name) for name in _DECIDES["for"]]
            yield from (((region.blocks[0].arguments[0],), bounds) for region in op.regions)
        return
    if not op.regions:
        yield op.results, _operands(op)
        return
    inner = [block for region in op.regions for block in region.blocks]
    inside = [argument for block in inner for argument in block.arguments]
    combined = [value for block in inner for last in block.ops[-1:] for value in _operands(last)]
    yield (*op.results, *inside), (*_operands(op), *combined)
