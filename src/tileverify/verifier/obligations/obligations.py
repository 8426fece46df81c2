"""The obligations of an access summary, each as one satisfiability question.

An obligation is *broken* by a launch that satisfies the contract's facts and all of ``conditions``; it holds when
no such launch exists.  Why that is enough: ``docs/soundness.md``; memory model: Tile IR specification, "Memory model"
(conflicts, scopes, token order).  With g, f, v, w the guard, the footprint, the stored bits and the waits-for of a
site, primed for the second copy (`footprint_overlap`), what must be impossible is

    TV101, TV102, TV103   g and g' and bid != bid' and f meets f'
    TV101 where allowed   g and g' and bid != bid' and f(l) meets f'(l') and v(l) != v'(l')
    TV201                 g and g' and k != k' and f meets f' and not w(k, k') and not w'(k', k)
    TV202                 g and g' and l != l' and f(l) meets f(l')
    TV301                 g and index >= ceildiv(shape, step)                 unsigned
    TV302                 g and live and (f < 0 or f >= size),  g and live and f % width != 0
    TV303                 g and index * step + tile > shape
    TV401, TV402          g and not condition
    TV712                 g and live and no store that w orders before it wrote f      (`initial_contents`)
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from ...contract import terms as t
from ...contract.contract import Contract, extent
from ...contract.terms import Term, TermKind
from ...contract.variables import BID, GRID
from ...frontend.bytecode.enums import MemoryScope
from ...frontend.symbolic.summary import Access, Origin, OriginKind, Promise, Site, ViewFootprint, address_of
from ...results.codes import TV
from .footprint_overlap import (
    PRIME,
    CopyLevel,
    PreparedSite,
    PrimedCopy,
    Renaming,
    awaited,
    identity,
    may_share,
    meet,
    place_terms,
    renamed,
    touches,
)
from .initial_contents import unfilled
from .layout import ByteFootprint, IndexFootprint, Place


@dataclass(frozen=True, slots=True)
class Obligation:
    """``first``/``second``: the accesses in question (``second`` only for pairs), or the ``promise``.

    ``level``: the kind of the second copy.  ``twins``: quotients and their copies, which may be equal.
    ``blocked``: the reason why no question can be asked (a TV9xx code and text).
    ``side_conditions``: side questions that justify some of ``conditions``; each set of conditions must contradict the
    contract's facts (see `protocols`).
    """

    code: TV
    conditions: tuple[Term, ...]
    first: Site | None = None
    second: Site | None = None
    promise: Promise | None = None
    level: CopyLevel = CopyLevel.NONE
    twins: tuple[tuple[Term, Term], ...] = ()
    blocked: tuple[TV, str] | None = None
    detail: str = ""
    side_conditions: tuple[tuple[Term, ...], ...] = ()

    @property
    def array(self) -> str:
        """The array of the first access; of TV711, which is about no single one, its ``detail``."""
        return self.first.origin.name if self.first is not None else self.detail


def every_obligation(
    sites: Sequence[PreparedSite],
    promises: Iterable[Promise],
    contract: Contract,
    places: Container[tuple[int, ...]] | None = None,
) -> Iterator[Obligation]:
    """All obligations of a kernel, always in the same order.

    ``places``: only obligations whose accesses or promise have these bytecode offsets.
    """

    def wanted(*items: Site | Promise) -> bool:
        return places is None or tuple([item.offset for item in items]) in places

    for item in promises:
        if wanted(item):
            yield promise(item)
    for prepared in sites:
        if wanted(prepared.site):
            yield from bounds(prepared)
            if (conditions := unfilled(prepared, sites, contract)) is not None:
                yield Obligation(TV.UNFILLED_READ, conditions, prepared.site)
        if wanted(prepared.site, prepared.site):
            yield from one_address(prepared, contract)
    for first, second in combinations_with_replacement(sites, 2):
        if wanted(first.site, second.site):
            yield from between_blocks(first, second, contract)
            yield from inside_block(first, second, contract)


# --------------------------------------------------------------------------------------- single accesses
def bounds(prepared: PreparedSite) -> Iterator[Obligation]:
    """TV301, TV302 and TV303 of one access."""
    site, place = prepared.site, prepared.place
    footprint = site.footprint
    if isinstance(footprint, ViewFootprint):
        for d, (index, space) in enumerate(zip(footprint.index, footprint.index_space, strict=True)):
            if space is not None:
                # TV301: guard -> index < ceildiv(shape, step), both read unsigned
                yield Obligation(
                    TV.TILE_OUT_OF_INDEX_SPACE, (prepared.guard, t.le(space, index)), site, detail=f"axis {d}"
                )
        for d, promised in enumerate(footprint.inbounds):
            if promised:
                # TV303: guard -> index*step + tile <= shape
                end = t.add(t.scale(footprint.step[d], footprint.index[d]), t.const(footprint.tile[d]))
                size = footprint.shape[footprint.dim_map[d]]
                yield Obligation(TV.INBOUNDS_PROMISE, (prepared.guard, t.lt(size, end)), site, detail=f"axis {d}")
    yield from _inside(prepared, place)
    yield from _aligned(prepared)


def within_index_spaces(obligation: Obligation, prepared: Mapping[int, PreparedSite]) -> Iterator[Term]:
    """For pairs: neither access breaks TV301, so that a witness shows the race and not an earlier fault."""
    copy = PrimedCopy(obligation.level or CopyLevel.LANE, PRIME)
    sides: list[tuple[Site | None, Renaming]] = [(obligation.first, identity), (obligation.second, copy)]
    for site, rename in sides if obligation.second is not None else ():
        footprint = prepared[site.number].site.footprint if site is not None else None
        if isinstance(footprint, ViewFootprint):
            for index, space in zip(footprint.index, footprint.index_space, strict=True):
                if space is not None:
                    yield rename(t.lt(index, space))


def reached(obligation: Obligation, prepared: Mapping[int, PreparedSite], contract: Contract) -> Iterator[Term]:
    """Conditions that both sides reach the accesses or the promise; a clause against them would stop the work."""
    if obligation.promise is not None:
        yield obligation.promise.guard
    if obligation.first is not None:
        first = prepared[obligation.first.number]
        yield from (first.guard, touches(first.place))
    if obligation.second is not None:
        copy = PrimedCopy(obligation.level, PRIME)
        second = renamed(prepared[obligation.second.number], copy)
        yield from (second.guard, touches(second.place))
        if obligation.level == CopyLevel.BLOCK:
            yield t.or_(*(t.ne(bid, copy(bid)) for bid in block_axes(contract)))
        if obligation.level == CopyLevel.LANE:
            yield _two_lanes(obligation.second, copy)


def _inside(prepared: PreparedSite, place: Place) -> Iterator[Obligation]:
    """TV302: every live lane lies inside its array."""
    site, origin = prepared.site, place.origin
    if origin.kind is OriginKind.UNKNOWN:
        yield Obligation(
            TV.POINTER_OUT_OF_ALLOCATION,
            (),
            site,
            blocked=(TV.UNKNOWN_POINTER, "the address is not derived from an argument of the kernel"),
        )
    elif isinstance(place, IndexFootprint):
        if place.bounded:
            return
        for d, (c, size) in enumerate(zip(place.coordinates, origin.shape, strict=True)):
            outside = t.or_(t.lt(c, t.ZERO), t.le(size, c))
            yield Obligation(
                TV.POINTER_OUT_OF_ALLOCATION, (prepared.guard, place.live, outside), site, detail=f"axis {d}"
            )
    else:
        beyond = beyond_allocation(place)
        if beyond is None:
            yield Obligation(
                TV.POINTER_OUT_OF_ALLOCATION,
                (),
                site,
                blocked=(TV.UNKNOWN_POINTER, f"the size of `{origin.name}` is not known"),
            )
            return
        yield Obligation(TV.POINTER_OUT_OF_ALLOCATION, (prepared.guard, place.live, beyond), site)


def beyond_allocation(place: ByteFootprint) -> Term | None:
    """f < 0 or f + bytes > size; ``None`` if the size is unknown."""
    size = _extent(place.origin)
    if size is None:
        return None
    return t.or_(t.lt(place.offset, t.ZERO), t.lt(size, t.add(place.offset, t.const(place.size))))


def before_start(place: Place) -> Term:
    """An access begins before its array: a fault for every size."""
    if isinstance(place, IndexFootprint):
        return t.or_(*(t.lt(coordinate, t.ZERO) for coordinate in place.coordinates))
    return t.lt(place.offset, t.ZERO)


def _aligned(prepared: PreparedSite) -> Iterator[Obligation]:
    """TV302 as well: an element lies at a multiple of its size, which is a power of two."""
    site, origin, footprint = prepared.site, prepared.origin, prepared.site.footprint
    if origin.kind is OriginKind.UNKNOWN:
        return
    start = footprint.base if isinstance(footprint, ViewFootprint) else footprint.offset
    known = origin.alignment or origin.element_bytes
    if known % footprint.element_bytes:
        start = t.add(start, address_of(origin))
    rest = t.floormod(start, t.const(footprint.element_bytes))
    if rest is not t.ZERO:
        live = t.TRUE if isinstance(prepared.place, IndexFootprint) else prepared.place.live
        yield Obligation(
            TV.POINTER_OUT_OF_ALLOCATION, (prepared.guard, live, t.ne(rest, t.ZERO)), site, detail=MISALIGNED
        )


MISALIGNED = "misaligned"


def _extent(origin: Origin) -> Term | None:
    """The size in bytes of a pointer's origin, or ``None``."""
    if origin.extent is not None:
        return origin.extent
    if not origin.shape:
        return None
    return extent(origin.shape, origin.strides, origin.element_bytes)


def one_address(prepared: PreparedSite, contract: Contract) -> Iterator[Obligation]:
    """TV202: two live lanes of one weak store never hit one byte."""
    site = prepared.site
    if site.access is not Access.WRITE or site.atomic or not site.lanes:
        return
    copy = PrimedCopy(CopyLevel.LANE, PRIME)
    other = renamed(prepared, copy)
    common = meet(prepared, other, contract, lanes_matter=True)
    differ = _two_lanes(site, copy)
    yield _pair(
        TV.DUPLICATE_LANES, prepared, prepared, (prepared.guard, other.guard, differ, common), CopyLevel.LANE, copy
    )


def _two_lanes(site: Site, copy: PrimedCopy) -> Term:
    return t.or_(*(t.ne(lane.variable, copy(lane.variable)) for lane in site.lanes if lane.size > 1))


# ------------------------------------------------------------------------------------------ access pairs
def conflict_code(first: Site, second: Site) -> TV | None:
    """The race obligation of two accesses between blocks; ``None``: they may touch the same location."""
    if not (first.writes or second.writes):
        return None
    if _strong(first) and _strong(second) and one_width(first, second):
        return None
    if first.atomic or second.atomic:
        return TV.RACE_ATOMIC_MIXED
    return TV.RACE_WRITE_WRITE if first.writes and second.writes else TV.RACE_READ_WRITE


def _strong(site: Site) -> bool:
    """Carries a scope that includes every block of the launch."""
    return site.scope in (MemoryScope.DEVICE, MemoryScope.SYSTEM)


def one_width(first: Site, second: Site) -> bool:
    """Whether both access elements of one width; only then do scopes prevent a race.

    In PTX, whose model the specification derives from, operations that overlap partially are not morally strong.
    Elements of one width are aligned (TV302), so they are the same element or disjoint.
    """
    return first.footprint.element_bytes == second.footprint.element_bytes


def between_blocks(first: PreparedSite, second: PreparedSite, contract: Contract) -> Iterator[Obligation]:
    """TV101, TV102, TV103: the same byte from two different tile blocks."""
    code = conflict_code(first.site, second.site)
    if code is None or _private(first.origin) or _private(second.origin):
        return
    if not may_share(first.origin, second.origin, contract):
        return
    blocked = _unknown_origin(first, second, contract)
    if blocked:
        yield Obligation(code, (), first.site, second.site, level=CopyLevel.BLOCK, blocked=blocked)
        return
    copy = PrimedCopy(CopyLevel.BLOCK, PRIME)
    yield _pair(code, first, second, _two_blocks(first, second, copy, contract), CopyLevel.BLOCK, copy)


def _two_blocks(first: PreparedSite, second: PreparedSite, copy: PrimedCopy, contract: Contract) -> tuple[Term, ...]:
    """Two blocks touch one byte; and, where they may store equal values, leave different bits in one element.

    The elements of such stores are of one width, aligned, and of one layout: those that meet are the same element.
    """
    other = renamed(second, copy)
    differ = t.or_(*(t.ne(bid, copy(bid)) for bid in block_axes(contract)))
    equal = may_be_equal(first, second, contract)
    conditions = (first.guard, other.guard, differ, meet(first, other, contract, lanes_matter=equal))
    if not equal:
        return conditions
    assert first.site.stored is not None
    assert second.site.stored is not None
    return (*conditions, t.ne(first.site.stored, copy(second.site.stored)))


def may_be_equal(first: PreparedSite, second: PreparedSite, contract: Contract) -> bool:
    """Whether two plain stores of different blocks into one element are no race if they leave the same bits there."""
    sites = first.site, second.site
    plain = all(site.access is Access.WRITE and not site.atomic and site.stored is not None for site in sites)
    name = first.origin.name
    one = name == second.origin.name and first.origin.kind is second.origin.kind is OriginKind.PARAMETER
    packed = any(isinstance(each.footprint, ViewFootprint) and each.footprint.packed for each in sites)
    return name in contract.equal_stores and plain and one and not packed and one_width(*sites)


def block_axes(contract: Contract) -> Iterator[Term]:
    """The block ids that can differ: a grid axis of 1 has only block 0."""
    for bid, grid in zip(BID, GRID, strict=True):
        if contract.values.get(grid, grid) is not t.ONE:
            yield bid


def inside_block(first: PreparedSite, second: PreparedSite, contract: Contract) -> Iterator[Obligation]:
    """TV201: conflicting accesses of one block are joined by a token path, unless both are scoped and of one width."""
    a, b = first.site, second.site
    if not (a.writes or b.writes) or (a.atomic and b.atomic and one_width(a, b)):
        return
    if a is b and not a.loops:
        return
    if not may_share(first.origin, second.origin, contract):
        return
    blocked = _unknown_origin(first, second, contract)
    if blocked:
        yield Obligation(TV.UNORDERED_IN_BLOCK, (), a, b, level=CopyLevel.INSTANCE, blocked=blocked)
        return
    copy = PrimedCopy(CopyLevel.INSTANCE, PRIME)
    other = renamed(second, copy)
    # another dynamic instance: a different access, or the same one in another iteration
    differ = t.TRUE if a is not b else t.or_(*(t.ne(loop.iteration, copy(loop.iteration)) for loop in a.loops))
    unordered = t.and_(
        t.not_(awaited(first, by=second, own=identity, other=copy)),
        t.not_(awaited(second, by=first, own=copy, other=identity)),
    )
    common = meet(first, other, contract)
    conditions = (first.guard, other.guard, differ, common, unordered)
    yield _pair(TV.UNORDERED_IN_BLOCK, first, second, conditions, CopyLevel.INSTANCE, copy)


def _private(origin: Origin) -> bool:
    return origin.kind in (OriginKind.LOCAL, OriginKind.LIST)


def _unknown_origin(first: PreparedSite, second: PreparedSite, contract: Contract) -> tuple[TV, str] | None:
    for prepared in (first, second):
        if prepared.origin.kind is OriginKind.UNKNOWN:
            return TV.UNKNOWN_POINTER, "an address is not derived from an argument of the kernel"
        name = prepared.origin.name
        if prepared.origin.kind is OriginKind.LIST_ELEMENT and any(name in group for group in contract.overlap):
            return TV.UNKNOWN_POINTER, f"the arrays of the list `{name}` may overlap in any way"
    return None


def _pair(
    code: TV, first: PreparedSite, second: PreparedSite, conditions: Iterable[Term], level: CopyLevel, copy: PrimedCopy
) -> Obligation:
    return Obligation(
        code,
        tuple(conditions),
        first.site,
        second.site,
        level=level,
        twins=tuple(_twins([second.guard, *place_terms(second.place)], copy)),
    )


def _twins(terms: Sequence[Term], copy: PrimedCopy) -> Iterator[tuple[Term, Term]]:
    """Quotients and their renamed copies, innermost first."""
    seen: set[Term] = set()
    for term in terms:
        for sub in t.postorder(term):
            if sub.kind in (TermKind.DIV, TermKind.TDIV) and sub not in seen:
                seen.add(sub)
                renamed = copy(sub)
                if renamed is not sub:
                    yield sub, renamed


def promise(item: Promise) -> Obligation:
    """TV401, TV402 and other demands of the semantics: guard -> condition."""
    return Obligation(item.code, (item.guard, t.not_(item.condition)), promise=item, detail=item.text)
