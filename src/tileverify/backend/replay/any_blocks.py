"""Which blocks of a launch show a fault of one kind, where any will do.

Blocks run apart, each from the initial memory, as for a claim about two of them (`replay`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, islice
from math import prod
from typing import Final

from ...contract.concrete import Block
from ...frontend.bytecode.model import Op
from ...results.claim import Claim
from ...results.codes import TV
from ...results.families import BETWEEN_BLOCKS, EVENTS, INSIDE_BLOCK
from ..interpreter import BlockLog, Budget, DynamicAccess
from ..interpreter.conflicts import doubled_lanes, races, unordered

MOST_BLOCKS: Final = 16
"""Blocks that are run of one launch: those of the claim, then the first, and at the end of the grid the last."""
LAST_BLOCKS: Final = 2


def chosen_blocks(grid: Block, claim: Claim) -> list[Block]:
    """The blocks of the claim that the grid has, then others."""
    named = [block for block in (claim.block_a, claim.block_b) if block is not None]
    inside = [block for block in named if all(place < size for place, size in zip(block, grid, strict=True))]
    count = prod(grid)
    first = range(min(MOST_BLOCKS - LAST_BLOCKS, count))
    last = range(count - 1, max(count - 1 - LAST_BLOCKS, -1), -1)
    others = (numbered(number, grid) for number in chain(first, last))
    return list(islice(dict.fromkeys(chain(inside, others)), MOST_BLOCKS))


def numbered(number: int, grid: Block) -> Block:
    """The block with this number, x first: a grid has up to 2**72 blocks, which nobody should count through."""
    rest, x = divmod(number, grid[0])
    z, y = divmod(rest, grid[1])
    return x, y, z


def claimed(claim: Claim) -> frozenset[int]:
    """The ops that the claim names."""
    return frozenset(offset for offset in (claim.offset_a, claim.offset_b) if offset is not None)


def at_fault(
    logs: Sequence[BlockLog],
    claim: Claim,
    ops: frozenset[int] | None,
    loops: Mapping[Op, tuple[Op, ...]],
    budget: Budget,
) -> Iterator[Claim]:
    """The claim about every block, or pair of blocks, that shows such a fault at these ops; at any where there are
    none."""
    if claim.code in BETWEEN_BLOCKS:
        for first, second in combinations(logs, 2):
            if _race(first, second, claim.code, ops, budget):
                yield replace(claim, block_a=first.block, block_b=second.block)
        return
    for log in logs:
        if _faulty(log, claim.code, ops, loops, budget):
            yield replace(claim, block_a=log.block, block_b=None)


def faulty(logs: Sequence[BlockLog], loops: Mapping[Op, tuple[Op, ...]], budget: Budget) -> bool:
    """Whether the blocks show any fault at all."""
    if any(log.events for log in logs):
        return True
    pairs = any(_race(a, b, code, None, budget) for a, b in combinations(logs, 2) for code in BETWEEN_BLOCKS)
    return pairs or any(_faulty(log, code, None, loops, budget) for log in logs for code in INSIDE_BLOCK)


def _race(first: BlockLog, second: BlockLog, code: TV, ops: frozenset[int] | None, budget: Budget) -> bool:
    mine, other = (_of(log.accesses, ops) for log in (first, second))
    return any(True for _ in races(code, mine, other, lambda earlier, later: False, budget))


def _of(accesses: Sequence[DynamicAccess], ops: frozenset[int] | None) -> Sequence[DynamicAccess]:
    return accesses if ops is None else [access for access in accesses if access.op.offset in ops]


def _faulty(
    log: BlockLog, code: TV, ops: frozenset[int] | None, loops: Mapping[Op, tuple[Op, ...]], budget: Budget
) -> bool:
    if code in EVENTS:
        return any(event.code == code and (ops is None or event.offset in ops) for event in log.events)
    found = unordered(log, loops, budget) if code == TV.UNORDERED_IN_BLOCK else doubled_lanes(log)
    sides = ({a.op.offset for a in (each.first, each.second) if a is not None} for each in found)
    return any(ops is None or offsets <= ops for offsets in sides)


def at_stake(logs: Sequence[BlockLog], claim: Claim) -> bool:
    """Whether blocks got to what the claim is about; inside a block, one block to all of it.

    Between blocks, one that gets there alone counts, too: what kept the others away makes the launch a right one.
    """
    first = [log.block for log in logs if claim.offset_a in _touched(log)]
    if claim.offset_b is None:
        return bool(first)
    second = [log.block for log in logs if claim.offset_b in _touched(log)]
    if claim.code in BETWEEN_BLOCKS:
        return bool(first and second)
    return not set(first).isdisjoint(second)


def reach(logs: Sequence[BlockLog], claim: Claim) -> int:
    """Elements from the first to behind the last that one block touched at the claimed ops, in the block with most."""
    ops = claimed(claim)
    spans = [0]
    for log in logs:
        for op in ops:
            touched = [f for access in _of(log.accesses, frozenset({op})) for f in access.footprints]
            if touched:
                first, end = min(f.low for f in touched), max(f.end for f in touched)
                spans.append(-(-(end - first) // min(f.width for f in touched)))
    return max(spans)


def _touched(log: BlockLog) -> set[int]:
    """The ops that touched memory, or failed."""
    return {a.op.offset for a in log.accesses if a.footprints} | {event.offset for event in log.events}
