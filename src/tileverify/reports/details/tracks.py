"""What the blocks of a concrete launch do to one array: every access with the iterations of the loops around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Final

from ...backend.interpreter import BlockLog, BoundLaunch, Budget, DynamicAccess, Memory, UndefinedBehaviour, run_block
from ...backend.interpreter.machine import BlockRun
from ...backend.interpreter.memory import Provenance
from ...backend.interpreter.values import Tile, as_signed
from ...backend.replay.fault_places import OutsideWatch, numbered
from ...contract.concrete import Block
from ...frontend.bytecode.model import Op
from ...results.details import Step, Track
from .boxes import boxes_of, elements_in

MOST_BLOCKS: Final = 64
"""Blocks of a launch that are run for a drawing."""
MOST_STEPS: Final = 64
"""Executions of one access by one block that are drawn."""
STEPS: Final = 1 << 25
"""Interpreter steps for all blocks of one drawing: a fraction of a second."""
MOST_ELEMENTS: Final = 1 << 21
"""Elements of all footprints of one drawing together."""


class IterationWatch(OutsideWatch):
    """Notes which execution of its op, and which iterations of the loops around it, each time of the log belongs to.

    Loops without a counter count executions of the access.
    """

    def __init__(self, loops: Mapping[Op, tuple[Op, ...]]) -> None:
        super().__init__()
        self._loops = loops
        self._seen: dict[Op, int] = {}
        self.executions: dict[int, int] = {}
        self.iterations: dict[int, tuple[int, ...]] = {}

    def look(
        self, run: BlockRun, op: Op, accesses: Sequence[DynamicAccess], events: Sequence[UndefinedBehaviour]
    ) -> None:
        super().look(run, op, accesses, events)
        number = self._seen[op] = self._seen.get(op, -1) + 1
        now = tuple(_iteration(run, loop, number) for loop in self._loops.get(op, ()))
        for time in (*(access.time for access in accesses), *(event.time for event in events)):
            self.executions[time], self.iterations[time] = number, now


def _iteration(run: BlockRun, loop: Op, otherwise: int) -> int:
    """How often the loop has begun again; ``otherwise`` for a loop that has no counter of its own."""
    if loop.name != "for":
        return otherwise
    counter = run.values[loop.regions[0].blocks[0].arguments[0]]
    lower, step = run.tile(loop, "lower"), run.tile(loop, "step")
    assert isinstance(counter, Tile)
    bits = 8 * counter.data.dtype.itemsize
    value, first, by = (int(as_signed(tile.data, bits)) for tile in (counter, lower, step))
    return (value - first) // by if by else otherwise


@dataclass(frozen=True, slots=True)
class Run:
    """One block's log, and who looked on."""

    log: BlockLog
    watch: IterationWatch

    def executions(self, offset: int) -> list[list[DynamicAccess | UndefinedBehaviour]]:
        """What the op at ``offset`` in the bytecode did each time that it touched memory, or reached outside."""
        found: dict[int, list[DynamicAccess | UndefinedBehaviour]] = {}
        happened: list[DynamicAccess | UndefinedBehaviour] = []
        happened += (access for access in self.log.accesses if access.op.offset == offset and access.footprints)
        happened += (event for event in self.log.events if event.offset == offset and event.time in self.watch.found)
        for each in happened:
            found.setdefault(self.watch.executions[each.time], []).append(each)
        return [found[number] for number in sorted(found)]

    def step_of(self, offset: int, time: int) -> int:
        """The position in `executions` of what happened at ``time``."""
        return next(i for i, each in enumerate(self.executions(offset)) if any(one.time == time for one in each))


def runs(bound: BoundLaunch, grid: Block, first: Iterable[Block], loops: Mapping[Op, tuple[Op, ...]]) -> list[Run]:
    """Blocks of the launch, each run from the initial memory unseen by the others: those of ``first``, and as many
    of the others as the limits allow, in the order of their ids."""
    budget = Budget(STEPS)
    found = []
    for block in _chosen(grid, first):
        watch = IterationWatch(loops)
        log = run_block(
            bound.program, bound.arguments, Memory(bound.image), grid, block, budget, apart=True, turn=watch
        )
        found.append(Run(log, watch))
        if budget.left <= 0:
            break
    return sorted(found, key=lambda run: run.log.block[::-1])


def _chosen(grid: Block, first: Iterable[Block]) -> list[Block]:
    blocks = (numbered(number, grid) for number in range(prod(grid)))
    named = [block for block in first if all(0 <= i < size for i, size in zip(block, grid, strict=True))]
    return list(islice(dict.fromkeys((*named, *islice(blocks, MOST_BLOCKS))), MOST_BLOCKS))


@dataclass
class Tracer:
    """Turns runs into tracks on one array, while ``MOST_ELEMENTS`` last."""

    origin: Provenance
    left: int = MOST_ELEMENTS

    def tracks(self, runs: Sequence[Run], offset: int) -> tuple[Track, ...]:
        """What each block does at the op at ``offset``; blocks that never get there have a track without steps."""
        return tuple(Track(run.log.block, tuple(self._steps(run, offset))) for run in runs)

    def _steps(self, run: Run, offset: int) -> Iterator[Step]:
        for execution in run.executions(offset)[:MOST_STEPS]:
            if self.left <= 0:
                return
            storage = elements_in(
                self.origin, [f for a in execution if isinstance(a, DynamicAccess) for f in a.footprints]
            )
            self.left -= len(storage)
            boxes, cut = boxes_of(self.origin, storage)
            beyond = [named.elements for each in execution if (named := run.watch.found.get(each.time)) is not None]
            outside = [each for each in beyond if each is not None and each.array == self.origin.name]
            yield Step(
                boxes=(*boxes, *(each.ranges for each in outside if each.ranges)),
                count=len(storage) + sum(each.count for each in outside),
                iterations=run.watch.iterations[execution[0].time],
                cut=cut,
            )
