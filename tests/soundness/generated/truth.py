"""The truth about a generated kernel: every launch of its contract, interpreted.

Without atomics and scoped accesses, running each block from the initial memory is exhaustive: up to the first race
no block can see what another one does.  With them, what a block reads may come from others, so that the launch also
runs whole, under several schedules; faults seen in either way are real, but absence of faults is then only what was
seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from tileverify.backend.explore import Exploration, explore
from tileverify.backend.interpreter import (
    BlockLog,
    Budget,
    Memory,
    bind_launch,
    run_block,
)
from tileverify.backend.interpreter.conflicts import doubled_lanes, loops_around, races, unordered
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import Op, TokenType
from tileverify.frontend.sources.launch import KernelUnit
from tileverify.verifier.claim import ConcreteLaunch

BETWEEN_BLOCKS = ("TV101", "TV102", "TV103")
STEPS = 1 << 22
"""For one block; the loops of generated kernels are short, unless a wrapped bound makes them endless."""
PATIENT_STEPS = 1 << 27
"""The same for a witness that did not show its fault before."""
SCHEDULES = 6


@dataclass(frozen=True, slots=True)
class Seen:
    """What one launch shows: the codes of its faults, and why a block could not be followed to its end."""

    codes: frozenset[str]
    open: str | None


class Interpreted:
    """Interprets launches of one kernel.

    ``scoped``: it has atomics or scoped accesses.  ``heard``: what they give back is used, so that a block that runs
    alone may wait for ever, or take what another one has: what blocks do to each other is then judged by whole runs.
    """

    def __init__(self, unit: KernelUnit) -> None:
        self._unit = unit
        self._module = decode(unit.bytecode, file=str(unit.file))
        (self._entry,) = self._module.entries
        self._loops = loops_around(self._entry.body)
        self.heard = _use_what_others_wrote(self._loops)
        self.scoped = any(op.attributes.get("ord", "weak") != "weak" for op in self._loops)

    def see(self, launch: ConcreteLaunch, steps: int = STEPS) -> Seen:
        """All faults of one launch.  Raises `faults.InterpreterStop` if the arguments do not fit the entry."""
        logs = self._logs(launch, steps)
        codes = set(_alone(logs, self._loops))
        for first, second in combinations(logs, 2):
            if not self.heard:
                codes |= {
                    code
                    for code in BETWEEN_BLOCKS
                    if any(races(code, first.accesses, second.accesses, lambda one, other: False))
                }
        stops = [str(log.stopped) for log in logs if log.stopped is not None]
        stops += [text for log in logs for text in log.left_out]
        if self.scoped:
            explored = self.explored(launch, steps)
            codes |= explored.codes
            if self.heard:
                stops = [stop.reason for stop in explored.stops]
        why = stops[0] if stops else None
        return Seen(frozenset(codes), why)

    def _logs(self, launch: ConcreteLaunch, steps: int) -> list[BlockLog]:
        bound = bind_launch(self._module, self._entry, self._unit.parameters, launch)
        blocks = product(*map(range, launch.grid))
        return [
            run_block(
                bound.program, bound.arguments, Memory(bound.image), launch.grid, block, Budget(steps), apart=True
            )
            for block in blocks
        ]

    def works(self, launch: ConcreteLaunch) -> bool:
        """Whether any block gets to an element: to one that it writes, if the kernel writes anything."""
        writes = any(op.name.startswith(("store", "atomic")) for op in self._loops)
        touched = [access for log in self._logs(launch, STEPS) for access in log.accesses]
        footprints = [access.writes if writes else access.reads for access in touched]
        return any(footprint is not None and len(footprint.runs[0]) > 0 for footprint in footprints)

    def explored(self, launch: ConcreteLaunch, steps: int = STEPS, schedules: int = SCHEDULES) -> Exploration:
        """The whole launch under so many schedules."""
        return explore(self._module, self._entry, self._unit.parameters, launch, {}, schedules=schedules, budget=steps)


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


def _alone(logs: Sequence[BlockLog], loops: Mapping[Op, tuple[Op, ...]]) -> Iterator[str]:
    for log in logs:
        yield from (event.code for event in log.events)
        if any(unordered(log, loops)):
            yield "TV201"
        if any(doubled_lanes(log)):
            yield "TV202"
