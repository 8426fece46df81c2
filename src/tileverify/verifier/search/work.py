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

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ...contract import terms as t
from ...contract.contract import Contract
from ...contract.terms import Term, TermKind
from ...contract.variables import BID, GRID
from ...contract.wording import can_be_said
from ...frontend.symbolic.summary import OriginKind, Site
from ...results.codes import TV
from ..obligations.footprint_overlap import PreparedSite, does_something, touches
from ..obligations.layout import IndexFootprint, as_bytes
from ..obligations.obligations import MISALIGNED, Obligation, beyond_allocation, reached
from ..obligations.prepare import contract_values
from ..obligations.two_blocks import OTHER, CopyLevel, Second


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


def is_seen(site: Site) -> bool:
    """Whether other blocks, or whoever launched the kernel, can see what the access does."""
    return site.origin.kind not in (OriginKind.LOCAL, OriginKind.SHARED_LOCAL)


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
