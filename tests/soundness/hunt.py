"""Counterexamples to `proved`: concrete launches within the contract, run by the reference interpreter.

Only what an execution that the memory model allows does counts: two blocks at once from the initial memory, or one
after the other on one memory, where a release that an acquire may have observed orders them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from random import Random

from tileverify.backend.interpreter import (
    BlockLog,
    BoundLaunch,
    Budget,
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
from tileverify.backend.interpreter.faults import BudgetSpent
from tileverify.check import entry_of
from tileverify.errors import SpecError
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import Op
from tileverify.frontend.sources.expressions import Undefined, evaluate, parse_condition, print_expression
from tileverify.frontend.sources.launch import Expression, KernelUnit, SameArray
from tileverify.verifier.claim import Block, ConcreteLaunch

from ..corpus.launches import SIZES, drawn_launches, some_blocks

SMALL = (*SIZES, 2049, 4100)
TINY = (0, 1, 2, 3)
LARGE = (0, 1, 2, 16, 129, 1 << 16, 46341, 1 << 20, (1 << 24) - 1, 1 << 30, (1 << 31) - 128, (1 << 31) - 1)
"""Sizes with which 32-bit products wrap."""
NEGATIVE = (-1, -5, -(1 << 31))
TRIES = 1000
"""Draws of sizes and scalars, most of which no contract allows."""
STEPS = 1 << 24
"""The work of one launch, its blocks get equal shares: about a tenth of a second; more where there are few."""
COMPARING = 1 << 26
"""The same for the comparison of accesses."""
SEQUENCES = 6
"""Ordered pairs of blocks that run one after the other, where atomics carry values between blocks."""
BETWEEN_BLOCKS = ("TV101", "TV102", "TV103")


@dataclass(frozen=True, slots=True)
class Fault:
    """Obligation ``code`` is broken by ``launch``; ``blocks`` and ``text`` say where it shows."""

    code: str
    launch: ConcreteLaunch
    blocks: tuple[Block, ...]
    text: str


class NotUnderstood(Exception):
    """A clause that the language of launch specs cannot read, or that speaks of what no launcher knows."""


@dataclass
class Hunter:
    """Looks for faults in changed versions of one kernel under one contract; keeps the launches that it drew."""

    unit: KernelUnit
    small: int = 4
    tiny: int = 2
    large: int = 2
    _drawn: dict[tuple[str, ...], list[ConcreteLaunch]] = field(default_factory=dict)

    def launches(self, requires: tuple[str, ...]) -> list[ConcreteLaunch]:
        """Launches of the contract that satisfy ``requires`` as well: usual sizes, then tiny and large ones."""
        if requires not in self._drawn:
            clauses = [_read(text) for text in requires]

            def draw(count: int, seed: int, sizes: Sequence[int], most_blocks: int | None) -> list[ConcreteLaunch]:
                return drawn_launches(
                    self.unit.launch, count, seed, sizes=sizes, scalars=NEGATIVE, most_blocks=most_blocks,
                    tries=TRIES, admits=lambda known: all(_holds(clause, known) for clause in clauses),
                )  # fmt: skip

            drawn = [
                *draw(self.small, 2, SMALL, 24),
                *draw(self.tiny, 3, TINY, 24),
                *draw(self.large, 4, LARGE, None),
            ]
            distinct = [launch for place, launch in enumerate(drawn) if launch not in drawn[:place]]
            self._drawn[requires] = [launch for launch in distinct if self._keeps_facts(launch)]
        return self._drawn[requires]

    def _keeps_facts(self, launch: ConcreteLaunch) -> bool:
        """The facts about contents hold; an array too large for contents of its own has none."""
        arrays = (launch.arrays[fact.array] for fact in self.unit.launch.data)
        return all(array.contents or 0 in array.shape for array in arrays)

    def first_fault(self, bytecode: bytes, requires: tuple[str, ...]) -> Fault | None:
        """A fault of a changed version: where its verdict was `proved` under ``requires``, that was wrong."""
        unit = replace(self.unit, bytecode=bytecode)
        launches = self.launches(requires)
        steps = STEPS * (self.small + self.tiny + self.large) // max(1, len(launches))
        return next((fault for launch in launches for fault in faults(unit, launch, steps)), None)


def _read(text: str) -> Expression:
    try:
        clause = parse_condition(text)
    except SpecError as error:
        raise NotUnderstood(text) from error
    if isinstance(clause, SameArray):
        raise NotUnderstood(text)
    return clause


def _holds(clause: Expression, known: Mapping[str, int]) -> bool:
    try:
        return bool(evaluate(clause, known))
    except Undefined:
        return False
    except KeyError as error:
        raise NotUnderstood(print_expression(clause)) from error


def faults(unit: KernelUnit, launch: ConcreteLaunch, steps: int = STEPS) -> Iterator[Fault]:
    """Every kind of fault that shows when some blocks of ``launch`` run, however far they come in their steps.

    None if the arguments do not fit the ABI.
    """
    module = decode(unit.bytecode, file=str(unit.file))
    entry = entry_of(module, unit)
    budget = Budget(COMPARING)
    try:
        bound = bind_launch(module, entry, unit.parameters, launch)
    except InterpreterStop:
        return
    loops = loops_around(entry.body)
    blocks = some_blocks(launch.grid)
    share = steps // len(blocks)
    logs = [
        run_block(bound.program, bound.arguments, Memory(bound.image), launch.grid, block, Budget(share), apart=True)
        for block in blocks
    ]
    try:
        yield from _alone(bound, launch, logs, loops, budget)
        for first, second in combinations(logs, 2):
            yield from _between(bound, launch, first, second, lambda one, other: False, budget)
        if any(op.attributes.get("ord", "weak") != "weak" for op in loops):
            yield from _in_sequence(bound, launch, share, budget)
    except BudgetSpent:
        return


def _alone(
    bound: BoundLaunch, launch: ConcreteLaunch, logs: Sequence[BlockLog], loops: Mapping[Op, tuple[Op, ...]],
    budget: Budget,
) -> Iterator[Fault]:  # fmt: skip
    for log in logs:
        for event in log.events:
            yield Fault(event.code, launch, (log.block,), f"{event.op} at {event.offset:#x}: {event.message}")
        for code, conflicts in (("TV201", unordered(log, loops, budget)), ("TV202", doubled_lanes(log))):
            for conflict in conflicts:
                yield Fault(code, launch, (log.block,), _described(bound, conflict))


def _between(
    bound: BoundLaunch, launch: ConcreteLaunch, first: BlockLog, second: BlockLog, ordered: Order, budget: Budget
) -> Iterator[Fault]:
    for code in BETWEEN_BLOCKS:
        for conflict in races(code, first.accesses, second.accesses, ordered, budget):
            yield Fault(code, launch, (first.block, second.block), _described(bound, conflict))


def _in_sequence(bound: BoundLaunch, launch: ConcreteLaunch, share: int, budget: Budget) -> Iterator[Fault]:
    """Pairs of blocks on one memory, so that the second sees what the first left there."""
    pairs = list(permutations(some_blocks(launch.grid)[:8], 2))
    for pair in Random(4).sample(pairs, min(SEQUENCES, len(pairs))):
        memory = Memory(bound.image)
        first, second = (
            run_block(bound.program, bound.arguments, memory, launch.grid, block, Budget(share)) for block in pair
        )
        yield from _between(bound, launch, first, second, _observed_order(first, second), budget)


def _observed_order(first: BlockLog, second: BlockLog) -> Order:
    meetings = synchronisations(first, second)
    return lambda earlier, later: any(meeting.orders(earlier, later) for meeting in meetings)


def _described(bound: BoundLaunch, conflict: Conflict) -> str:
    ops = [f"{a.op.name} at {a.op.offset:#x}" for a in (conflict.first, conflict.second) if a is not None]
    return f"{' and '.join(ops)} on {bound.image.origins[conflict.first.origin].element(conflict.address)}"
