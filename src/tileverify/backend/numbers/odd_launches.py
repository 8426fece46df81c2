"""Launches at which something turns that a kernel computes of the launch alone, however it is computed.

A border is a number that the bytecode holds (`trial_launches`).  These need no such number: a word that overflows, a
cast that keeps 16 bits, a condition that one launch in thousands meets.  `launch_integers` computes them for many
launches and blocks, and the cheapest launch of each kind is to be tried.  Where none is small enough, what is stored
hangs on a number that is another one in launches that nobody tried: that is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from ...contract.expressions import GRID_NAMES, Undefined
from ...contract.facts.form import Subject
from ...contract.facts.kinds import subject_of
from ...contract.launch import GRID_MAX, Apply, DataFact, EntryParameter, Expression, LaunchSpec, Name, Role, strides_of
from ...contract.list_terms import list_in_fact
from ...frontend.bytecode.entry_uses import CONSTANT, NOWHERE, ValueOrigin, ValueUse, origins_of, uses_of
from ...frontend.bytecode.model import Entry, Op, Operand, ScalarType, TileType, Value
from ...frontend.bytecode.traverse import walk
from .array_files import Array
from .choose import ContractInNumbers, cost, extent
from .launch_integers import Axes, Launches, computed, evaluated
from .trial_launches import MOST_ELEMENTS, Chosen

BlockOf: TypeAlias = "Callable[[Array], Array]"
"""A block of each launch, along an axis of the grid."""

WITHIN_LIMITS: Final = 1 << 30
"""What sizes, strides and scalars are below in a usual launch."""
MOST_SPANNED: Final = 1 << 31
"""Elements that an array of a usual launch spans, less one."""
SAMPLED: Final = 1 << 16
"""Lanes of launches that are cheap, among which rare ones are looked for."""
LARGEST_SAMPLED: Final = 1 << 11
MOST_RARE: Final = 4
MOST_ODD: Final = 8
MOST_ODD_BLOCKS: Final = 3 << 11
"""Of all launches that are added, together."""
FEW_VALUES: Final = 3
RARE: Final = 1 / 128
_TURNING: Final = frozenset({"cmpi", "cmpf", "andi", "ori", "xori", "divi", "remi", "shri", "select"})
"""Ops of which few numbers come though many go in."""
_BLOCKS: Final = 4
"""Looked at of each launch that is large."""
_RATIO: Final = 1.02
_TRIES: Final = 12


@dataclass(frozen=True, slots=True)
class Narrow:
    """A word that is too narrow for what is stored, in ``values`` and, as far as was seen, no cheaper launch."""

    values: Mapping[str, int]
    line: int | None
    bits: int
    where: str

    def __str__(self) -> str:
        place = "" if self.line is None else f" at line {self.line}"
        return f"{self.bits} bits are too few for the number{place} where {self.where}"


@dataclass(frozen=True, slots=True)
class OddLaunches:
    """``rare``: launches that take ways which few do.  ``narrow``: those beyond the width of a word that must be seen;
    ``hidden``: the same of words that make nothing but addresses, of which the proof speaks."""

    rare: tuple[Mapping[str, int], ...] = ()
    narrow: tuple[Narrow, ...] = ()
    hidden: tuple[Narrow, ...] = ()


def odd_launches(
    entry: Entry, parameters: Sequence[EntryParameter], contract: ContractInNumbers, usual: Mapping[str, int],
    source: np.random.Generator,
) -> OddLaunches:  # fmt: skip
    """What is to be tried beside usual launches, which are like ``usual``."""
    looking = _Looking(entry, parameters, contract, usual, source)
    found = sorted(looking.narrow(), key=lambda each: cost(contract, each[0].values))
    return OddLaunches(
        tuple(looking.rare()),
        tuple(each for each, must in found if must),
        tuple(each for each, must in found if not must),
    )


def with_odd(contract: ContractInNumbers, chosen: Chosen, odd: OddLaunches) -> tuple[Chosen, tuple[Narrow, ...]]:
    """``chosen`` with these launches, the cheapest first, as far as they are small; and the narrow words that must be
    seen, for whoever finds out in the end which launches ran."""
    wanted = [*(each.values for each in (*odd.narrow, *odd.hidden)), *odd.rare]
    elements = blocks = 0
    more: list[Mapping[str, int]] = []
    for values in sorted(wanted, key=lambda values: cost(contract, values)):
        taken = extent(contract, values)
        elements, blocks = elements + taken[0], blocks + taken[1]
        if elements > MOST_ELEMENTS or blocks > MOST_ODD_BLOCKS or len(more) == MOST_ODD:
            break
        if values not in chosen.launches and values not in more:
            more.append(values)
    others = sorted((*chosen.launches[1:], *more), key=lambda values: cost(contract, values))
    return replace(chosen, launches=(*chosen.launches[:1], *others)), odd.narrow


@dataclass(frozen=True, slots=True)
class _Looking:
    entry: Entry
    parameters: Sequence[EntryParameter]
    contract: ContractInNumbers
    usual: Mapping[str, int]
    source: np.random.Generator

    @property
    def roots(self) -> list[str]:
        return [name for name in self.contract.roots if name not in GRID_NAMES and name in self.usual]

    # ------------------------------------------------------------------------------------------ narrow words
    def narrow(self) -> Iterator[tuple[Narrow, bool]]:
        """The cheapest launch for each op whose word is too narrow in some launch, and whether it must be seen."""
        launches = self.large()
        if launches is None:
            return
        bounded = bounded_loads(self.entry, self.parameters, self.contract.spec)
        seen = computed(self.entry, self.parameters, self.contract, launches, bounded)
        uses = uses_of(self.entry)
        allowed, order = self.within_limits(launches), self.costs(launches)
        chosen = np.zeros(launches.count, np.bool_)
        for op, lanes in sorted(seen.narrow.items(), key=lambda each: np.min(order[each[1] & allowed], initial=np.inf)):
            use = uses.get(op.result, NOWHERE)
            must = bool(use & (ValueUse.VALUE | ValueUse.BRANCH | ValueUse.BOUND)) or (
                use is not NOWHERE and _bits(op) < 32
            )
            if use is NOWHERE or (lanes & chosen).any():
                continue
            for lane in self.cheapest(lanes & allowed, order):
                values = {name: int(column[lane]) for name, column in launches.values.items()}
                if self.legal(values):
                    chosen |= np.logical_and.reduce([column == column[lane] for column in launches.values.values()])
                    yield Narrow(values, _line(op), _bits(op), self.words(values, launches, lane)), must
                    break

    def large(self) -> Launches | None:
        """Each root at numbers of every size, and all sizes together; a few blocks of each launch."""
        steps = np.unique(np.floor(_RATIO ** np.arange(0, np.log(WITHIN_LIMITS) / np.log(_RATIO))).astype(np.int64))
        powers = np.asarray([(1 << power) + beside for power in range(31) for beside in (-1, 0, 1)])
        edges = np.asarray([round(2 ** (width / root)) + beside for width in (15, 16, 31, 32) for root in (2, 3, 4)
                            for beside in (0, 1)])  # fmt: skip
        sizes = np.unique(np.concatenate([steps, powers, edges]))
        sizes = sizes[(sizes > 0) & (sizes < WITHIN_LIMITS)]
        together = [name for name in self.roots if name not in self.contract.scalars]
        groups = [(name,) for name in self.roots] + ([tuple(together)] if len(together) > 1 else [])
        columns: dict[str, list[Array]] = {name: [] for name in self.roots}
        for group in groups:
            for sign in (1, -1) if set(group) <= set(self.contract.scalars) else (1,):
                for name, parts in columns.items():
                    parts.append(sign * sizes if name in group else np.full(len(sizes), self.usual[name]))
        if not groups:
            return None
        values = {name: np.repeat(np.concatenate(parts), _BLOCKS) for name, parts in columns.items()}
        count = len(next(iter(values.values())))
        kind = np.arange(count) % _BLOCKS
        return self.launches(values, lambda grid: np.select(
            [kind == 0, kind == 1, kind == 2],
            [np.zeros(count, np.int64), grid - 1, np.minimum(1 << self.source.integers(0, 25, count), grid - 1)],
            self.source.integers(0, np.maximum(grid, 1)),
        ))  # fmt: skip

    # ------------------------------------------------------------------------------------------ rare ways
    def rare(self) -> Iterator[Mapping[str, int]]:
        """The cheapest launch for each number, of few that an op gives, which few launches lead to."""
        launches = self.cheap()
        if launches is None:
            return
        seen, uses = computed(self.entry, self.parameters, self.contract, launches), uses_of(self.entry)
        allowed, order = self.within_limits(launches), self.costs(launches)
        told: list[Mapping[str, int]] = []
        for op, numbers in seen.lanes.items():
            reached = seen.reached[op] & allowed
            turning = numbers.launched and op.name in _TURNING
            if not turning or uses.get(op.result, NOWHERE) is NOWHERE or not reached.any():
                continue
            found, counts = np.unique(numbers.held[reached], return_counts=True)
            if len(found) > FEW_VALUES or numbers.held.dtype.kind == "f":
                continue
            for number, count in zip(found, counts, strict=True):
                if count > RARE * reached.sum():
                    continue
                for lane in self.cheapest(reached & (numbers.held == number), order):
                    values = {name: int(column[lane]) for name, column in launches.values.items()}
                    if self.legal(values):
                        told += [values] if values not in told else []
                        break
        yield from told[:MOST_RARE]

    def cheap(self) -> Launches | None:
        """Sizes up to some thousands, small ones as often as large ones, and scalars of any size."""
        if not self.roots or not launch_steps(self.entry):
            return None
        values = {}
        for name in self.roots:
            small = np.floor(2.0 ** self.source.uniform(0, np.log2(LARGEST_SAMPLED), SAMPLED)).astype(np.int64)
            if name in self.contract.scalars:
                small = small * self.source.choice([-1, 1], SAMPLED)
            elif len(self.roots) == 1:
                small = 1 + np.arange(SAMPLED)
            values[name] = small
        usual = self.source.random(SAMPLED) < 0.25 if len(self.roots) > 1 else np.zeros(SAMPLED, np.bool_)
        kept = self.source.integers(0, len(self.roots), SAMPLED)
        for number, name in enumerate(self.roots):
            values[name] = np.where(usual & (kept != number), self.usual[name], values[name])
        return self.launches(values, lambda grid: np.where(
            self.source.random(SAMPLED) < 0.25, grid - 1, self.source.integers(0, np.maximum(grid, 1))
        ))  # fmt: skip

    # ------------------------------------------------------------------------------------------ launches
    def launches(self, values: Mapping[str, Array], block: BlockOf) -> Launches | None:
        """With the grid of each, and a block of it."""
        count = len(next(iter(values.values())))
        values = dict(values)
        grid = []
        for number, name in enumerate(GRID_NAMES):
            axis = self.axis(number, name, values, count)
            if axis is None:
                return None
            if self.contract.spec.grid is None:
                values[name] = axis
            grid.append(np.clip(axis, 1, GRID_MAX))
        axes: Axes = (grid[0], grid[1], grid[2])
        return Launches(values, (block(axes[0]), block(axes[1]), block(axes[2])), axes, self.source)

    def axis(self, number: int, name: str, values: Mapping[str, Array], count: int) -> Array | None:
        """An axis that the contract leaves open is as long as its clauses let it be."""
        try:
            if self.contract.spec.grid is not None:
                return np.broadcast_to(evaluated(self.contract.grid[number], values), (count,))
            axis = np.full(count, self.usual.get(name, 1))
            for condition in self.contract.conditions:
                match condition.expression:
                    case Apply("<=", (Name(bounded), bound)) | Apply(">=", (bound, Name(bounded))) if bounded == name:
                        axis = np.broadcast_to(np.maximum(evaluated(bound, values), 1), (count,))
            return axis
        except Undefined:
            return None

    def within_limits(self, launches: Launches) -> Array:
        """What any card may be asked for: a grid that there is, and arrays of fewer than 2^31 elements."""
        allowed = np.ones(launches.count, np.bool_)
        for number, name in enumerate(GRID_NAMES):
            axis = self.axis(number, name, launches.values, launches.count)
            assert axis is not None
            allowed &= (axis >= 1) & (axis <= GRID_MAX)
        for array in self.contract.spec.arrays():
            spanned = np.ones(launches.count)
            for size, stride in zip(array.shape, strides_of(array), strict=True):
                extent, step = (self.numbers(each, launches) for each in (size, stride))
                spanned += np.maximum(extent - 1, 0) * np.abs(step)
                allowed &= extent >= 1
            allowed &= spanned < MOST_SPANNED
        return allowed

    def numbers(self, expression: Expression, launches: Launches) -> Array:
        try:
            found = evaluated(self.contract.resolved(expression), launches.values).astype(np.float64)
        except Undefined:
            return np.ones(launches.count)
        return np.broadcast_to(found, (launches.count,))

    def costs(self, launches: Launches) -> Array:
        """As `extents.cost` has it."""
        elements = np.zeros(launches.count)
        for array in self.contract.spec.arrays():
            elements += np.multiply.reduce([np.ones(launches.count), *(self.numbers(s, launches) for s in array.shape)])
        blocks = np.multiply.reduce([axis.astype(np.float64) for axis in launches.grid])
        return np.asarray(elements + 64 * blocks)

    def cheapest(self, lanes: Array, costs: Array) -> Array:
        places = np.flatnonzero(lanes)
        return places[np.argsort(costs[places], kind="stable")][:_TRIES]

    def legal(self, values: Mapping[str, int]) -> bool:
        return not any(condition.broken_by(values) for condition in self.contract.conditions)

    def words(self, values: Mapping[str, int], launches: Launches, lane: int) -> str:
        sizes = ", ".join(f"{name} = {value}" for name, value in values.items())
        block = ", ".join(str(int(axis[lane])) for axis in launches.block)
        return f"{sizes}, block ({block})"


def _bits(op: Op) -> int:
    """The narrower of what the op takes and gives."""
    values = [op.result, *(each for each in op.operands.values() if isinstance(each, Value))]
    kinds = [each.type.element for each in values if isinstance(each.type, TileType)]
    return min((kind.bits for kind in kinds if isinstance(kind, ScalarType) and kind.bits > 1), default=1)


def _line(op: Op) -> int | None:
    return None if op.location is None else op.location.line


# --------------------------------------------------------------------------------------------------------- launch steps
# Ops that make an integer of the launch alone by which no law goes on: remainders, quotients by what is no constant,
# shifts, bits, casts to narrower words, and whether such or a product is one number.
#
# What is right at a few launches says nothing of others there: ``1 // (1 + (m * m + 3 * n * n) % 10007)`` is 0 in
# nearly all of them.  Sums, products and the quotient of a sum by a constant are left out: their borders are tried
# (`odd_launches`).


STEPPING: Final = frozenset({"remi", "divi", "shri", "andi", "ori", "xori", "mulhii", "trunci", "exti", "cmpi"})
_STEERING: Final = ValueUse.BRANCH | ValueUse.BOUND


@lru_cache(maxsize=64)
def launch_steps(entry: Entry) -> frozenset[Op]:
    """Those ops, wherever their results go."""
    origins = origins_of(entry)
    bent: set[Value] = set()
    found: set[Op] = set()
    for op in walk(entry.body):
        operands = [value for value in op.operands.values() if isinstance(value, Value)]
        made_of = [origins.get(value, CONSTANT) for value in operands]
        if (
            op.regions
            or not any(ValueOrigin.LAUNCH in each for each in made_of)
            or ValueOrigin.CONTENTS in _joined(made_of)
        ):
            continue
        of_bent = not bent.isdisjoint(operands)
        if op.name in STEPPING and _steps(op, made_of, of_bent):
            found.add(op)
            of_bent = True
        if of_bent or (op.name == "muli" and all(each is not CONSTANT for each in made_of)):
            bent.update(op.results)
    return frozenset(found)


@lru_cache(maxsize=64)
def steered_by_steps(entry: Entry) -> bool:
    """Whether a branch or the rounds of a loop hang on such an op; or an address on one that is 0 or 1."""
    uses, origins = uses_of(entry), origins_of(entry)
    steps = launch_steps(entry)
    return any(
        uses.get(op.result, NOWHERE) & (ValueUse.BRANCH if op.name == "cmpi" else _STEERING)
        or (op.result in uses and op.name == "divi" and op.value("lhs") not in origins)
        or (op.result in uses and op.name == "exti")
        for op in steps
    )


def _joined(origins: list[ValueOrigin]) -> ValueOrigin:
    whole = CONSTANT
    for each in origins:
        whole |= each
    return whole


def _steps(op: Op, made_of: list[ValueOrigin], of_bent: bool) -> bool:
    match op.name:
        case "divi":
            return of_bent or made_of[1] is not CONSTANT
        case "andi" | "ori" | "xori":
            return _word(op.result) > 1
        case "exti":  # a condition as a number
            return of_bent and _word(op.value("s")) == 1
        case "cmpi":  # most ask whether an index is inside
            return of_bent and op.attributes["pred"] in ("equal", "not_equal")
        case "trunci":
            return _word(op.result) < 32
    return True


def _word(value: Value) -> int:
    element = value.type.element if isinstance(value.type, TileType) else None
    return element.bits if isinstance(element, ScalarType) else 0


# -------------------------------------------------------------------------------------------------------- bounded loads
# Loads of integers that a `range` fact bounds: what they give is a number of the launch, up to a size of it.


_POINTING: Final = {
    "make_tensor_view": "base", "make_partition_view": "s", "make_gather_scatter_view": "s", "make_strided_view": "s",
    "offset": "ptr", "broadcast": "s", "reshape": "s", "assume": "s",
}  # fmt: skip
"""Ops whose result leads to the array of one operand."""


def bounded_loads(entry: Entry, parameters: Sequence[EntryParameter], spec: LaunchSpec) -> dict[Op, DataFact]:
    """The fact that bounds what each such load gives, where it is an integer."""
    lists = {listed.name for listed in spec.lists()}
    bounds = (fact for fact in (*spec.observed, *spec.data) if subject_of(fact) is Subject.LIMITS and not fact.unless)
    facts = {fact.array: fact for fact in bounds if list_in_fact(fact, lists) is None}
    return dict(_bounded(entry, parameters, facts)) if facts else {}


def _read_through(op: Op) -> Operand:
    """The pointers or the view that a load reads through."""
    return op.operands[op.declaration.address] if op.declaration.loads and op.declaration.address else None


def _bounded(
    entry: Entry, parameters: Sequence[EntryParameter], facts: dict[str, DataFact]
) -> Iterator[tuple[Op, DataFact]]:
    leads_to: dict[Value, str] = {
        value: parameter.argument
        for value, parameter in zip(entry.parameters, parameters, strict=True)
        if parameter.role is Role.POINTER
    }
    for op in walk(entry.body):
        if (operand := op.operands.get(_POINTING.get(op.name, ""))) in leads_to:
            leads_to[op.results[0]] = leads_to[operand]
        elif (operand := _read_through(op)) in leads_to and leads_to[operand] in facts:
            kind = op.results[0].type
            if isinstance(kind, TileType) and isinstance(kind.element, ScalarType) and not kind.element.is_float:
                yield op, facts[leads_to[operand]]
