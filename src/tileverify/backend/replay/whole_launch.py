"""All blocks of a small launch under a few schedules: races between two of them, by happens-before.

Blocks that wait for each other cannot show their race alone.  Here the whole grid runs, and two accesses race only if
no chain of tokens, releases and acquires of that run orders them (see `interpreter.happens_before`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from math import prod
from typing import Final

import numpy as np

from ...contract.launch import Block
from ...frontend.bytecode.model import Op
from ...results.claim import Claim
from ...results.codes import BETWEEN_BLOCKS, EVENTS, TV
from ..interpreter import BlockLog, BoundLaunch, Budget, DynamicAccess, MemoryImage
from ..interpreter.conflicts import Conflict, doubled_lanes, races, unordered
from ..interpreter.grid_runs import ScheduledRun, run_schedule
from ..interpreter.happens_before import HappensBefore
from ..interpreter.ordering import AccessOrder, BlockOrder, Schedule, spread
from ..interpreter.values import Array

MOST_BLOCKS: Final = 64
"""Blocks of a launch that is run whole, where any two of them are compared."""
MOST_ALONE: Final = 1 << 10
"""The same where each is looked at alone: a counter leaves a small array only after so many blocks."""
INTERLEAVINGS: Final = 8
"""Runs in which blocks take turns at random, beside those in some order."""
MOST_CONFLICTS: Final = 256
"""Conflicts of two blocks among which those of the claimed ops are looked for."""

_SCHEDULES: Final = (
    Schedule(BlockOrder.SEQUENTIAL),
    Schedule(BlockOrder.REVERSED),
    *(Schedule(BlockOrder.INTERLEAVED, AccessOrder.RANDOM, seed) for seed in range(INTERLEAVINGS)),
)


@dataclass(frozen=True, slots=True)
class WholeRun:
    """The logs of the claim's blocks in one run of the launch, and the conflicts between them that nothing orders."""

    first: BlockLog
    second: BlockLog
    conflicts: Iterator[Conflict]
    text: str


@dataclass(frozen=True, slots=True)
class WholeFault:
    """What one run of the launch shows: conflicts between two blocks or inside one, or a block's undefined behaviour.

    ``conflicts`` is ``None`` where it is that.
    """

    claim: Claim
    first: BlockLog
    second: BlockLog
    conflicts: list[Conflict] | None
    image: MemoryImage
    text: str


def whole_runs(bind: Callable[[], BoundLaunch], grid: Block, claim: Claim, budget: Budget) -> Iterator[WholeRun]:
    """The launch in several orders; none where it is large."""
    assert claim.block_b is not None
    if prod(grid) > MOST_BLOCKS:
        return
    for blocks, schedule, text in _orders(grid, claim.block_a, claim.block_b):
        run = run_schedule(bind(), grid, blocks, schedule, budget)
        numbers = {log.block: number for number, log in enumerate(run.trace.logs)}
        if {claim.block_a, claim.block_b} <= numbers.keys():
            first, second = numbers[claim.block_a], numbers[claim.block_b]
            logs = run.trace.logs[first], run.trace.logs[second]
            yield WholeRun(*logs, _Unordered(run).between(first, second, claim.code, budget), text)


def whole_faults(
    bind: Callable[[], BoundLaunch], grid: Block, claim: Claim, loops: Mapping[Op, tuple[Op, ...]], budget: Budget
) -> Iterator[WholeFault]:
    """The claimed kind of fault at the claimed ops, in any blocks of a small launch that runs whole."""
    if prod(grid) > (MOST_ALONE if claim.code in EVENTS else MOST_BLOCKS):
        return
    claimed = {offset for offset in (claim.offset_a, claim.offset_b) if offset is not None}
    for schedule in _SCHEDULES:
        run = run_schedule(bind(), grid, _blocks(grid), schedule, budget)
        logs, image, text = run.trace.logs, run.memory.image, f"all {schedule}"
        events = [(log, event) for log in logs for event in log.events]
        if claim.code in EVENTS:
            what = claim.code, claim.offset_a
            log = next((log for log, event in events if (event.code, event.offset) == what), None)
            if log is not None:
                yield WholeFault(replace(claim, block_a=log.block, block_b=None), log, log, None, image, text)
            continue
        for first, second, found in _conflicts(run, claim.code, loops, budget):
            kept = [each for each in islice(found, MOST_CONFLICTS) if _ops(each) == claimed]
            if kept:
                other = second.block if second is not first else None
                yield WholeFault(
                    replace(claim, block_a=first.block, block_b=other), first, second, kept, image, text
                )  # fmt: skip


def _conflicts(
    run: ScheduledRun, code: TV, loops: Mapping[Op, tuple[Op, ...]], budget: Budget
) -> Iterator[tuple[BlockLog, BlockLog, Iterator[Conflict]]]:
    logs = run.trace.logs
    if code not in BETWEEN_BLOCKS:
        for log in logs:
            yield log, log, unordered(log, loops, budget) if code == TV.UNORDERED_IN_BLOCK else doubled_lanes(log)
        return
    order = _Unordered(run)
    for first, second in combinations(range(len(logs)), 2):
        yield logs[first], logs[second], order.between(first, second, code, budget)


def _ops(conflict: Conflict) -> set[int]:
    return {access.op.offset for access in (conflict.first, conflict.second) if access is not None}


def _blocks(grid: Block) -> list[Block]:
    return [(x, y, z) for z, y, x in product(*(range(size) for size in reversed(grid)))]


def _orders(grid: Block, a: Block, b: Block) -> Iterator[tuple[list[Block], Schedule, str]]:
    """Blocks in the order in which they go on when they can; the two of the claim early and late, then at random."""
    blocks = _blocks(grid)
    others = [block for block in blocks if block not in (a, b)]
    plain = Schedule(BlockOrder.SEQUENTIAL)
    yield blocks, plain, "all blocks in order"
    for one, other, text in ((a, b, "block_a before block_b"), (b, a, "block_b before block_a")):
        yield [*others, one, other], plain, f"the other blocks, {text}"
        yield [one, *others, other], plain, f"all blocks between, {text}"
    for seed in range(INTERLEAVINGS):
        schedule = Schedule(BlockOrder.INTERLEAVED, seed=seed)
        yield blocks, schedule, f"all {schedule}"


class _Unordered:
    """The accesses of two blocks of a run that nothing orders."""

    def __init__(self, run: ScheduledRun) -> None:
        self._logs = run.trace.logs
        self._order = HappensBefore(run.trace)
        self._position = {event: place for place, event in enumerate(run.trace.order)}

    def between(self, first: int, second: int, code: TV, budget: Budget) -> Iterator[Conflict]:
        """Conflicts of blocks ``first`` and ``second``, by their places in the trace."""

        def ordered(mine: DynamicAccess, other: DynamicAccess) -> bool:
            events = (first, mine.number), (second, other.number)
            if not all(event in self._position for event in events):
                return True  # one of them never reached memory
            earlier, later = sorted(events, key=self._position.__getitem__)
            return self._order.unordered_byte(earlier, later, _common(mine, other)) is None

        yield from races(code, self._logs[first].accesses, self._logs[second].accesses, ordered, budget)


def _common(mine: DynamicAccess, other: DynamicAccess) -> Array:
    """The bytes that both touch and at least one writes."""
    found = [
        np.intersect1d(spread(a.addresses(), a.width), spread(b.addresses(), b.width))
        for a in mine.footprints
        for b in other.footprints
        if a is mine.writes or b is other.writes
    ]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)
