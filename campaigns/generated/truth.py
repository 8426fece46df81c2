"""The truth about a generated kernel: every launch of its contract, interpreted.

Without atomics and scoped accesses whose results are used, running each block from the initial memory is exhaustive:
up to the first race no block can see what another one does.  With them, what a block reads may come from others, so
that the launch also runs whole, under several schedules; faults seen in either way are real, but absence of faults is
then only what was seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from tileverify.backend.interpreter import (
    BlockLog,
    BoundLaunch,
    Budget,
    Memory,
    bind_launch,
    run_block,
)
from tileverify.backend.interpreter.access_log import DynamicAccess
from tileverify.backend.interpreter.conflicts import doubled_lanes, loops_around, races, unordered
from tileverify.backend.interpreter.memory import Provenance
from tileverify.backend.interpreter.values import UNSPECIFIED, Conduct, OpenUse, UnspecifiedUse
from tileverify.backend.replay.explore import Exploration, explore
from tileverify.contract.launch import Block, ConcreteLaunch, KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import Op, PointerType, TileType, TokenType
from tileverify.frontend.bytecode.traverse import walk
from tileverify.results.codes import TV

BETWEEN_BLOCKS = (TV.RACE_WRITE_WRITE, TV.RACE_READ_WRITE, TV.RACE_ATOMIC_MIXED)
STEPS = 1 << 22
"""For one block; the loops of generated kernels are short, unless a wrapped bound makes them endless."""
PATIENT_STEPS = 1 << 27
"""The same for a witness that did not show its fault before."""
SCHEDULES = 6
ONLY_OPEN = Conduct(open=UNSPECIFIED, executes=True, stops=False)
"""A value that the specification leaves open is noted where it is written, and ends the run where it decides."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one launch shows: the codes of its faults, and why a block could not be followed to its end.

    ``writers``: the blocks that wrote something.
    """

    codes: frozenset[str]
    open: str | None
    writers: tuple[Block, ...] = ()

    def at_work_along(self, axis: int) -> bool:
        """Two blocks that differ along the axis wrote something."""
        return len({block[axis] for block in self.writers}) > 1


class Leftover(Memory):
    """Memory that a block makes for itself holds the block's ``number``, in words of ``width`` bytes: what nobody wrote
    may be anything."""

    number = 0
    width = 8

    def allocate_local(self, name: str, size: int) -> int:
        number = self.number % (1 << 8 * self.width)
        left = np.full(-(-size // self.width), number, f"<u{self.width}").view(np.uint8)[:size]
        return self.image.add_allocation(name, size, data=left)


class Interpreted:
    """Interprets launches of one kernel.

    ``heard``: what scoped accesses give back is used, so that a block that runs alone may wait for ever, or take what
    another one has: what blocks do to each other is then judged by whole runs.
    """

    def __init__(self, unit: KernelUnit) -> None:
        self._unit = unit
        self._module = decode(unit.bytecode, file=str(unit.file))
        (self.entry,) = self._module.entries
        self._loops = loops_around(self.entry.body)
        self._ops = {op.offset: op for op in walk(self.entry.body)}
        self._local = [_pointee(op) for op in self._ops.values() if op.name == "alloca"]
        self.heard = _use_what_others_wrote(self._loops)

    def see(self, launch: ConcreteLaunch, steps: int = STEPS, blocks: Sequence[Block] | None = None) -> Seen:
        """All faults of one launch, or of some of its ``blocks``.

        Raises `faults.InterpreterStop` if the arguments do not fit the entry.
        """
        bound = self._bound(launch)
        chosen = _blocks(launch) if blocks is None else blocks
        logs = [self._run(bound, launch, block, steps) for block in chosen]
        codes = self._codes(logs)
        if self._local:
            codes |= self._codes([self._run(bound, launch, log.block, steps, leftover=True) for log in logs])
        stops = [str(log.stopped) for log in logs if log.stopped is not None]
        stops += [text for log in logs for text in log.left_out]
        if self.heard:
            explored = self.explored(launch, steps, blocks=blocks)
            codes |= explored.codes
            stops = [stop.reason for stop in explored.stops]
        origins = bound.image.origins
        if any(_beside_its_array(access, origins[access.origin]) for log in logs for access in log.accesses):
            codes.add("TV302")
        made = {log.block: [a for a in log.accesses if _of_launch(origins[a.origin].name)] for log in logs}
        writers = tuple(block for block, accesses in made.items() if any(a.writes is not None for a in accesses))
        return Seen(frozenset(codes), stops[0] if stops else None, writers)

    def _run(
        self, bound: BoundLaunch, launch: ConcreteLaunch, block: Block, steps: int, *, leftover: bool = False
    ) -> BlockLog:
        found = Memory(bound.image)
        if leftover:
            found = Leftover(bound.image)
            found.number = block[0] + launch.grid[0] * (block[1] + launch.grid[1] * block[2])
            found.width = min(self._local)
        return run_block(bound.program, bound.arguments, found, launch.grid, block, Budget(steps), apart=True)

    def _codes(self, logs: Sequence[BlockLog]) -> set[str]:
        return set(_alone(logs, self._loops)) | (set() if self.heard else self._between(logs))

    def apart(self, launch: ConcreteLaunch, blocks: Sequence[Block] | None = None) -> set[str]:
        """What blocks do to each other that run from the initial memory, past faults of their own."""
        bound = self._bound(launch)
        chosen = _blocks(launch) if blocks is None else blocks
        return self._between([self._run(bound, launch, block, PATIENT_STEPS) for block in chosen])

    def _between(self, logs: Sequence[BlockLog]) -> set[str]:
        codes: set[str] = set()
        for first, second in _near(logs):
            codes |= {
                code
                for code in BETWEEN_BLOCKS
                if code not in codes and any(races(code, first.accesses, second.accesses, lambda one, other: False))
            }
        return codes

    def undetermined(
        self, launch: ConcreteLaunch, steps: int = STEPS, blocks: Sequence[Block] | None = None
    ) -> frozenset[int]:
        """Offsets of the ops that something which the specification leaves open reaches, in any block of ``blocks``.

        What is stored to local memory has reached nothing yet, and an assumption is none of the places that count.
        """
        bound = self._bound(launch)
        found: set[int] = set()
        for block in _blocks(launch) if blocks is None else blocks:
            memory, budget = Memory(bound.image), Budget(steps)
            log = run_block(
                bound.program, bound.arguments, memory, launch.grid, block, budget, apart=True, conduct=ONLY_OPEN
            )
            uses = list(log.open_uses)
            if isinstance(log.stopped, UnspecifiedUse) and log.stopped.use is not None:
                uses.append(log.stopped.use)
            found.update(use.offset for use in uses if self._counts(use))
        return frozenset(found)

    def _counts(self, use: OpenUse) -> bool:
        """A load left it open, or the order of a reduction, no float that fits no integer; and it reached more than the
        block's own memory."""
        source = None if use.source is None else self._ops[use.source]
        left = source is not None and (
            source.name in ("reduce", "scan") or source.declaration.effect.startswith("read")
        )
        return left and use.use != "operand" and _of_launch(use.element)

    def works(self, launch: ConcreteLaunch) -> bool:
        """Whether any block gets to an element: to one that it writes, if the kernel writes anything."""
        writes = any(op.name.startswith(("store", "atomic")) for op in self._loops)
        bound = self._bound(launch)
        logs = [self._run(bound, launch, block, STEPS) for block in _blocks(launch)]
        touched = [access for log in logs for access in log.accesses]
        footprints = [access.writes if writes else access.reads for access in touched]
        return any(footprint is not None and len(footprint.runs[0]) > 0 for footprint in footprints)

    def explored(
        self, launch: ConcreteLaunch, steps: int = STEPS, schedules: int = SCHEDULES,
        blocks: Sequence[Block] | None = None,
    ) -> Exploration:  # fmt: skip
        """The whole launch, or some of its blocks, under so many schedules."""
        return explore(
            self._module, self.entry, self._unit.parameters, launch, {}, schedules=schedules, budget=steps,
            blocks=blocks,
        )  # fmt: skip

    def _bound(self, launch: ConcreteLaunch) -> BoundLaunch:
        return bind_launch(self._module, self.entry, self._unit.parameters, launch)


def _blocks(launch: ConcreteLaunch) -> Iterator[Block]:
    x, y, z = launch.grid
    return product(range(x), range(y), range(z))


def _pointee(op: Op) -> int:
    """The bytes of an element that the result points to."""
    assert isinstance(op.result.type, TileType)
    assert isinstance(op.result.type.element, PointerType)
    return op.result.type.element.pointee.bytes


def _of_launch(element: str) -> bool:
    """Not of memory that the block made for itself."""
    return not element.startswith("alloca@")


def _near(logs: Sequence[BlockLog]) -> Iterator[tuple[BlockLog, BlockLog]]:
    """Pairs of blocks that may touch a byte that one of them writes, by the first and last byte of each."""
    ends: list[tuple[int, int, int, int]] = []
    for log in logs:
        touched = [(access.low, access.end) for access in log.accesses if access.footprints]
        written = [(access.writes.low, access.writes.end) for access in log.accesses if access.writes is not None]
        ends.append((*_hull(touched), *_hull(written)))
    for (first, (low, end, wlow, wend)), (second, (low2, end2, wlow2, wend2)) in combinations(
        zip(logs, ends, strict=True), 2
    ):
        if (wlow < end2 and low2 < wend) or (wlow2 < end and low < wend2):
            yield first, second


def _hull(ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return (min(low for low, _ in ranges), max(end for _, end in ranges)) if ranges else (0, 0)


def _use_what_others_wrote(ops: Iterable[Op]) -> bool:
    """What a scoped access gave back is used: then blocks may wait for each other, or share out work."""
    operands = [each for op in ops for each in op.operands.values()]
    used = {value for each in operands for value in (each if isinstance(each, tuple) else (each,))}
    return any(
        op.attributes.get("ord", "weak") != "weak" and result in used
        for op in ops
        for result in op.results
        if not isinstance(result.type, TokenType)
    )


def _beside_its_array(access: DynamicAccess, origin: Provenance) -> bool:
    """Outside of the array that it was meant for, though inside of memory that this one shares with others: the
    interpreter is a machine, and faults where memory ends."""
    footprints = (each for each in (access.reads, access.writes) if each is not None)
    return any(each.low < origin.base or each.end > origin.base + origin.size for each in footprints)


def _alone(logs: Sequence[BlockLog], loops: Mapping[Op, tuple[Op, ...]]) -> Iterator[str]:
    for log in logs:
        yield from (event.code for event in log.events)
        if any(unordered(log, loops)):
            yield "TV201"
        if any(doubled_lanes(log)):
            yield "TV202"
