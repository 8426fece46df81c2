"""All blocks of a small launch under a few schedules: races between two of them, by happens-before.

Blocks that wait for each other cannot show their race alone.  Here the whole grid runs, and two accesses race only if
no chain of tokens, releases and acquires of that run orders them (see `interpreter.happens_before`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final

import numpy as np

from ..verifier.claim import Block, Claim
from .interpreter import BlockLog, BoundLaunch, Budget, DynamicAccess
from .interpreter.conflicts import Conflict, races
from .interpreter.happens_before import HappensBefore
from .interpreter.interleaving import ScheduledRun, run_schedule
from .interpreter.ordering import spread
from .interpreter.schedule import BlockOrder, Schedule
from .interpreter.values import Array

MOST_BLOCKS: Final = 64
"""Blocks of a launch that is run whole."""
INTERLEAVINGS: Final = 3
"""Runs in which blocks take turns at random, beside those in some order."""


@dataclass(frozen=True, slots=True)
class WholeRun:
    """The logs of the claim's blocks in one run of the launch, and the conflicts between them that nothing orders."""

    first: BlockLog
    second: BlockLog
    conflicts: Iterator[Conflict]
    text: str


def whole_runs(bind: Callable[[], BoundLaunch], grid: Block, claim: Claim, budget: Budget) -> Iterator[WholeRun]:
    """The launch in several orders; none where it is large.

    A run in which any block meets undefined behaviour shows nothing.
    """
    assert claim.block_b is not None
    if prod(grid) > MOST_BLOCKS:
        return
    for blocks, schedule, text in _orders(grid, claim.block_a, claim.block_b):
        run = run_schedule(bind(), grid, blocks, schedule, budget)
        numbers = {log.block: number for number, log in enumerate(run.trace.logs)}
        if {claim.block_a, claim.block_b} <= numbers.keys() and not any(log.events for log in run.trace.logs):
            first, second = numbers[claim.block_a], numbers[claim.block_b]
            logs = run.trace.logs[first], run.trace.logs[second]
            yield WholeRun(*logs, _unordered(run, first, second, claim.code, budget), text)


def _orders(grid: Block, a: Block, b: Block) -> Iterator[tuple[list[Block], Schedule, str]]:
    """Blocks in the order in which they go on when they can; the two of the claim early and late, then at random."""
    blocks = [(x, y, z) for z, y, x in product(*(range(size) for size in reversed(grid)))]
    others = [block for block in blocks if block not in (a, b)]
    plain = Schedule(BlockOrder.SEQUENTIAL)
    yield blocks, plain, "all blocks in order"
    for one, other, text in ((a, b, "block_a before block_b"), (b, a, "block_b before block_a")):
        yield [*others, one, other], plain, f"the other blocks, {text}"
        yield [one, *others, other], plain, f"all blocks between, {text}"
    for seed in range(INTERLEAVINGS):
        schedule = Schedule(BlockOrder.INTERLEAVED, seed=seed)
        yield blocks, schedule, f"all {schedule}"


def _unordered(run: ScheduledRun, first: int, second: int, code: str, budget: Budget) -> Iterator[Conflict]:
    order = HappensBefore(run.trace)
    position = {event: place for place, event in enumerate(run.trace.order)}

    def ordered(mine: DynamicAccess, other: DynamicAccess) -> bool:
        events = (first, mine.number), (second, other.number)
        if not all(event in position for event in events):
            return True  # one of them never reached memory
        earlier, later = sorted(events, key=position.__getitem__)
        return order.unordered_byte(earlier, later, _common(mine, other)) is None

    logs = run.trace.logs
    yield from races(code, logs[first].accesses, logs[second].accesses, ordered, budget)


def _common(mine: DynamicAccess, other: DynamicAccess) -> Array:
    """The bytes that both touch and at least one writes."""
    found = [
        np.intersect1d(spread(a.addresses(), a.width), spread(b.addresses(), b.width))
        for a in mine.footprints
        for b in other.footprints
        if a is mine.writes or b is other.writes
    ]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)
