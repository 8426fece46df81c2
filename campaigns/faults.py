"""What one concrete launch shows when some of its blocks run in the reference interpreter.

Only what an execution that the memory model allows does counts: two blocks at once from the initial memory, one after
the other on one memory, where a release that an acquire may have observed orders them, or the whole launch under some
schedules, where happens-before is tracked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, permutations
from random import Random
from typing import Any

from numpy.typing import NDArray
from tests.corpus.launches import SCHEDULES, some_blocks

from tileverify.backend.interpreter import (
    BlockLog,
    BoundLaunch,
    Budget,
    DynamicAccess,
    InterpreterStop,
    Memory,
    bind_launch,
    run_block,
)
from tileverify.backend.interpreter.conflicts import (
    Conflict,
    Order,
    doubled_lanes,
    loops_around,
    races,
    synchronisations,
    unordered,
)
from tileverify.backend.interpreter.ordering import Schedule
from tileverify.backend.interpreter.values import BudgetSpent
from tileverify.backend.replay.explore import Exploration, explore
from tileverify.contract.launch import Block, ConcreteLaunch, KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import Module
from tileverify.pipeline.unit_summary import entry_of
from tileverify.results.codes import TV

from .sharing import share_bytes

STEPS = 1 << 24
"""The work of one launch, its blocks get equal shares: about a tenth of a second; more where there are few."""
COMPARING = 1 << 26
"""The same for the comparison of accesses."""
SEQUENCES = 6
"""Ordered pairs of blocks that run one after the other, where atomics carry values between blocks."""
BETWEEN_BLOCKS = (TV.RACE_WRITE_WRITE, TV.RACE_READ_WRITE, TV.RACE_ATOMIC_MIXED)

Contents = Mapping[str, NDArray[Any]]
"""Memory by allocation, where it is given outright."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Obligation ``code`` is broken by ``launch``; ``blocks`` and ``text`` say where it shows, ``ops`` at which
    offsets."""

    code: TV
    launch: ConcreteLaunch
    blocks: tuple[Block, ...]
    text: str
    ops: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a run came: ``open`` as in `Watched`, ``accesses`` of the kernel, and those that each block ``made``."""

    open: str | None
    accesses: frozenset[int]
    made: tuple[frozenset[int], ...]

    def at_stake(self, fault: Fault) -> bool:
        """Whether as many blocks as it takes got to the accesses at fault; also true of what is no access."""
        known = fault.ops and fault.ops <= self.accesses
        return not known or sum(bool(ops & fault.ops) for ops in self.made) >= len(fault.blocks)


class Watched:
    """Blocks of one launch, each run from the initial memory and unseen by the others.

    ``open``: why some block could not be followed to its end, so that it may show less than there is.  A launch that
    does not fit the entry has no blocks.
    """

    def __init__(
        self, unit: KernelUnit, launch: ConcreteLaunch, *, steps: int = STEPS, contents: Contents | None = None,
        blocks: Sequence[Block] | None = None,
    ) -> None:  # fmt: skip
        self.unit, self.launch, self.contents = unit, launch, contents or {}
        self.module = _decoded(unit.bytecode, str(unit.file))
        self.entry = entry_of(self.module, unit)
        self.loops = loops_around(self.entry.body)
        self.scoped = any(op.attributes.get("ord", "weak") != "weak" for op in self.loops)
        self.blocks = list(some_blocks(launch.grid) if blocks is None else blocks)
        self.share = steps // len(self.blocks)
        self.logs: list[BlockLog] = []
        self.open: str | None = None
        data = {name: array.reshape(-1).view("uint8") for name, array in self.contents.items()}
        try:
            self.bound = bind_launch(self.module, self.entry, unit.parameters, launch, data)
        except InterpreterStop as stop:
            self.open = str(stop)
            return
        self.logs = [self._run(Memory(self.bound.image), block, apart=True) for block in self.blocks]
        self.open = next(filter(None, map(_unfollowed, self.logs)), None)

    def _run(self, memory: Memory, block: Block, *, apart: bool = False) -> BlockLog:
        bound = self.bound
        budget = Budget(self.share)
        return run_block(bound.program, bound.arguments, memory, self.launch.grid, block, budget, apart=apart)

    def faults(self) -> Iterator[Fault]:
        """Every kind of fault that shows, however far the blocks came in their steps."""
        if not self.logs:
            return
        budget = Budget(COMPARING)
        try:
            yield from self._alone(budget)
            if self._meet:
                for first, second in combinations(self.logs, 2):
                    yield from self._between(first, second, _unordered, budget)
            if self.scoped and not self._alike:
                yield from self._in_sequence(budget)
        except BudgetSpent as stop:
            self.open = self.open or str(stop)

    @cached_property
    def _meet(self) -> bool:
        return share_bytes(self.logs, self.bound.image)

    @property
    def _alike(self) -> bool:
        """One after the other, blocks do what they do alone: those that stopped before their end ran out of steps."""
        stopped = (log.stopped for log in self.logs if log.stopped is not None)
        followed = all(isinstance(stop, BudgetSpent) for stop in stopped) and not any(log.left_out for log in self.logs)
        return followed and not self._meet

    def _alone(self, budget: Budget) -> Iterator[Fault]:
        for log in self.logs:
            for event in log.events:
                text = f"{event.op} at {event.offset:#x}: {event.message}"
                yield Fault(event.code, self.launch, (log.block,), text, frozenset({event.offset}))
            pairs = unordered(log, self.loops, budget)
            for code, conflicts in ((TV.UNORDERED_IN_BLOCK, pairs), (TV.DUPLICATE_LANES, doubled_lanes(log))):
                for conflict in conflicts:
                    yield Fault(code, self.launch, (log.block,), _described(self.bound, conflict), _ops(conflict))

    def _between(self, first: BlockLog, second: BlockLog, ordered: Order, budget: Budget) -> Iterator[Fault]:
        for code in BETWEEN_BLOCKS:
            for conflict in races(code, first.accesses, second.accesses, ordered, budget):
                text = _described(self.bound, conflict)
                yield Fault(code, self.launch, (first.block, second.block), text, _ops(conflict))

    def _in_sequence(self, budget: Budget) -> Iterator[Fault]:
        """Pairs of blocks on one memory, so that the second sees what the first left there."""
        pairs = list(permutations(self.blocks[:8], 2))
        for pair in Random(4).sample(pairs, min(SEQUENCES, len(pairs))):
            memory = Memory(self.bound.image)
            first, second = (self._run(memory, block) for block in pair)
            yield from self._between(first, second, _observed_order(first, second), budget)

    @property
    def reached(self) -> Reached:
        return Reached(
            self.open,
            frozenset(op.offset for op in self.loops if "ord" in op.attributes),
            tuple(frozenset(a.op.offset for a in log.accesses if a.footprints) for log in self.logs),
        )

    def at_fault(self, code: TV) -> set[tuple[Block, ...]] | None:
        """The blocks, or pairs of blocks, that show such a fault; ``None`` if it takes too long to tell."""
        try:
            if code not in BETWEEN_BLOCKS:
                return {fault.blocks for fault in self._alone(Budget(COMPARING)) if fault.code == code}
            budget = Budget(COMPARING)
            pairs = combinations(self.logs, 2)
            return {
                (a.block, b.block) for a, b in pairs if any(races(code, a.accesses, b.accesses, _unordered, budget))
            }
        except BudgetSpent:
            return None

    def explored(self, schedules: Sequence[Schedule] | int = SCHEDULES) -> Iterator[Fault]:
        """What the dynamic detector sees when the blocks share one memory, under ``schedules`` or so many of them,
        beside `faults`."""
        if self.logs and self.open is None and not self._meet:
            return
        try:
            runs = schedules if isinstance(schedules, int) else len(schedules)
            found = explore(
                self.module, self.entry, self.unit.parameters, self.launch, self.contents,
                schedules=schedules, blocks=self.blocks, budget=self.share * len(self.blocks) * runs,
            )  # fmt: skip
        except InterpreterStop as stop:
            self.open = self.open or str(stop)
            return
        for race in found.races:
            sides = [race.first] if race.second is None else [race.first, race.second]
            ops = " and ".join(f"{side.op.name} at {side.op.offset:#x}" for side in sides)
            text = f"{ops} on {race.element}, {race.schedule}"
            yield Fault(race.code, self.launch, tuple(side.block for side in sides), text)
        for event in found.events:
            text = f"{event.op.name} at {event.op.offset:#x}: {event.message}, {event.schedule}"
            yield Fault(event.code, self.launch, (event.block,), text)
        self.open = _unexplored(found) if self.scoped else self.open or _unexplored(found)


@lru_cache(maxsize=4)
def _decoded(bytecode: bytes, file: str) -> Module:
    """The module; runs leave it as it is, so that one serves all launches."""
    return decode(bytecode, file=file)


def _unfollowed(log: BlockLog) -> str | None:
    if log.stopped is not None:
        return str(log.stopped)
    return log.left_out[0] if log.left_out else None


def _unexplored(found: Exploration) -> str | None:
    if found.stops:
        return found.stops[0].reason
    return "the run needs more steps than its budget" if found.unfinished else None


def _observed_order(first: BlockLog, second: BlockLog) -> Order:
    meetings = synchronisations(first, second)
    return lambda earlier, later: any(meeting.orders(earlier, later) for meeting in meetings)


def _unordered(earlier: DynamicAccess, later: DynamicAccess) -> bool:
    return False


def _ops(conflict: Conflict) -> frozenset[int]:
    return frozenset(a.op.offset for a in (conflict.first, conflict.second) if a is not None)


def _described(bound: BoundLaunch, conflict: Conflict) -> str:
    ops = [f"{a.op.name} at {a.op.offset:#x}" for a in (conflict.first, conflict.second) if a is not None]
    return f"{' and '.join(ops)} on {bound.image.origins[conflict.first.origin].element(conflict.address)}"


__all__ = ["STEPS", "Fault", "Reached", "Watched"]
