"""The work that a clause has to leave: a clause that keeps a kernel from what an obligation is about answers nothing.

What is demanded of the launches that clauses leave; each is one question, and each has to have a solution:

    launch    there is one, of more than one block along an axis that the kernel reads
    work      the accesses at stake are reached, in such a launch
    axis a    two blocks whose numbers differ along a reach them, for every axis that the kernel reads
    loop l    they are reached in a second iteration, or a later one, of every loop around them
    writes a  two blocks whose numbers differ along a write to memory that others see, for every axis that the kernel
              reads, be it by another access than those at stake
    at once   in one launch, two blocks along *every* axis that is read write, and arrays have several elements
    something a block gets to a write, where no launch keeps the demands on writes: all that is written is at fault

``reached`` means path conditions, masks and a live lane, what is loaded included.  A path condition that speaks of the
launch alone is left out: a flag that switches an access off is a clause like any other, as long as blocks go on to
write.  What blocks hand to each other by a protocol (tickets, counts) is known of the values in a demand;
where such values have a part in it, two blocks are not enough, for what one of two blocks counts tells what the other
did: the demand on an axis is then for three.

A demand that no launch of the contract can keep says nothing, and is dropped.  So is the one on an axis, for an
obligation on a single block, if no launch with two blocks along that axis keeps the obligation in both: sizes may leave
room for one tile only, and then the last clause that helps is an axis of one block.  Coordinates alone do not tell
that: behind the end of a row lies the next one, and is no fault.  So an access that is read as coordinates may do its
work as its bytes say, too.  An obligation between blocks is another matter: if any two blocks along an axis that is
read race, the kernel is wrong, and not its launches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...contract import terms as t
from ...contract.contract import Contract, array_layout
from ...contract.terms import Term, TermKind
from ...contract.variables import BID, GRID
from ...contract.wording import can_be_said
from ...frontend.symbolic.summary import Site
from ...results.codes import TV
from ..budgets import CLAUSE_LIMITS
from ..obligations.answers import Answer
from ..obligations.consistency import promises
from ..obligations.fact_instances import data_facts
from ..obligations.footprint_overlap import PreparedSite, does_something, touches
from ..obligations.layout import IndexFootprint, as_bytes
from ..obligations.limits import is_address
from ..obligations.obligations import MISALIGNED, Obligation, beyond_allocation, reached
from ..obligations.prepare import contract_values
from ..obligations.protocols import watched
from ..obligations.two_blocks import OTHER, CopyLevel, Second
from ..prover import Prover
from .clauses import is_seen


@dataclass(frozen=True, slots=True)
class Way:
    """A way to do what is demanded.  ``unless``: what makes it pointless, if it holds wherever ``conditions`` do."""

    conditions: tuple[Term, ...]
    unless: Term = t.FALSE


@dataclass(frozen=True, slots=True)
class Demand:
    """What some launch has to do: one of the ways.  The first is what obligations say; ``others`` say more exactly what
    a fault is, and may need more arithmetic than a solver has."""

    first: Way
    others: tuple[Way, ...] = ()

    @property
    def ways(self) -> tuple[Way, ...]:
        return self.first, *self.others


def axes_of_work(read: frozenset[int]) -> tuple[int, ...]:
    """The axes along which blocks have to differ: those that are read, and x if none is."""
    return tuple(sorted(read)) or (0,)


def demands(
    obligation: Obligation,
    prepared: Mapping[int, PreparedSite],
    contract: Contract,
    read: frozenset[int],
    shared: frozenset[str],
) -> Iterator[Demand]:
    """What a clause for ``obligation`` has to leave; ``shared``: the functions that stand for what blocks hand over."""
    base = _without_flags(reached(obligation, prepared, contract))
    values = contract_values(contract)
    three = any(
        leaf.kind is TermKind.APPLY and leaf.function.name.rstrip(OTHER) in shared for c in base for leaf in c.free
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
        apart = t.ne(BID[axis], Second(CopyLevel.BLOCK, OTHER)(BID[axis]))
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
    """Two blocks that differ along ``axis`` write to what others see, by one access or by two: one of these suffices.
    None where the contract gives the axis one block.

    Like the demands on an axis, they are pointless if one of the two breaks an obligation on a single block.
    """
    if contract_values(contract).get(GRID[axis], GRID[axis]) is t.ONE:
        return
    copy = Second(CopyLevel.BLOCK, OTHER)
    apart = t.ne(BID[axis], copy(BID[axis]))
    readings = [(obligation, prepared), *_bytewise(obligation, prepared)]
    for each in zip(*(_writes(*reading, copy) for reading in readings), strict=True):
        yield _demand(each, apart)


def _writes(obligation: Obligation, prepared: Mapping[int, PreparedSite], copy: Second) -> Iterator[Way]:
    """Two blocks write by each of the accesses that do, and by any of them."""
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
    """In one launch two blocks write along every one of ``axes``: a clause that leaves one line of blocks, along one
    axis or another, leaves each axis its work, but never both.  None where there is at most one such axis.

    Pointless like the demands on a single axis, if one of these blocks breaks an obligation on a single block.
    """
    values = contract_values(contract)
    several = [axis for axis in axes if values.get(GRID[axis], GRID[axis]) is not t.ONE]
    writes = [t.and_(each.guard, touches(each.place)) for each in _writers(prepared)]
    conditions: list[Term] = []
    broken: list[Term] = []
    for place, axis in enumerate(several):
        pair = [Second(CopyLevel.BLOCK, OTHER * (2 * place + number)) for number in range(2)]
        conditions.append(t.ne(*(copy(BID[axis]) for copy in pair)))
        for copy in pair:
            inside = (t.substitute(t.lt(bid, grid), values) for bid, grid in zip(BID, GRID, strict=True))
            conditions += [copy(t.or_(*writes)), *map(copy, inside)]
            broken += [] if obligation.level else [copy(t.and_(*obligation.conditions))]
    if not several or not writes:
        return None
    return Demand(Way(tuple(dict.fromkeys(conditions)), t.or_(*broken)))


def something(prepared: Mapping[int, PreparedSite]) -> Iterator[Demand]:
    """A block gets to a write that others see, were it a fault; nothing of a kernel that has none."""
    writes = [t.and_(each.guard, does_something(each)) for each in _writers(prepared)]
    if writes:
        yield Demand(Way((t.or_(*writes),)))


def _bytewise(
    obligation: Obligation, prepared: Mapping[int, PreparedSite]
) -> Iterator[tuple[Obligation, Mapping[int, PreparedSite]]]:
    """The obligation that an access stays in its array with its bytes for its coordinates, where it was read so."""
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
    """More than one block in the launch, along one of these axes: others only repeat what is done."""
    values = contract_values(contract)
    return (t.or_(*(t.lt(t.ONE, values.get(GRID[axis], GRID[axis])) for axis in axes)),)


def _without_flags(conditions: Iterable[Term]) -> tuple[Term, ...]:
    return tuple(part for part in t.conjuncts(*conditions) if not can_be_said(part))


def _pair(obligation: Obligation, prepared: Mapping[int, PreparedSite], base: tuple[Term, ...]) -> Way:
    """Two blocks that reach the accesses at stake; and that one of them breaks an obligation on a single block."""
    if obligation.level == CopyLevel.BLOCK:
        return Way(base)
    copy = Second(CopyLevel.BLOCK, OTHER)
    site = obligation.first
    if site is not None:
        own: list[Term] = [prepared[site.number].guard, touches(prepared[site.number].place)]
    else:
        own = [] if obligation.promise is None else [obligation.promise.guard]
    alone = _without_flags(own)
    return Way((*alone, *map(copy, alone)), _broken_by_one(obligation, copy))


def _broken_by_one(obligation: Obligation, copy: Second) -> Term:
    """Whether a block, or the other one, breaks an obligation on a single block."""
    broken = t.and_(*obligation.conditions)
    return t.FALSE if obligation.level else t.or_(broken, copy(broken))


def _iterations(obligation: Obligation) -> Iterator[Term]:
    """The iterations of the loops around the accesses at stake, of either side."""
    for site, copy in (
        (obligation.first, None),
        (obligation.second, Second(obligation.level or CopyLevel.LANE, OTHER)),
    ):
        yield from (copy(each) if copy else each for each in _own_iterations(site))
    if obligation.promise is not None:
        yield from (loop.iteration for loop in obligation.promise.loops)


def _own_iterations(site: Site | None) -> Iterator[Term]:
    yield from (loop.iteration for loop in site.loops) if site is not None else ()


# --------------------------------------------------------------------------------------------- what assumptions leave
@dataclass
class Nonvacuity:
    """Whether the launches that assumptions leave do the work that ``prover`` is about."""

    prover: Prover
    demanded: list[list[Demand]] = field(default_factory=list)  # for every obligation that clauses were looked for
    _several: tuple[Term, ...] | None = None
    _others: dict[tuple[Demand, int], tuple[tuple[Term, ...], ...] | None] = field(default_factory=dict)

    def demands(self, obligation: Obligation) -> list[Demand]:
        """What clauses for the obligation have to leave."""
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
        """Demands with what is known of contents, and of what blocks hand to each other."""
        shared = watched(self.prover.kernel.sites)

        def informed(way: Way) -> Way:
            conditions = way.conditions
            if shared:
                question = replace(obligation, conditions=conditions, grounds=())
                conditions = self.prover.kernel.protocols.with_values(question).conditions
            facts = data_facts(conditions, self.prover.contract, self.prover.kernel.origins)
            return replace(way, conditions=(*conditions, *facts))

        return [Demand(informed(demand.first), tuple(map(informed, demand.others))) for demand in found]

    def leaves(self, wanted: Sequence[Demand], offered: Sequence[Term]) -> bool:
        """Whether what is wanted for one obligation is done in launches with the clauses on offer, but for what no
        launch can do, whatever clauses are offered."""
        return all(self._is_kept(demand, offered) or self._is_pointless(demand) for demand in wanted)

    def _is_kept(self, demand: Demand, offered: Sequence[Term]) -> bool:
        """Whether a launch with the clauses on offer does what is demanded."""
        if self.possible([*demand.first.conditions, *offered]):
            return True
        return any(self.possible([*way, *offered]) for way in self._instead(demand) or ())

    def _is_pointless(self, demand: Demand) -> bool:
        return self._instead(demand) == ()

    def _instead(self, demand: Demand) -> tuple[tuple[Term, ...], ...] | None:
        """How else it can be done where no launch does it the first way; ``None`` if one may."""
        key = demand, len(self.prover.clauses)
        if key not in self._others:
            first, others = _done(demand.first), map(_done, demand.others)
            impossible = self._asked(first) is Answer.UNSATISFIABLE
            self._others[key] = tuple(filter(self.possible, others)) if impossible else None
        return self._others[key]

    def leaves_launches(self, chosen: Sequence[Term]) -> bool:
        """Whether the contract has a small launch with these clauses, of more than one block if it has such."""
        return self.possible([*chosen, *self.two_blocks(), *self.prover.parts.small])

    def leaves_all_at_once(self, obligation: Obligation, chosen: Sequence[Term]) -> bool:
        """Whether a small launch with these clauses has two blocks at work along every axis that is read, and several
        elements in every array that may have them."""
        demand = at_once(
            self.prover.kernel.by_number,
            obligation,
            axes_of_work(self.prover.summary.read_axes),
            self.prover.contract,
        )
        small = (*self.prover.parts.small, *self._filled)
        if demand is None:
            return self.possible([*chosen, *small])
        (demand,) = self._informed(obligation, [demand])
        answer = self._asked([*demand.first.conditions, *chosen, *small])
        if answer is Answer.UNKNOWN and all(map(is_address, frozenset().union(*(term.free for term in chosen)))):
            return True  # where arrays lie takes no block from its work
        return answer is Answer.SATISFIABLE or self._asked((*_done(demand.first), *small)) is Answer.UNSATISFIABLE

    @cached_property
    def _filled(self) -> tuple[Term, ...]:
        """Arrays have several elements, those that may."""
        values, filled = contract_values(self.prover.contract), list[Term]()
        for array in self.prover.contract.arrays.values():
            elements = t.substitute(t.product(array_layout(array)[0]), values)
            several = t.lt(t.ONE, elements)
            if elements.free and self.possible([*filled, several, *self.prover.parts.small]):
                filled.append(several)
        return tuple(filled)

    def leaves_others(self, obligation: Obligation, chosen: Sequence[Term]) -> bool:
        """Whether what other obligations are about is still done, and blocks along every axis that is read still write,
        by whatever access."""
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
        """Whether a block still gets to a write, be it one that is always at fault."""
        return self.leaves(self._informed(obligation, something(self.prover.kernel.by_number)), chosen)

    def is_reached(self, obligation: Obligation) -> bool:
        """Whether the facts that were taken up leave contents with which the kernel gets to the accesses at stake."""
        kernel = self.prover.kernel
        work = list(reached(obligation, kernel.by_number, self.prover.contract))
        work += self.prover.use.known(work, kernel.origins)
        return self.prover.decider.decide(work).answer is Answer.SATISFIABLE

    def possible(self, conditions: Sequence[Term]) -> bool:
        return self._asked(conditions) is Answer.SATISFIABLE

    def _asked(self, conditions: Sequence[Term]) -> Answer:
        """Of launches that can be made: not all that keep a contract's clauses have contents that keep its facts."""
        return self.prover.searcher.decide([*conditions, *self._promised], limits=CLAUSE_LIMITS).answer

    @cached_property
    def _promised(self) -> tuple[Term, ...]:
        return promises(self.prover.contract)

    def two_blocks(self) -> tuple[Term, ...]:
        """More than one block: a contract that excludes every such launch would be vacuous.

        Nothing where the user's own contract has no such launch.
        """
        if self._several is None:
            two = two_blocks(self.prover.contract, axes_of_work(self.prover.summary.read_axes))
            self._several = two if self.possible(two) else ()
        return self._several


def _done(way: Way) -> tuple[Term, ...]:
    """What is demanded is done so, and not in vain."""
    return (*way.conditions, t.not_(way.unless))
