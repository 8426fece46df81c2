"""The work that a clause has to leave: a clause that keeps a kernel from what an obligation is about answers nothing.

What is demanded of the launches that clauses leave; each is one question, and each has to have a solution:

    launch    there is one, of more than one block along an axis that the kernel reads
    work      the accesses at stake are reached, in such a launch
    axis a    two blocks whose numbers differ along a reach them, for every axis that the kernel reads
    loop l    they are reached in a second iteration, or a later one, of every loop around them
    writes a  two blocks whose numbers differ along a write to memory that others see, for every axis that the kernel
              reads, be it by another access than those at stake

``reached`` means path conditions, masks and a live lane, what is loaded included.  A path condition that speaks of the
launch alone is left out: a flag that switches an access off is a clause like any other, as long as blocks go on to
write.  What blocks hand to each other by a protocol (tickets, counts) is known of the values in a demand;
where such values have a part in it, two blocks are not enough, for what one of two blocks counts tells what the other
did: the demand on an axis is then for three.

A demand that no launch of the contract can keep says nothing, and is dropped.  So is the one on an axis, for an
obligation on a single block, if no launch with two blocks along that axis keeps the obligation in both: sizes may leave
room for one tile only, and then the last clause that helps is an axis of one block.  An obligation between blocks is
another matter: if any two blocks along an axis that is read race, the kernel is wrong, and not its launches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...contract import terms as t
from ...contract.as_terms import Contract
from ...contract.terms import Term, TermKind
from ...contract.variables import BID, GRID
from ...contract.wording import can_be_said
from ...frontend.symbolic.summary import OriginKind, Site
from .footprint_overlap import PreparedSite, touches
from .obligations import Obligation, reached
from .prepare import contract_values
from .quantifier_elimination import conjuncts
from .two_blocks import OTHER, CopyLevel, Second


@dataclass(frozen=True, slots=True)
class Demand:
    """What some launch has to do.  ``unless``: what makes it pointless, if ``conditions`` imply it in every launch."""

    conditions: tuple[Term, ...]
    unless: Term = t.FALSE


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
    yield Demand((*base, *two_blocks(contract, axes_of_work(read))))
    pair, unbroken = _pair(obligation, prepared, base)
    for axis in axes_of_work(read):
        grid = values.get(GRID[axis], GRID[axis])
        if grid is t.ONE:
            continue
        apart = (*pair, t.ne(BID[axis], Second(CopyLevel.BLOCK, OTHER)(BID[axis])))
        yield Demand(apart, unbroken)
        if three:
            yield Demand((*apart, t.le(t.const(3), grid)), unbroken)
    for iteration in dict.fromkeys(_iterations(obligation)):
        yield Demand((*base, t.le(t.ONE, iteration)))


def writing(sites: Iterable[PreparedSite], obligation: Obligation, axis: int, contract: Contract) -> tuple[Demand, ...]:
    """Two blocks that differ along ``axis`` write to what others see, by one access or by two: one of these suffices.
    None where the contract gives the axis one block.

    Like the demands on an axis, they are pointless if one of the two breaks an obligation on a single block.
    """
    if contract_values(contract).get(GRID[axis], GRID[axis]) is t.ONE:
        return ()
    copy = Second(CopyLevel.BLOCK, OTHER)
    apart = t.ne(BID[axis], copy(BID[axis]))
    pointless = _broken_by_one(obligation, copy)
    ways = [t.and_(each.guard, touches(each.place)) for each in sites if each.site.writes and is_seen(each.site)]
    if len(ways) > 1:
        ways.append(t.or_(*ways))
    return tuple(Demand((way, copy(way), apart), pointless) for way in ways)


def is_seen(site: Site) -> bool:
    """Whether other blocks, or whoever launched the kernel, can see what the access does."""
    return site.origin.kind not in (OriginKind.LOCAL, OriginKind.SHARED_LOCAL)


def two_blocks(contract: Contract, axes: Iterable[int]) -> tuple[Term, ...]:
    """More than one block in the launch, along one of these axes: others only repeat what is done."""
    values = contract_values(contract)
    return (t.or_(*(t.lt(t.ONE, values.get(GRID[axis], GRID[axis])) for axis in axes)),)


def _without_flags(conditions: Iterable[Term]) -> tuple[Term, ...]:
    return tuple(part for part in conjuncts(conditions) if not can_be_said(part))


def _pair(
    obligation: Obligation, prepared: Mapping[int, PreparedSite], base: tuple[Term, ...]
) -> tuple[tuple[Term, ...], Term]:
    """Two blocks that reach the accesses at stake; and that one of them breaks an obligation on a single block."""
    if obligation.level == CopyLevel.BLOCK:
        return base, t.FALSE
    copy = Second(CopyLevel.BLOCK, OTHER)
    site = obligation.first
    if site is not None:
        own: list[Term] = [prepared[site.number].guard, touches(prepared[site.number].place)]
    else:
        own = [] if obligation.promise is None else [obligation.promise.guard]
    alone = _without_flags(own)
    return (*alone, *map(copy, alone)), _broken_by_one(obligation, copy)


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
