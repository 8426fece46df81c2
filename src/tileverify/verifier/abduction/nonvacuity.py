"""Nonvacuity: the work that a clause must leave.  A clause that stops the work closes an obligation vacuously.

Each demand is one question about the launches that satisfy the clauses; each must have a solution:

    launch    a launch with more than one block along an axis that the kernel reads
    work      in such a launch, blocks reach the accesses of the obligation
    axis a    two blocks that differ along a reach these accesses, for every axis a that the kernel reads
    loop l    a block reaches them in the second iteration or later, for every loop l around them
    writes a  two blocks that differ along a write to memory that others see, for every axis a that the kernel reads;
              by these accesses or by others
    at once   in one launch, two blocks along *every* such axis write, and arrays have several elements
    something a block reaches a write; only if no launch can meet the demands on writes: every write is at fault

``reached`` means: path conditions, masks and a live lane, with loaded values.  Path conditions on the launch alone are
left out: a flag that switches an access off may be a clause, as long as blocks still write.  A demand knows the values
that blocks exchange by a protocol (tickets, counts).  If it uses such values, the axis needs a grid of at least three
blocks: with two, the count of one block determines the other's.

A demand that no launch of the contract can meet is dropped.  For an obligation on a single block, so is the demand on
an axis if two blocks along it never both satisfy the obligation: sizes may leave room for one tile only, and one block
along that axis is then the last clause that helps.  Coordinates are too strict for this test: an access beyond the end
of a row touches the next row, which is no fault.  So an access with coordinates may also meet a demand by its bytes.
An obligation between blocks keeps its demand: if any two blocks along an axis race, the kernel is at fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...contract import terms as t
from ...contract.contract import Contract, array_layout
from ...contract.terms import Term, TermKind
from ...contract.variables import BID, GRID
from ...frontend.symbolic.summary import Site
from ...results.codes import TV
from ..budgets import CLAUSE_LIMITS
from ..obligations.answers import Answer
from ..obligations.consistency import promises
from ..obligations.fact_use import data_facts
from ..obligations.footprint_overlap import PRIME, CopyLevel, PreparedSite, PrimedCopy, does_something, touches
from ..obligations.layout import IndexFootprint, as_bytes
from ..obligations.limits import is_address
from ..obligations.obligations import MISALIGNED, Obligation, beyond_allocation, reached
from ..obligations.prepare import contract_values
from ..obligations.protocols import watched
from ..prover import Prover
from .clauses import can_be_said, is_seen


@dataclass(frozen=True, slots=True)
class Way:
    """One way to meet a demand.  It is pointless if ``conditions`` imply ``unless``."""

    conditions: tuple[Term, ...]
    unless: Term = t.FALSE


@dataclass(frozen=True, slots=True)
class Demand:
    """Some launch must do the work in one of the ways.  ``first`` follows the obligation's own terms.  ``others``
    describe a fault more exactly, and may be too hard for the solver."""

    first: Way
    others: tuple[Way, ...] = ()

    @property
    def ways(self) -> tuple[Way, ...]:
        return self.first, *self.others


def axes_of_work(read: frozenset[int]) -> tuple[int, ...]:
    """The axes along which blocks must differ: the axes that the kernel reads, or x if it reads none."""
    return tuple(sorted(read)) or (0,)


def demands(
    obligation: Obligation,
    prepared: Mapping[int, PreparedSite],
    contract: Contract,
    read: frozenset[int],
    shared: frozenset[str],
) -> Iterator[Demand]:
    """The demands on a clause for ``obligation``; ``shared``: functions for values that blocks exchange."""
    base = _without_flags(reached(obligation, prepared, contract))
    values = contract_values(contract)
    three = any(
        leaf.kind is TermKind.APPLY and leaf.function.name.rstrip(PRIME) in shared for c in base for leaf in c.free
    )
    yield Demand(Way((*base, *two_blocks(contract, axes_of_work(read)))))
    pairs = [
        _pair(obligation, prepared, base),
        *(_pair(*bytewise, base) for bytewise in _bytewise(obligation, prepared)),
    ]
    for axis in axes_of_work(read):
        grid = values.get(GRID[axis], GRID[axis])
        if grid is t.ONE:
            continue
        apart = t.ne(BID[axis], PrimedCopy(CopyLevel.BLOCK, PRIME)(BID[axis]))
        yield _demand(pairs, apart)
        if three:
            yield _demand(pairs, apart, t.le(t.const(3), grid))
    for iteration in dict.fromkeys(_iterations(obligation)):
        yield Demand(Way((*base, t.le(t.ONE, iteration))))


def _demand(ways: Iterable[Way], *more: Term) -> Demand:
    first, *others = (Way((*way.conditions, *more), way.unless) for way in ways)
    return Demand(first, tuple(others))


def writing(
    prepared: Mapping[int, PreparedSite], obligation: Obligation, axis: int, contract: Contract
) -> Iterator[Demand]:
    """Demands that two blocks that differ along ``axis`` write to memory that others see; meeting one suffices.

    The two blocks may write by different accesses.  No demand if the contract gives the axis one block.
    A demand is pointless if one of the two blocks breaks an obligation on a single block.
    """
    if contract_values(contract).get(GRID[axis], GRID[axis]) is t.ONE:
        return
    copy = PrimedCopy(CopyLevel.BLOCK, PRIME)
    apart = t.ne(BID[axis], copy(BID[axis]))
    readings = [(obligation, prepared), *_bytewise(obligation, prepared)]
    for each in zip(*(_writes(*reading, copy) for reading in readings), strict=True):
        yield _demand(each, apart)


def _writes(obligation: Obligation, prepared: Mapping[int, PreparedSite], copy: PrimedCopy) -> Iterator[Way]:
    """Two blocks write: one way for each writing access, and one for any of them."""
    writes = [t.and_(each.guard, touches(each.place)) for each in _writers(prepared)]
    if len(writes) > 1:
        writes.append(t.or_(*writes))
    pointless = _broken_by_one(obligation, copy)
    return (Way((each, copy(each)), pointless) for each in writes)


def _writers(prepared: Mapping[int, PreparedSite]) -> list[PreparedSite]:
    return [each for each in prepared.values() if each.site.writes and is_seen(each.site)]


def at_once(
    prepared: Mapping[int, PreparedSite], obligation: Obligation, axes: Iterable[int], contract: Contract
) -> Demand | None:
    """The demand that in one launch two blocks write along every one of ``axes``.

    A clause that leaves one line of blocks, along either axis, would pass the demand of each axis alone.
    ``None`` if no axis has several blocks, or nothing is written.  Pointless if one of these blocks breaks an
    obligation on a single block.
    """
    values = contract_values(contract)
    several = [axis for axis in axes if values.get(GRID[axis], GRID[axis]) is not t.ONE]
    writes = [t.and_(each.guard, touches(each.place)) for each in _writers(prepared)]
    conditions: list[Term] = []
    broken: list[Term] = []
    for place, axis in enumerate(several):
        pair = [PrimedCopy(CopyLevel.BLOCK, PRIME * (2 * place + number)) for number in range(2)]
        conditions.append(t.ne(*(copy(BID[axis]) for copy in pair)))
        for copy in pair:
            inside = (t.substitute(t.lt(bid, grid), values) for bid, grid in zip(BID, GRID, strict=True))
            conditions += [copy(t.or_(*writes)), *map(copy, inside)]
            broken += [] if obligation.level else [copy(t.and_(*obligation.conditions))]
    if not several or not writes:
        return None
    return Demand(Way(tuple(dict.fromkeys(conditions)), t.or_(*broken)))


def something(prepared: Mapping[int, PreparedSite]) -> Iterator[Demand]:
    """The demand that a block reaches a visible write, even a faulty one; nothing for a kernel without such writes."""
    writes = [t.and_(each.guard, does_something(each)) for each in _writers(prepared)]
    if writes:
        yield Demand(Way((t.or_(*writes),)))


def _bytewise(
    obligation: Obligation, prepared: Mapping[int, PreparedSite]
) -> Iterator[tuple[Obligation, Mapping[int, PreparedSite]]]:
    """The bounds obligation of an access with bytes in place of coordinates, if it has coordinates."""
    site = obligation.first
    if obligation.code != TV.POINTER_OUT_OF_ALLOCATION or obligation.detail == MISALIGNED or site is None:
        return
    own = prepared[site.number]
    place = as_bytes(own.site.footprint)
    beyond = beyond_allocation(place)
    if isinstance(own.place, IndexFootprint) and beyond is not None:
        conditions = (own.guard, place.live, beyond)
        yield replace(obligation, conditions=conditions), {**prepared, site.number: replace(own, place=place)}


def two_blocks(contract: Contract, axes: Iterable[int]) -> tuple[Term, ...]:
    """More than one block along one of these axes; blocks along other axes only repeat the work."""
    values = contract_values(contract)
    return (t.or_(*(t.lt(t.ONE, values.get(GRID[axis], GRID[axis])) for axis in axes)),)


def _without_flags(conditions: Iterable[Term]) -> tuple[Term, ...]:
    return tuple(part for part in t.conjuncts(*conditions) if not can_be_said(part))


def _pair(obligation: Obligation, prepared: Mapping[int, PreparedSite], base: tuple[Term, ...]) -> Way:
    """Two blocks reach the accesses of the obligation; ``unless`` one of them breaks it alone."""
    if obligation.level == CopyLevel.BLOCK:
        return Way(base)
    copy = PrimedCopy(CopyLevel.BLOCK, PRIME)
    site = obligation.first
    if site is not None:
        own: list[Term] = [prepared[site.number].guard, touches(prepared[site.number].place)]
    else:
        own = [] if obligation.promise is None else [obligation.promise.guard]
    alone = _without_flags(own)
    return Way((*alone, *map(copy, alone)), _broken_by_one(obligation, copy))


def _broken_by_one(obligation: Obligation, copy: PrimedCopy) -> Term:
    """One of the two blocks breaks an obligation on a single block."""
    broken = t.and_(*obligation.conditions)
    return t.FALSE if obligation.level else t.or_(broken, copy(broken))


def _iterations(obligation: Obligation) -> Iterator[Term]:
    """The iterations of the loops around both accesses."""
    for site, copy in (
        (obligation.first, None),
        (obligation.second, PrimedCopy(obligation.level or CopyLevel.LANE, PRIME)),
    ):
        yield from (copy(each) if copy else each for each in _own_iterations(site))
    if obligation.promise is not None:
        yield from (loop.iteration for loop in obligation.promise.loops)


def _own_iterations(site: Site | None) -> Iterator[Term]:
    yield from (loop.iteration for loop in site.loops) if site is not None else ()


# ------------------------------------------------------------------------------------------- launches under assumptions
@dataclass
class Nonvacuity:
    """Tests whether launches under assumptions still do the kernel's work."""

    prover: Prover
    demanded: list[list[Demand]] = field(default_factory=list)  # of each obligation with a search for clauses
    _several: tuple[Term, ...] | None = None
    _others: dict[tuple[Demand, int], tuple[tuple[Term, ...], ...] | None] = field(default_factory=dict)

    def demands(self, obligation: Obligation) -> list[Demand]:
        """The demands on clauses for the obligation."""
        shared = frozenset(watched(self.prover.kernel.sites))
        found = demands(
            obligation,
            self.prover.kernel.by_number,
            self.prover.contract,
            self.prover.summary.read_axes,
            shared,
        )
        return self._informed(obligation, found)

    def _informed(self, obligation: Obligation, found: Iterable[Demand]) -> list[Demand]:
        """Demands with data facts, and with facts on values that blocks exchange."""
        shared = watched(self.prover.kernel.sites)

        def informed(way: Way) -> Way:
            conditions = way.conditions
            if shared:
                question = replace(obligation, conditions=conditions, side_conditions=())
                conditions = self.prover.kernel.protocols.with_values(question).conditions
            facts = data_facts(conditions, self.prover.contract, self.prover.kernel.origins)
            return replace(way, conditions=(*conditions, *facts))

        return [Demand(informed(demand.first), tuple(map(informed, demand.others))) for demand in found]

    def leaves(self, wanted: Sequence[Demand], offered: Sequence[Term]) -> bool:
        """Whether launches under the ``offered`` clauses meet each wanted demand that is not pointless."""
        return all(self._is_kept(demand, offered) or self._is_pointless(demand) for demand in wanted)

    def _is_kept(self, demand: Demand, offered: Sequence[Term]) -> bool:
        """Whether a launch under the ``offered`` clauses meets the demand."""
        if self.possible([*demand.first.conditions, *offered]):
            return True
        return any(self.possible([*way, *offered]) for way in self._instead(demand) or ())

    def _is_pointless(self, demand: Demand) -> bool:
        return self._instead(demand) == ()

    def _instead(self, demand: Demand) -> tuple[tuple[Term, ...], ...] | None:
        """The other possible ways, if no launch can use the first; ``None`` if one may."""
        key = demand, len(self.prover.clauses)
        if key not in self._others:
            first, others = _done(demand.first), map(_done, demand.others)
            impossible = self._asked(first) is Answer.UNSATISFIABLE
            self._others[key] = tuple(filter(self.possible, others)) if impossible else None
        return self._others[key]

    def leaves_launches(self, chosen: Sequence[Term]) -> bool:
        """Whether a small launch satisfies these clauses, with several blocks if the contract allows several."""
        return self._in_a_small_launch([*chosen, *self.two_blocks()]) is Answer.SATISFIABLE

    def _in_a_small_launch(self, conditions: Sequence[Term]) -> Answer:
        """Numbers of elements that nobody stated are small only where that suffices: it makes answers come sooner."""
        parts = self.prover.parts
        answer = self._asked([*conditions, *parts.small])
        if answer is not Answer.SATISFIABLE and parts.small_axes != parts.small:
            answer = self._asked([*conditions, *parts.small_axes])
        if answer is Answer.UNKNOWN:
            numbers = parts.two_tiles
            stated = (t.eq(*each) for each in numbers.items())
            found = self._asked([*(t.substitute(each, numbers) for each in conditions), *stated])
            answer = found if found is Answer.SATISFIABLE else answer
        return answer

    def leaves_all_at_once(self, obligation: Obligation, chosen: Sequence[Term]) -> bool:
        """Whether in one small launch with these clauses two blocks write along every axis that the kernel reads.

        Each array that may have several elements has several in that launch.
        """
        demand = at_once(
            self.prover.kernel.by_number,
            obligation,
            axes_of_work(self.prover.summary.read_axes),
            self.prover.contract,
        )
        if demand is None:
            return self._in_a_small_launch([*chosen, *self._filled]) is Answer.SATISFIABLE
        (demand,) = self._informed(obligation, [demand])
        answer = self._in_a_small_launch([*demand.first.conditions, *chosen, *self._filled])
        if answer is Answer.UNKNOWN and all(map(is_address, frozenset().union(*(term.free for term in chosen)))):
            return True  # addresses of arrays keep no block from its work
        if answer is Answer.SATISFIABLE:
            return True
        return self._in_a_small_launch([*_done(demand.first), *self._filled]) is Answer.UNSATISFIABLE

    @cached_property
    def _filled(self) -> tuple[Term, ...]:
        """Each array that may have several elements has several."""
        values, filled = contract_values(self.prover.contract), list[Term]()
        for array in self.prover.contract.arrays.values():
            elements = t.substitute(t.product(array_layout(array)[0]), values)
            several = t.lt(t.ONE, elements)
            if elements.free and self.possible([*filled, several, *self.prover.parts.small]):
                filled.append(several)
        return tuple(filled)

    def leaves_others(self, obligation: Obligation, chosen: Sequence[Term]) -> bool:
        """Whether launches still meet the demands of other obligations, and blocks along every axis that the kernel
        reads still write."""
        if not all(self.leaves(wanted, chosen) for wanted in self.demanded):
            return False
        writes = False
        for axis in axes_of_work(self.prover.summary.read_axes):
            wanted = self._informed(
                obligation, writing(self.prover.kernel.by_number, obligation, axis, self.prover.contract)
            )
            if any(self._is_kept(demand, chosen) for demand in wanted):
                writes = True
            elif not all(map(self._is_pointless, wanted)):
                return False
        return (writes or self.leaves_something(obligation, chosen)) and self.leaves_all_at_once(obligation, chosen)

    def leaves_something(self, obligation: Obligation, chosen: Sequence[Term]) -> bool:
        """Whether a block still reaches a write, even one that is always at fault."""
        return self.leaves(self._informed(obligation, something(self.prover.kernel.by_number)), chosen)

    def is_reached(self, obligation: Obligation) -> bool:
        """Whether some contents satisfy the assumed facts and let the kernel reach the obligation's accesses."""
        kernel = self.prover.kernel
        work = list(reached(obligation, kernel.by_number, self.prover.contract))
        work += self.prover.use.known(work, kernel.origins)
        return self.prover.solver.decide(work).answer is Answer.SATISFIABLE

    def possible(self, conditions: Sequence[Term]) -> bool:
        """Whether some launch satisfies the conditions; products are tried with small numbers if that does not show."""
        answer = self._asked(conditions)
        if answer is Answer.UNKNOWN:
            answer = self._in_a_small_launch(conditions)
        return answer is Answer.SATISFIABLE

    def _asked(self, conditions: Sequence[Term]) -> Answer:
        """Ask about real launches only: some satisfy the clauses and have no contents that satisfy the data facts."""
        return self.prover.searcher.decide([*conditions, *self._promised], limits=CLAUSE_LIMITS).answer

    @cached_property
    def _promised(self) -> tuple[Term, ...]:
        return promises(self.prover.contract)

    def two_blocks(self) -> tuple[Term, ...]:
        """The condition "more than one block"; empty if the user's own contract has no such launch.

        A contract that excludes every such launch would be vacuous.
        """
        if self._several is None:
            two = two_blocks(self.prover.contract, axes_of_work(self.prover.summary.read_axes))
            self._several = two if self.possible(two) else ()
        return self._several


def _done(way: Way) -> tuple[Term, ...]:
    """The way's conditions, and that it is not pointless."""
    return (*way.conditions, t.not_(way.unless))
