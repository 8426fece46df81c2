"""Values of a kernel that change nothing: what an op computes is moved, and the launch is run again.

Where an op may give any other number and every result stays as it was, nobody saw what it is for.  It asks for a case
that no contents met (``1e-6 - d * d > 0``, ``((d | -d) >> 31) + 1``), or it cancels out over the real numbers and
leaves its rounding in floats (``(2 * a + v) - v``).  A kernel that does what it says has next to none: the ops by which
a compiler makes Python's remainder of the machine's are left out (`floor_remainders`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ..backend.interpreter import Budget, BudgetSpent, InterpreterStop
from ..backend.interpreter.machine import uniform_ops
from ..backend.interpreter.values import Tile
from ..backend.numbers.choose import ContractInNumbers
from ..backend.numbers.trial_launches import Constants
from ..frontend.bytecode.model import Entry, Op, ScalarType, TileType, Value
from ..frontend.bytecode.traverse import operands, walk
from ..system.errors import UsageError
from . import exact
from .branches import WaysTaken, line_of
from .decision_points import NATURES, Nature, floor_remainders, of_numbers
from .exact import NUMBER
from .field import LEVELS, MODULI, Array, NearTie, level
from .launch_outcomes import matched
from .op_rules import ExactKernel, run_once
from .points import Options, TrialPoint, drawn_point
from .primitives import is_numbers

if TYPE_CHECKING:
    from ..backend.interpreter.machine import BlockInterpreter, Result, Rule

_MOVES: Final = ((-3.0, 1e5), (3.0, -1e5))
"""About how far a number is moved, an integer by 1 to 3 and by 2^6 to 2^30: at the first point by all of these, at
others by one or the other pair.  Of a condition half of the lanes are the other way round."""
_FAR: Final = 64
_LONGER: Final = 8
"""Times what a launch takes: one that takes more is another one."""
_COMPUTING: Final = (Nature.SMOOTH, Nature.ASKING, Nature.STEPPED, Nature.INTEGER)
_FILLINGS: Final = ("normal", "borders", "positive")
_STEPS: Final = 16
"""Times those of all launches: what it takes where many ops change nothing; else it is a small part of that."""
_FEWEST: Final = 2
"""Points at which an op has to change nothing, and rounds of its loops."""
_GIVEN: Final = frozenset({"ftof", "exti", "trunci"})
_FOR_THE_HOST: Final = frozenset({"assert", "print_tko"})


@dataclass(frozen=True, slots=True)
class Idle:
    """``lines``: ops that changed nothing wherever they were run, by line, in words; ``open``: how many ops may do so
    too, as there was no time for them, or their loop was never in a second round."""

    lines: tuple[str, ...] = ()
    open: int = 0

    def left_out(self) -> list[str]:
        why = "beyond the budget, or no loop of theirs had two rounds"
        return [f"whether {self.open} ops change anything ({why})"] if self.open else []


@dataclass(slots=True)
class _Moved:
    """One op whose results are others than it computes."""

    op: Op
    by: float
    source: np.random.Generator
    ran: bool = False

    def rules(self, rules: Mapping[str, Rule]) -> dict[str, Rule]:
        return {**rules, self.op.name: self._moving(rules[self.op.name])}

    def _moving(self, rule: Rule) -> Rule:
        def moving(run: BlockInterpreter, op: Op) -> Result:
            found = rule(run, op)
            if op is not self.op:
                return found
            self.ran = True
            if isinstance(found, tuple):
                return tuple(self._tile(each) if isinstance(each, Tile) else each for each in found)
            return self._tile(found) if isinstance(found, Tile) else found

        return moving

    def _tile(self, tile: Tile) -> Tile:
        if is_numbers(tile.data):
            return Tile(exact.add(np.asarray(tile.data), self._numbers(tile.data.shape)), tile.taint)
        if tile.data.dtype == np.bool_:
            half = self.source.random(tile.data.shape) < (1.0 if tile.data.size == 1 else 0.5)
            return Tile(np.asarray(tile.data ^ half), tile.taint)
        steps = self.source.integers(1, 4, tile.data.shape)
        if abs(self.by) > _FAR:
            steps = steps << self.source.integers(6, 28, tile.data.shape)
        far = np.asarray(steps if self.by > 0 else -steps).astype(np.int64)
        return Tile(np.asarray(tile.data + far.astype(tile.data.dtype)), tile.taint)

    def _numbers(self, shape: tuple[int, ...]) -> Array:
        """Residues that nothing else has, and shadows of one sign."""
        found = np.zeros(shape, NUMBER)
        found["s"] = self.by * self.source.uniform(0.3, 1.7, shape)
        found["n"] = 1
        for number in range(LEVELS):
            slots = level(number)
            found["r"][..., slots] = self.source.integers(0, MODULI[number], (*shape, slots.stop - slots.start))
        return found


def movable(entry: Entry) -> list[Op]:
    """The ops that compute something of what the launch brings; not those inside of a reduction."""
    ops = list(walk(entry.body))
    inner = {each for op in ops if op.declaration.body == "combination" for each in walk(op.regions[0].blocks[0])}
    left_out = inner | floor_remainders(entry) | _without_use(ops, uniform_ops(entry))
    fixed = of_numbers(ops, and_lanes=True)
    return [
        op
        for op in ops
        if NATURES.get(op.name) in _COMPUTING or op.name == "scan"
        # A maximum or minimum gives one of its operands, and `WaysTaken` tells which one.
        if op.declaration.algebra not in ("maximum", "minimum") and op.name not in _GIVEN and op not in left_out
        if op.results and fixed.isdisjoint(op.results) and _is_scalar(op)
    ]


def _without_use(ops: Sequence[Op], uniform: frozenset[Op]) -> set[Op]:
    """Ops that lead to nothing but what the host hears (`_FOR_THE_HOST`), and of the ``uniform`` ones those
    that lead to conditions of an ``if`` alone: two ways to one result that sizes and scalars choose are no secret."""
    choices = (op for op in ops if op.name == "if")
    around = {region.blocks[0].terminator: choice for choice in choices for region in choice.regions}
    found: set[Op] = set()
    used, beside_conditions = set[Value](), set[Value]()
    for op in reversed(ops):
        taken = set(operands(op))
        if op.name == "if":
            used |= taken
        elif op in around and op.name == "yield":
            handed = list(zip(operands(op), around[op].results, strict=True))
            for known in (used, beside_conditions):
                known |= {value for value, result in handed if result in known}
        elif op.name in _FOR_THE_HOST:
            continue
        elif (op.regions and op.declaration.body != "combination") or not op.results or op.declaration.effect != "none":
            used |= taken
            beside_conditions |= taken
        else:
            beside = not beside_conditions.isdisjoint(op.results)
            beside_conditions |= taken if beside else set()
            if used.isdisjoint(op.results) or (op in uniform and not beside):
                found.add(op)
            used |= taken if used.intersection(op.results) else set()
    return found


def _is_scalar(op: Op) -> bool:
    kind = op.results[0].type
    return isinstance(kind, TileType) and isinstance(kind.element, ScalarType)


def idle_ops(kernel: ExactKernel, points: Iterable[TrialPoint], budget: Budget) -> Idle:
    """Those whose results may be any others at all of ``points``, of which the most telling come first."""
    left, met, judged, rounds = movable(kernel.entry), set[Op](), 0, dict[Op, int]()
    for point in points:
        if not left:
            break
        try:
            here = _Launched.of(kernel, point, budget)
            moves = _MOVES[judged % 2] if judged else (*_MOVES[1], *_MOVES[0])
            matters = {op: here.matters(op, moves) for op in left}
        except BudgetSpent:
            if judged < _FEWEST:
                return Idle(open=len(left))
            break
        except InterpreterStop:
            continue
        judged += 1
        met |= {op for op, changes in matters.items() if changes is not None}
        left = [op for op in left if not matters[op]]
        rounds |= {loop: max(count, rounds.get(loop, 0)) for loop, count in here.rounds.items()}
    once = {each for loop, count in rounds.items() if count < _FEWEST for each in walk(loop.regions[0].blocks[0])}
    idle = [op for op in left if op in met and op not in once]
    return Idle(tuple(_by_line(idle)), len(met.intersection(left)) - len(idle))


def idle_of(
    kernel: ExactKernel,
    contract: ContractInNumbers,
    taken: Sequence[tuple[int, Mapping[str, int]]],
    known: Constants,
    options: Options,
) -> Idle:
    """Of a kernel whose launches ``taken``, each with its steps, agreed with a reference; contents that were given
    are no sample, so nothing follows."""
    if options.inputs is not None:
        return Idle()
    return idle_ops(kernel, _telling(contract, taken, known, options.seed), Budget(options.steps * _STEPS))


def _telling(
    contract: ContractInNumbers, taken: Sequence[tuple[int, Mapping[str, int]]], known: Constants, seed: int
) -> Iterator[TrialPoint]:
    """Of launches with the steps that each takes: one in the middle, the longest, and the shortest."""
    ordered = [values for _, values in sorted(taken, key=lambda launch: launch[0])]
    chosen = [ordered[place] for place in dict.fromkeys((len(ordered) // 2, len(ordered) - 1, 0))] if ordered else []
    for filling in _FILLINGS:
        for place, values in enumerate(chosen):
            try:
                yield drawn_point(contract, values, filling, known, seed * len(chosen) + place)
            except UsageError:
                continue


@dataclass(frozen=True, slots=True)
class _Launched:
    """A launch with its contents and what it left: the memory, the rounds of its loops, and the steps that it took."""

    kernel: ExactKernel
    point: TrialPoint
    budget: Budget
    memory: Mapping[str, Array]
    rounds: Mapping[Op, int]
    steps: int

    @classmethod
    def of(cls, kernel: ExactKernel, point: TrialPoint, budget: Budget) -> _Launched:
        had, plain = budget.left, replace(kernel, ways=WaysTaken())
        memory = _run(plain, point, budget)
        return cls(kernel, point, budget, memory, plain.ways.loop_rounds, had - budget.left)

    def matters(self, op: Op, moves: Sequence[float]) -> bool | None:
        """Whether something changes where ``op`` gives other results; None where it was not run, or cannot be told."""
        found: bool | None = None
        most = _LONGER * self.steps
        for number, by in enumerate(moves):
            moved = _Moved(op, by, np.random.default_rng(number))
            changed = replace(self.kernel, rules=moved.rules(self.kernel.rules), ways=WaysTaken())
            try:
                after = _run(changed, self.point, self.budget.part(most))
            except BudgetSpent:
                if self.budget.left < most:
                    raise
                return True
            except NearTie:
                continue
            except InterpreterStop:
                return True
            if not moved.ran:
                return None
            if any(_differ(held, self.memory[name]) for name, held in after.items()):
                return True
            found = False
        return found


def _run(kernel: ExactKernel, point: TrialPoint, budget: Budget) -> dict[str, Array]:
    with np.errstate(all="ignore"):
        return run_once(kernel, point.inputs, point.contents, point.floats, budget)


def _differ(one: Array, other: Array) -> bool:
    """Whether an element is another number, as far as laws of numbers say so."""
    if not is_numbers(one):
        return one.tobytes() != other.tobytes()
    finite = np.isfinite(one["s"])
    if (finite != np.isfinite(other["s"])).any():
        return True
    return bool((matched(one, other)[finite] <= 0).any())


def _by_line(ops: Sequence[Op]) -> Iterator[str]:
    lines: dict[int | None, list[str]] = {}
    for op in ops:
        lines.setdefault(line_of(op), []).append(op.name)
    for line, names in lines.items():
        told = ", ".join(dict.fromkeys(names))
        yield f"line {line} ({told})" if line is not None else f"code without a line ({told})"
