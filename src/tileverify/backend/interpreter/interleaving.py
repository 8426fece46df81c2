"""All blocks of a launch on one memory, under a schedule.

Every block is a generator (`control.block_steps`): control passes only where a block hands it over, so a schedule
determines the run.  A block hands over before an access (if the schedule interleaves), when a loop of it came back to
where it was (it waits for another block), and from time to time between scoped accesses, so that a block that counts
its attempts to take a lock does not hold up the one that has it.  Where every block that is left waits and memory
stands still, none of them will ever go on: each stops with `EndlessLoop`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Final

import numpy as np

from ...frontend.bytecode.model import Op
from .access_log import BlockLog
from .arguments import BoundLaunch
from .conduct import KEEP_GOING
from .control import block_steps
from .faults import EndlessLoop
from .machine import BlockRun, Budget, GridPoint, Result, Rule
from .ordering import OrderedMemory, Range, TimedMemory
from .schedule import AccessOrder, BlockOrder, Schedule
from .trace import Trace

RESIDENT: Final = 16
"""Blocks that are interleaved at a time; the next one starts when one of them ends, or if all of them wait."""
SWITCHING: Final = 0.5
"""How often control passes on before an access, where blocks are interleaved."""
ARRIVING: Final = 0.25
"""How often, where accesses are moved at random, the delayed stores of a block that has ended land at a switch."""
PATIENCE: Final = 64
"""Scoped accesses in a row that a block makes before the others get a turn."""


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """What the blocks did, in the order of ``trace``, and the memory they left."""

    schedule: Schedule
    trace: Trace
    memory: TimedMemory


def run_schedule(
    bound: BoundLaunch, grid: GridPoint, blocks: Sequence[GridPoint], schedule: Schedule, budget: Budget,
    begins: Callable[[BlockRun], None] = lambda run: None,
) -> ScheduledRun:  # fmt: skip
    """Run ``blocks`` of the launch to their ends; a block that stopped early says so in its log.

    What the launch allocates on its way joins the image of ``bound``: bind the launch anew for another run.
    ``begins`` is told of every block before its first op.
    """
    with np.errstate(all="ignore"):
        return _Scheduler(bound, grid, schedule, budget, begins).run(blocks)


class _Worker:
    """One block, which runs while it is given control.

    ``waiting``: how often memory had changed when the block last found nothing new, in the places ``watched``;
    ``loop``: where that was.
    """

    def __init__(self, scheduler: _Scheduler, block: GridPoint, memory: OrderedMemory) -> None:
        self.block = block
        self.memory = memory
        self.log: BlockLog | None = None
        self.waiting: int | None = None
        self.watched: frozenset[Range] = frozenset()
        self._scheduler = scheduler
        self._steps: Generator[None, None, BlockLog] | None = None
        self._scoped = 0
        self.loop = 0
        self._rounds: dict[Op, tuple[int, int]] = {}

    def resume(self) -> None:
        """Let the block go on until it hands control over, or ends: then it has its log."""
        if self._steps is None:
            self._steps = self._scheduler.steps_of(self)
        self.waiting = None
        try:
            next(self._steps)
        except StopIteration as end:
            self.log = end.value

    def give_up(self) -> None:
        """End the block: it will never go on."""
        assert self._steps is not None
        reason = f"the loop at {self.loop:#x} waits for a change that no block makes any more"
        try:
            self._steps.throw(EndlessLoop(reason))
        except StopIteration as end:
            self.log = end.value

    # ------------------------------------------------------------------------------- called by its block
    def passes(self, op: Op) -> bool:
        """Whether the schedule lets other blocks go on before this access."""
        self._scoped += _is_scoped(op)
        passes = self._scheduler.switches() or self._scoped >= PATIENCE
        if passes:
            self._scoped = 0
        return passes

    def perform(self, run: BlockRun, op: Op, rule: Rule) -> Result:
        first = len(run.log.accesses)
        self.memory.begin(op.declaration.effect, _is_scoped(op), run.waits(op))
        result = rule(run, op)
        self.memory.end(first, len(run.log.accesses))
        return result

    def spins(self, op: Op) -> None:
        """The loop came back to where it was.

        If nothing changed for a whole round where that round looked, the next one would be the same: the block waits.
        """
        self.memory.settle()
        shared, reads = self._scheduler.memory, self.memory.reads
        changes = len(shared.changes)
        if op in self._rounds:
            before, start = self._rounds[op]
            self.watched = frozenset(reads[start:])
            if not shared.changed(before, self.watched):
                self.waiting = changes
        self._rounds[op], self.loop = (changes, len(reads)), op.offset
        self._scoped = 0

    @property
    def ready(self) -> bool:
        """It can go on: what it waits for has changed, or it does not wait."""
        shared = self._scheduler.memory
        if self.waiting is not None and shared.changed(self.waiting, self.watched):
            self.waiting = None
        elif self.waiting is not None:
            self.waiting = len(shared.changes)
        return self.waiting is None


@dataclass(slots=True)
class _Scheduler:
    bound: BoundLaunch
    grid: GridPoint
    schedule: Schedule
    budget: Budget
    begins: Callable[[BlockRun], None]
    memory: TimedMemory = field(init=False)
    source: Random = field(init=False)

    def __post_init__(self) -> None:
        moved = self.schedule.accesses is not AccessOrder.PROGRAM
        self.memory = TimedMemory(self.bound.image, history=moved)
        self.source = Random(self.schedule.seed)

    @property
    def interleaves(self) -> bool:
        return self.schedule.blocks is BlockOrder.INTERLEAVED

    def switches(self) -> bool:
        return self.interleaves and self.source.random() < SWITCHING

    def steps_of(self, worker: _Worker) -> Generator[None, None, BlockLog]:
        run = BlockRun(
            self.bound.program, worker.memory, self.grid, worker.block, self.budget, turn=worker, conduct=KEEP_GOING
        )
        self.begins(run)
        return block_steps(run, self.bound.arguments)

    def run(self, blocks: Sequence[GridPoint]) -> ScheduledRun:
        workers = {block: _Worker(self, block, self._window()) for block in blocks}
        queue = deque(workers[block] for block in self.schedule.arranged(blocks, self.source))
        late: list[_Worker] = []
        while queue:
            worker = self._next(queue)
            if worker is None:
                if not late:
                    break
                self._settle(late)
                continue
            if late and self.schedule.accesses is AccessOrder.RANDOM and self.source.random() < ARRIVING:
                self._settle([late.pop(self.source.randrange(len(late)))])
            worker.resume()
            if worker.log is not None:
                queue.remove(worker)
                late += [] if worker.memory.settled else [worker]
            elif not self.interleaves:
                queue.remove(worker)
                queue.append(worker)
        for worker in queue:  # each waits
            worker.give_up()
        self._settle(late)
        logs = [worker.log for worker in workers.values() if worker.log is not None]
        moments = tuple(tuple(worker.memory.moments) for worker in workers.values())
        return ScheduledRun(self.schedule, Trace.in_order_of(logs, moments), self.memory)

    def _settle(self, late: list[_Worker]) -> None:
        """What blocks left on its way when they ended lands."""
        if self.schedule.accesses is AccessOrder.RANDOM:
            self.source.shuffle(late)
        for worker in late:
            worker.memory.settle()
        late.clear()

    def _window(self) -> OrderedMemory:
        return OrderedMemory(self.memory, self.schedule.accesses, self.source)

    def _next(self, queue: Iterable[_Worker]) -> _Worker | None:
        if self.interleaves:
            resident = [worker for worker in islice(queue, RESIDENT) if worker.ready]
            if resident:
                return self.source.choice(resident)
        return next((worker for worker in queue if worker.ready), None)


def _is_scoped(op: Op) -> bool:
    return op.attributes.get("scope") is not None
