"""Witnesses: a small launch that breaks an obligation, as the replay confirmed it, made smaller, as people read it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise, permutations
from math import prod
from typing import Final, Generic, Protocol, TypeVar

from ...contract import terms as t
from ...contract.contract import Contract, array_layout
from ...contract.facts.contents import WIDE
from ...contract.facts.statements import DataTerm
from ...contract.launch import ConcreteLaunch, LaunchSpec
from ...contract.terms import Scope, Term, TermKind
from ...contract.variables import GRID
from ...frontend.symbolic.summary import Origin
from ...results.claim import Claim, Confirm, Confirmation
from ...results.codes import BOUNDS, CONFLICTS
from ..budgets import SMALLER_LIMITS, SMALLER_TOTAL
from ..obligations.answers import Answer, Model
from ..obligations.fact_use import loaded_values
from ..obligations.footprint_overlap import PRIME, CopyLevel, PrimedCopy, overlap_distance
from ..obligations.limits import SMALL, USUAL
from ..obligations.obligations import Obligation
from ..obligations.prepare import contract_values
from ..smt import Solver
from .described import DescribedNumbers, NoLaunch, block_ids, concrete_claim, concrete_launch, numbered_facts
from .sampled_contents import SPACIOUS, SampledContents, TurningPoints, marks, possible, room, settled

SIZE_BOUNDS = (8, 40, 300, 1100, 5000, 2**17, 2**24, None)
"""Witnesses are looked for among small launches first: people read them, and the replay runs them."""

GRID_BOUNDS = (4, 8, 64, 1024, 2**14, 2**17, 2**24, None)

MAX_REPLAYS = 3


@dataclass(frozen=True, slots=True)
class FoundWitness:
    """A confirmed witness.  ``elsewhere``: other contents and blocks are at fault than those of the model."""

    launch: ConcreteLaunch
    claim: Claim
    confirmation: Confirmation
    model: Model
    elsewhere: bool = False

    @property
    def steps(self) -> int:
        return self.confirmation.steps

    @property
    def size(self) -> tuple[int, int]:
        """Blocks, and the sum of all sizes and scalars: what makes one witness smaller than another."""
        arrays = (*self.launch.arrays.values(), *chain(*self.launch.lists.values()))
        sizes = sum(sum(array.shape) for array in arrays)
        return prod(self.launch.grid), sizes + sum(map(abs, self.launch.scalars.values()))

    @property
    def ops(self) -> frozenset[int]:
        """The bytecode offsets of the ops that the replay saw at fault."""
        return frozenset(touch.offset for touch in (self.confirmation.first, self.confirmation.second) if touch)

    @property
    def as_claimed(self) -> bool:
        """Whether those are the ops that the solver meant."""
        return self.ops == {offset for offset in (self.claim.offset_a, self.claim.offset_b) if offset is not None}


@dataclass
class Search:
    """Looks for a small launch that breaks ``obligation`` and that the replay confirms.

    ``varied``: index arrays whose contents must not matter: the fault has to show with various ones that keep the
    contract's facts, which have to bound them where the fault is no race.  ``doubted``: index arrays whose contents
    the question fixes; those that can be tried instead must show the fault, too.  ``reach``: how far the accesses reach
    from where these values put them.  ``limits``: of the largest launches.  ``candidate``: whether there was any model.
    """

    obligation: Obligation
    conditions: tuple[Term, ...]
    eliminated: Mapping[Term, Term]
    contract: Contract
    launch: LaunchSpec
    origins: Mapping[str, Origin]
    solver: Solver
    varied: frozenset[str] = frozenset()
    doubted: frozenset[str] = frozenset()
    reach: Mapping[str, TurningPoints] = field(default_factory=dict)
    limits: tuple[Term, ...] = ()
    candidate: bool = False
    _words: tuple[Term, ...] = field(init=False)
    _nested: tuple[Term, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._words = tuple(_list_words(self.conditions, self.contract))
        sites = (site for site in (self.obligation.first, self.obligation.second) if site is not None)
        listed = [site.origin for site in sites if site.origin.name in self.contract.lists]
        promised = [(each.shape, each.strides) for each in listed if each.name in self.contract.injective]
        self._nested = nested_layouts(self.contract, promised)

    def run(self, confirm: Confirm) -> FoundWitness | None:
        if not self.varied | self.doubted <= self.contract.arrays.keys():
            return None  # nobody described an array whose contents matter: no launch can be made
        found = self._first(confirm)
        if found is None:
            return None if self.candidate else self._in_the_launch(confirm)
        return self._minimised(found, confirm)

    def _in_the_launch(self, confirm: Confirm) -> FoundWitness | None:
        """The one launch of a contract of numbers, at fault in any block, where the solver has no model of it.

        Not where contents have a part in it that the launch does not settle.
        """
        values, model = contract_values(self.contract), Model({}, {})
        free = any(size.sort is t.Sort.INT for size in self.contract.variables)
        if free or not all(grid in values for grid in GRID):
            return None
        launch, loaded = self._launch(model), loaded_values(self.conditions)
        if launch is None or not loaded.keys() <= launch.arrays.keys():
            return None
        facts = numbered_facts(DescribedNumbers(model), self.contract, launch.lists) if loaded else []
        if not all(settled(launch.arrays[name], facts, name) for name in loaded):
            return None
        return self._elsewhere(launch, concrete_claim(self.obligation, model), model, confirm)

    def _first(self, confirm: Confirm) -> FoundWitness | None:
        """In layouts that are nested, if there are launches with such; else, and where none is found, in any."""
        rooms = self._rooms()
        if self._nested:
            nested = [(*room, *self._nested) for room in rooms]
            found = self._first_of([room for room in nested if self._has_launch(room)], confirm)
            if found is not None:
                return found
            self._nested = ()
        return self._first_of(rooms, confirm)

    def _first_of(self, rooms: Sequence[tuple[Term, ...]], confirm: Confirm) -> FoundWitness | None:
        return next(filter(None, (self._first_in(room, confirm) for room in rooms)), None)

    def _rooms(self) -> list[tuple[Term, ...]]:
        """What is asked of the contents of arrays, in turn.

        Values that cannot keep a distance make races of their own; bounds are hurt most where every value is taken.
        Where the contract has no such launch, its facts leave the contents no choice in any.
        """
        possible, arrays = tuple(self._possible()), self.varied | self.doubted
        if not arrays:
            return [possible]
        tight = (False,) if self.obligation.code in CONFLICTS else (True, False)
        rooms = [(*possible, *self._room(arrays, tight=each)) for each in tight]
        allowed = [room for room in rooms if self._has_launch(room)]
        if self.obligation.code in CONFLICTS:
            space = tuple(self._space(arrays))
            allowed = [wide if self._has_launch(wide := (*room, *space)) else room for room in allowed]
        return allowed or [possible]

    def _has_launch(self, conditions: Sequence[Term]) -> bool:
        return self.solver.decide(conditions).answer is not Answer.UNSATISFIABLE

    def _first_in(self, room: tuple[Term, ...], confirm: Confirm) -> FoundWitness | None:
        attempts = 0
        asked: set[frozenset[Term]] = set()
        for size_bound, grid_bound in zip(SIZE_BOUNDS, GRID_BOUNDS, strict=True):
            limited = [*self.conditions, *room, *self._small(size_bound, grid_bound)]
            if frozenset(limited) in asked:
                continue  # a contract of numbers has one size
            asked.add(frozenset(limited))
            result = self.solver.decide(limited, twins=self.obligation.twins, model=True)
            if result.answer is not Answer.SATISFIABLE or result.model is None:
                continue
            self.candidate = True
            found = self._confirmed(result.model, confirm)
            if found is not None and not self._escapes(found, confirm):
                return found
            attempts += 1
            if attempts == MAX_REPLAYS:
                break
            if self.varied or self.doubted:
                room = (*room, *self._larger(result.model))
        return None

    def _larger(self, model: Model) -> Iterator[Term]:
        """Another launch: in those sizes the contents had a choice that left the fault out."""
        number = DescribedNumbers(model)
        sizes = [size for size in self.contract.variables if size.sort is t.Sort.INT]
        if sizes:
            yield t.or_(*(t.lt(t.const(number(size)), size) for size in sizes))

    def _small(self, size_bound: int | None, grid_bound: int | None) -> Iterator[Term]:
        values = contract_values(self.contract)
        if size_bound is None:
            yield from self.limits
        for size in (*self.contract.variables, *self._words):
            if size_bound is not None and size.sort is t.Sort.INT:
                yield t.le(size, t.const(size_bound))
        if grid_bound is not None:
            for grid in GRID:
                term = values.get(grid, grid)
                if term.kind is not TermKind.CONST:
                    yield t.le(term, t.const(grid_bound))

    def _possible(self) -> Iterator[Term]:
        """There are contents that keep the contract's facts."""
        values = contract_values(self.contract)
        for name in sorted({data.fact.array for data in self.contract.data}):
            yield from (t.substitute(term, values) for term in possible(*self._facts_of(name)))

    def _room(self, arrays: frozenset[str], *, tight: bool) -> Iterator[Term]:
        """The contents of these arrays may vary."""
        values = contract_values(self.contract)
        for name in sorted(arrays):
            wanted = room(*self._facts_of(name), self._reach(name).values, tight=tight)
            yield from (t.substitute(term, values) for term in wanted)

    def _space(self, arrays: frozenset[str]) -> Iterator[Term]:
        """The array at stake has places enough for whatever these arrays hold."""
        values, site = contract_values(self.contract), self.obligation.first
        if site is None or not site.origin.shape:
            return
        for name in sorted(arrays):
            wanted = t.scale(max(self._reach(name).places, SPACIOUS), t.product(self._facts_of(name)[0]))
            yield t.substitute(t.le(wanted, t.product(site.origin.shape)), values)

    def _reach(self, name: str) -> TurningPoints:
        return self.reach.get(name, TurningPoints())

    def _facts_of(self, name: str) -> tuple[tuple[Term, ...], list[DataTerm]]:
        """The sizes of an array, and what the contract says of its contents."""
        shape, _ = array_layout(self.contract.arrays[name])
        return shape, [data for data in self.contract.data if data.fact.array == name]

    def _confirmed(self, model: Model, confirm: Confirm) -> FoundWitness | None:
        """The witness of a model, if it has a launch and the replay sees the fault there."""
        for variable, equal in reversed(list(self.eliminated.items())):
            model.variables[variable] = DescribedNumbers(model)[equal]
        claim = concrete_claim(self.obligation, model)
        launch = self._launch(model)
        confirmation = None if launch is None else confirm(launch, claim)
        if not self.varied:
            if launch is None:
                return None
            if confirmation is not None:
                return FoundWitness(launch, claim, confirmation, model)
            return self._elsewhere(launch, claim, model, confirm)
        sizes = launch or self._launch(model, without=self.varied)
        if sizes is None:
            return None
        shown = self._variety(sizes, self.varied, model).shows(claim, confirm)
        if shown is None:
            return None
        if launch is None or confirmation is None:
            return FoundWitness(shown.launch, shown.claim, shown.confirmation, model, elsewhere=True)
        steps = confirmation.steps + shown.confirmation.steps
        return FoundWitness(launch, claim, replace(confirmation, steps=steps), model)

    def _variety(self, launch: ConcreteLaunch, arrays: frozenset[str], model: Model) -> SampledContents:
        facts = numbered_facts(DescribedNumbers(model), self.contract, launch.lists)
        far = max((self._reach(name).values for name in arrays), default=0)
        return SampledContents(
            launch,
            arrays,
            facts,
            self._leading_outside(arrays),
            race=self.obligation.code in CONFLICTS,
            far=max(far, WIDE),
            marks=marks(self.conditions),
        )

    def _leading_outside(self, arrays: frozenset[str]) -> frozenset[str]:
        """Those of the arrays that have a part in where an access goes that leaves an array: any value may.

        Of others hangs whether the access is made, not whether it is outside.
        """
        if self.obligation.code in CONFLICTS:
            return frozenset()
        arrays = frozenset(name for name in arrays if self.contract.arrays[name].dtype != "bool")  # 0 or 1 anyway
        # The last condition about bounds says that the access is outside, those before it that it is made.
        if self.obligation.code not in BOUNDS:
            return arrays
        outside = self.obligation.conditions[-1]
        if any(leaf.kind is TermKind.APPLY and leaf.function.array is None for leaf in outside.free):
            return arrays  # what loops hand on may come from anywhere
        return arrays & loaded_values([outside]).keys()

    def _escapes(self, found: FoundWitness, confirm: Confirm) -> bool:
        """Whether other contents of ``doubted`` arrays get the same launch past the fault."""
        if not self.doubted:
            return False
        return self._variety(found.launch, self.doubted, found.model).escapes(found.claim, confirm)

    def _elsewhere(self, launch: ConcreteLaunch, claim: Claim, model: Model, confirm: Confirm) -> FoundWitness | None:
        """The claimed ops at fault in other blocks of the launch: which ones go on is not for the solver to know."""
        shown = confirm.anywhere(launch, claim)
        if shown.confirmation is None:
            return None
        found = FoundWitness(launch, shown.claim, shown.confirmation, model, elsewhere=True)
        return found if found.as_claimed else None

    def _launch(self, model: Model, *, without: Collection[str] = frozenset()) -> ConcreteLaunch | None:
        """The launch of a model, if it has one; ``without`` the contents of some arrays where they keep no facts."""
        try:
            return concrete_launch(model, self.contract, self.launch, self.origins, without=without)
        except NoLaunch:
            return None

    # ------------------------------------------------------------------------------------- minimising
    def _minimised(self, found: FoundWitness, confirm: Confirm) -> FoundWitness:
        facts = (*self.solver.facts, *self.conditions, *self._nested)
        solver = Solver(facts, SMALLER_LIMITS, self.solver.deadline, solver_context=self.solver.solver_context)
        minimiser = Minimiser(
            found,
            solver,
            lambda model, term: DescribedNumbers(model)(term),
            lambda model: self._confirmed(model, confirm),
        )
        sizes = [size for size in (*self.contract.variables, *self._words) if size.sort is t.Sort.INT]
        found = minimiser.lower([self._blocks()])
        empty = [size for size in sizes if size.low == 0 and not DescribedNumbers(found.model)(size)]
        if empty:
            found = minimiser.prefer([t.le(t.ONE, size) for size in empty])
        for bound in (SMALL, USUAL):  # all at once: one by one they would use up the questions
            if any(DescribedNumbers(found.model)(size) >= bound for size in sizes):
                found = minimiser.prefer([t.lt(distance_from_zero(size), t.const(bound)) for size in sizes])
        return minimiser.lower(self._goals(sizes, found))

    def _blocks(self) -> Goal:
        values = contract_values(self.contract)
        return Goal(
            t.product(values.get(grid, grid) for grid in GRID), 2 if self.obligation.level == CopyLevel.BLOCK else 1
        )

    def _goals(self, sizes: Sequence[Term], found: FoundWitness) -> Iterator[Goal]:
        """Sizes and scalars, distances between arrays that may overlap, block ids, iterations.

        A size does not go down to 0 where it need not: an array without elements explains nothing.
        """
        present = {leaf for condition in (*self.solver.facts, *self.conditions) for leaf in condition.free}
        for term in (*sizes, *self._distances()):
            if term.free & present:
                filled = term.low == 0 and DescribedNumbers(found.model)(term) > 0
                yield Goal(distance_from_zero(term), 1 if filled else 0)
        sides = [""] if self.obligation.level in (CopyLevel.NONE, CopyLevel.LANE) else ["", PRIME]
        for mark in sides if self.obligation.level == CopyLevel.BLOCK else [""]:
            for bid in block_ids(mark):
                yield from self._goal(bid, present)
        for mark, site in zip(sides, (self.obligation.first, self.obligation.second), strict=False):
            copy = PrimedCopy(self.obligation.level, mark) if mark else None
            for loop in site.loops if site is not None else ():
                yield from self._goal(copy(loop.iteration) if copy else loop.iteration, present)

    def _goal(self, variable: Term, present: set[Term]) -> Iterator[Goal]:
        """A variable of the question, or the one that it was found to be equal to."""
        while variable in self.eliminated:
            variable = self.eliminated[variable]
        if variable in present:
            yield Goal(variable)

    def _distances(self) -> Iterator[Term]:
        names = sorted(self.contract.arrays)
        for number, first in enumerate(names):
            for second in names[:number]:
                if self.contract.may_overlap(first, second) and {first, second} <= self.origins.keys():
                    yield overlap_distance(self.origins[first], self.origins[second])


def _list_words(conditions: Sequence[Term], contract: Contract) -> Iterator[Term]:
    """The sizes and strides of arrays in lists that the question is about."""
    leaves = sorted({leaf for condition in conditions for leaf in condition.free if leaf.kind is TermKind.APPLY})
    prefixes = tuple(f"{name}[].{part}[" for name in contract.lists for part in ("shape", "strides"))
    return (leaf for leaf in leaves if leaf.function.scope is Scope.LAUNCH and leaf.function.name.startswith(prefixes))


# -------------------------------------------------------------------------------------------------------------- nesting
# Layouts in which elements are apart because each stride steps over all that the smaller ones reach.
#
#     for some order of the axes, innermost first:   1 <= s_1,   n_k * s_k <= s_(k+1)        sizes n, strides s
#
# A named stride promises only that elements are apart, which no formula over sizes and strides says in general.
# Launches that shall show a fault are looked for among the nested layouts, which everybody uses.


MOST_ORDERED: Final = 3
"""Axes that may be nested in any order; of more, row-major or column-major."""


def nested_layouts(contract: Contract, listed: Iterable[tuple[Sequence[Term], Sequence[Term]]]) -> tuple[Term, ...]:
    """That the arrays with strides of their own are nested; ``listed``: sizes and strides of arrays in lists."""
    values = contract_values(contract)
    found = []
    for name, array in contract.arrays.items():
        if name in contract.injective and array.strides is not None:
            shape, strides = (tuple(t.substitute(word, values) for word in part) for part in array_layout(array))
            found.append(nested(shape, strides))
    found += [nested(shape, strides) for shape, strides in listed]
    return tuple(dict.fromkeys(each for each in found if each is not t.TRUE))


def nested(shape: Sequence[Term], strides: Sequence[Term]) -> Term:
    """The formula above; true where no stride is free."""
    if len(strides) < 2 or all(stride.kind is TermKind.CONST for stride in strides):
        return t.TRUE
    axes = tuple(zip(shape, strides, strict=True))[::-1]
    orders = permutations(axes) if len(axes) <= MOST_ORDERED else (axes, axes[::-1])
    return t.or_(*(_in_order(order) for order in orders))


def _in_order(axes: Sequence[tuple[Term, Term]]) -> Term:
    steps = (t.le(t.mul(size, stride), outer) for (size, stride), (_, outer) in pairwise(axes))
    return t.and_(t.le(t.ONE, axes[0][1]), *steps)


# ------------------------------------------------------------------------------------------------------------- minimise
# A confirmed witness made small: fewest blocks, then small sizes and scalars, then low block ids and iterations.
#
# Each number in turn is lowered as far as the solver finds models and the replay confirms them, and then held there.
# The last witness that was confirmed is kept, so nothing is ever lost; questions, their resources and replays are
# counted, so the result depends on the question alone.


MOST_QUESTIONS: Final = 60
MOST_STEPS: Final = 1 << 24
"""Interpreter steps for all replays together, reckoned by what the first one took: some tenths of a second."""
MOST_REPLAYS: Final = 24


class Confirmed(Protocol):
    """A witness that the replay saw."""

    @property
    def model(self) -> Model: ...

    @property
    def steps(self) -> int:
        """Interpreter steps that its replay took."""
        ...


Witnessed = TypeVar("Witnessed", bound=Confirmed)


@dataclass(frozen=True, slots=True)
class Goal:
    """A number to make small, but not smaller than ``least``."""

    term: Term
    least: int = 0


@dataclass
class Minimiser(Generic[Witnessed]):
    """Lowers ``best`` goal by goal.

    ``solver`` knows all conditions of a witness, ``value`` reads a number off a model, ``confirm`` replays a model.
    """

    best: Witnessed
    solver: Solver
    value: Callable[[Model, Term], int]
    confirm: Callable[[Model], Witnessed | None]
    questions: int = MOST_QUESTIONS
    resources: int = SMALLER_TOTAL
    replays: int = field(init=False)
    _end: int = field(init=False)
    _held: list[Term] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._end = self.solver.spent + self.resources
        self.replays = min(MOST_REPLAYS, MOST_STEPS // max(self.best.steps, 1))

    def prefer(self, conditions: Sequence[Term]) -> Witnessed:
        """A witness that satisfies ``conditions``, which then hold, or the best one as it is."""
        model = self._ask(conditions)
        if model is not None and self._confirmed(model):
            self._held += conditions
        return self.best

    def lower(self, goals: Iterable[Goal]) -> Witnessed:
        """The witness after all goals."""
        for goal in goals:
            self._lower(goal)
            self._held.append(t.eq(goal.term, t.const(self.value(self.best.model, goal.term))))
        return self.best

    def _lower(self, goal: Goal) -> None:
        """First all the way, then by one, for most numbers can go either there or nowhere; then by halves.

        Where the replay did not see the fault, larger numbers alone are tried, and no longer those at the low end.
        """
        least, most = goal.least, self.value(self.best.model, goal.term) - 1
        bounds, refused = [least, most], False
        while least <= most and self._may_ask():
            low = (least + most + 1) // 2 if refused else least
            high = (low + most) // 2 if refused else bounds.pop(0) if bounds else (least + most) // 2
            if not low <= high <= most:
                continue
            model = self._ask([t.le(t.const(low), goal.term), t.le(goal.term, t.const(high))])
            if model is None:
                least = high + 1
            elif self._confirmed(model):
                most = self.value(model, goal.term) - 1
            else:
                least, refused = self.value(model, goal.term) + 1, True

    def _may_ask(self) -> bool:
        return self.questions > 0 and self.replays > 0 and self.solver.spent < self._end

    def _ask(self, conditions: Sequence[Term]) -> Model | None:
        """A model of ``conditions`` beside what is held."""
        if not self._may_ask():
            return None
        self.questions -= 1
        result = self.solver.decide([*self._held, *conditions], model=True)
        return result.model if result.answer is Answer.SATISFIABLE else None

    def _confirmed(self, model: Model) -> bool:
        """Whether the replay sees the fault in the launch of ``model``, which is the best witness then."""
        self.replays -= 1
        found = self.confirm(model)
        if found is None:
            return False
        self.best = found
        return True


def distance_from_zero(term: Term) -> Term:
    """``|term|``."""
    return term if term.low is not None and term.low >= 0 else t.maximum(term, t.neg(term))
