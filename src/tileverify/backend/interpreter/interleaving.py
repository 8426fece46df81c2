"""All blocks of a launch on one memory, under a schedule.

Every block runs in a thread of its own, one at a time: control passes only where a block hands it over, so a schedule
determines the run.  A block hands over before an access (if the schedule interleaves), when a loop of it came back to
where it was (it waits for another block), and from time to time between scoped accesses, so that a block that counts
its attempts to take a lock does not hold up the one that has it.  Where every block that is left waits and memory
stands still, none of them will ever go on: each stops with `EndlessLoop`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from threading import Lock, Thread
from typing import Final

from ...frontend.bytecode.model import Op
from .access_log import BlockLog
from .arguments import BoundLaunch
from .conduct import KEEP_GOING
from .control import run_block
from .faults import EndlessLoop, InterpreterStop
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
    bound: BoundLaunch, grid: GridPoint, blocks: Sequence[GridPoint], schedule: Schedule, budget: Budget
) -> ScheduledRun:
    """Run ``blocks`` of the launch to their ends; a block that stopped early says so in its log.

    What the launch allocates on its way joins the image of ``bound``: bind the launch anew for another run.
    """
    return _Scheduler(bound, grid, schedule, budget).run(blocks)


class _Worker:
    """One block: a thread that runs while it is given control.

    ``waiting``: how often memory had changed when the block last found nothing new, in the places ``watched``;
    ``loop``: where that was.
    """

    def __init__(self, scheduler: _Scheduler, block: GridPoint, memory: OrderedMemory) -> None:
        self.block = block
        self.memory = memory
        self.log: BlockLog | None = None
        self.waiting: int | None = None
        self.watched: frozenset[Range] = frozenset()
        self.stop: InterpreterStop | None = None
        self.failure: BaseException | None = None
        self._scheduler = scheduler
        self._go, self._back = Lock(), Lock()
        self._go.acquire()
        self._back.acquire()
        self._thread: Thread | None = None
        self._scoped = 0
        self.loop = 0
        self._rounds: dict[Op, tuple[int, int]] = {}

    @property
    def started(self) -> bool:
        return self._thread is not None

    def resume(self) -> None:
        """Let the block go on until it hands control over."""
        if self._thread is None:
            self._thread = Thread(target=self._main, name=f"block {self.block}", daemon=True)
            self._thread.start()
        else:
            self._go.release()
        self._back.acquire()
        if self.failure is not None:
            raise self.failure

    def _main(self) -> None:
        try:
            self.log = self._scheduler.execute(self)
        except BaseException as failure:  # told to the thread that called `resume`
            self.failure = failure
        finally:
            self._back.release()

    def _hand_over(self) -> None:
        self._back.release()
        self._go.acquire()
        if self.stop is not None:
            raise self.stop

    # ------------------------------------------------------------------------------- called by its block
    def perform(self, run: BlockRun, op: Op, rule: Rule) -> Result:
        """Run one access, after other blocks where the schedule says so."""
        scoped = op.attributes.get("scope") is not None
        self._scoped += scoped
        if self._scheduler.switches() or self._scoped >= PATIENCE:
            self._scoped = 0
            self._hand_over()
        first = len(run.log.accesses)
        self.memory.begin(op.declaration.effect, scoped, run.waits(op))
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
        self._hand_over()
        self.waiting = None

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

    def execute(self, worker: _Worker) -> BlockLog:
        bound = self.bound
        return run_block(
            bound.program, bound.arguments, worker.memory, self.grid, worker.block, self.budget, turn=worker,
            conduct=KEEP_GOING,
        )  # fmt: skip

    def run(self, blocks: Sequence[GridPoint]) -> ScheduledRun:
        workers = {block: _Worker(self, block, self._window()) for block in blocks}
        queue = deque(workers[block] for block in self.schedule.arranged(blocks, self.source))
        late: list[_Worker] = []
        try:
            while queue:
                worker = self._next(queue)
                if worker is None:
                    if not late:
                        _give_up(queue)
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
            self._settle(late)
        except Exception:
            _give_up(worker for worker in queue if worker.started)
            raise
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


def _give_up(queue: Iterable[_Worker]) -> None:
    """End the threads of blocks that will never go on."""
    for worker in queue:
        if worker.log is None and worker.failure is None:
            worker.stop = EndlessLoop(f"the loop at {worker.loop:#x} waits for a change that no block makes any more")
            worker.resume()
