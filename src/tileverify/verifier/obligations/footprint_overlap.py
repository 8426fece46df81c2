"""Two copies of a block, an iteration or a lane, and when two prepared sites touch one byte or wait for each other."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ...contract import terms as t
from ...contract.contract import Contract
from ...contract.terms import Scope, Term, TermKind
from ...frontend.symbolic.summary import Origin, OriginKind, Site, ViewFootprint, earlier
from .layout import ByteFootprint, IndexFootprint, Place


@dataclass(frozen=True, slots=True)
class PreparedSite:
    """A site whose terms speak of the contract: sizes replaced, wraps discharged where they were shown to fit."""

    site: Site
    guard: Term
    place: Place
    waits: dict[int, Term]

    @property
    def origin(self) -> Origin:
        return self.place.origin


def map_origin(origin: Origin, f: Renaming) -> Origin:
    """``origin`` with all its terms changed."""
    return replace(
        origin,
        shape=tuple(map(f, origin.shape)),
        strides=tuple(map(f, origin.strides)),
        extent=None if origin.extent is None else f(origin.extent),
        index=None if origin.index is None else f(origin.index),
    )


def may_share(a: Origin, b: Origin, contract: Contract) -> bool:
    """Whether two origins may be the same memory."""
    if a.name == b.name and a.kind is b.kind:
        return True
    if OriginKind.UNKNOWN in (a.kind, b.kind):
        # An address of unknown origin may point anywhere but into a block's own allocation.
        return OriginKind.LOCAL not in (a.kind, b.kind)
    return contract.may_overlap(a.name, b.name) or contract.is_same(a.name, b.name)


def meet(first: PreparedSite, second: PreparedSite, contract: Contract, *, lanes_matter: bool = False) -> Term:
    """Both footprints touch one byte (``second`` is already renamed).

    Index space: coordinates are equal and live; tiles of one grid of tiles meet iff their numbers are equal.
    Bytes: the two ranges [offset, offset + size) intersect.
    Arrays of a list: both are the same one, and there the above; different ones do not overlap, or the launch says so.
    """
    within = _meet_in_array(first, second, contract, lanes_matter=lanes_matter)
    a, b = first.origin.index, second.origin.index
    return within if a is None or b is None else t.and_(t.eq(a, b), within)


def _meet_in_array(first: PreparedSite, second: PreparedSite, contract: Contract, *, lanes_matter: bool) -> Term:
    a, b = first.place, second.place
    same = a.origin.name == b.origin.name or contract.is_same(a.origin.name, b.origin.name)
    if (
        isinstance(a, IndexFootprint)
        and isinstance(b, IndexFootprint)
        and same
        and _injective(a.origin, b.origin, contract)
    ):
        if a.tile_index and b.tile_index and not lanes_matter and _tiles(a) == _tiles(b):
            return t.and_(*(t.eq(i, j) for (i, _), (j, _) in zip(a.tile_index, b.tile_index, strict=True)))
        equal = t.and_(*(t.eq(c, d) for c, d in zip(a.coordinates, b.coordinates, strict=True)))
        return t.and_(equal, _live(a), _live(b))
    x, y = _bytes(first), _bytes(second)
    shift = t.ZERO if same else overlap_distance(a.origin, b.origin)
    start = t.add(y.offset, shift)
    return t.and_(
        x.live,
        y.live,
        t.lt(x.offset, t.add(start, t.const(y.size))),
        t.lt(start, t.add(x.offset, t.const(x.size))),
    )


def one_place(first: PreparedSite, second: PreparedSite, rename: Renaming) -> Term:
    """The bytes that ``second`` touches are among those of ``first``, renamed, in one array, both being live."""
    a, b = first.place, second.place
    if isinstance(a, IndexFootprint) and isinstance(b, IndexFootprint):
        return t.and_(*(t.eq(rename(c), d) for c, d in zip(a.coordinates, b.coordinates, strict=True)))
    x, y = _bytes(first), _bytes(second)
    return t.eq(rename(x.offset), y.offset) if x.size >= y.size else t.FALSE


def overlap_distance(first: Origin, second: Origin) -> Term:
    """Bytes from the first byte of ``first`` to that of ``second`` where the two may overlap in any way.

    Both are aligned to their elements, so the distance is a multiple of the smaller element.
    """
    if second.name < first.name:
        return t.neg(overlap_distance(second, first))
    count = t.var(f"distance({first.name}, {second.name})", t.Scope.LAUNCH, -(2**40), 2**40)
    return t.scale(min(first.element_bytes, second.element_bytes), count)


def touches(place: Place) -> Term:
    """That the lane accesses memory of its array, its guard aside."""
    return _live(place) if isinstance(place, IndexFootprint) else place.live


def does_something(site: PreparedSite) -> Term:
    """That a lane is live, or at fault where it is not (TV301): whoever gets there is not idle."""
    footprint, place = site.site.footprint, site.place
    if isinstance(place, IndexFootprint) and place.bounded:
        return t.TRUE
    if not isinstance(footprint, ViewFootprint):
        return place.live
    tiles = zip(footprint.index, footprint.index_space, strict=True)
    return t.or_(place.live, *(t.le(space, index) for index, space in tiles if space is not None))


def _live(place: IndexFootprint) -> Term:
    """Live lanes lie inside the array: clipped by the view, or shown by TV302."""
    if place.bounded:
        return place.live
    inside = (
        t.and_(t.le(t.ZERO, c), t.lt(c, size)) for c, size in zip(place.coordinates, place.origin.shape, strict=True)
    )
    return t.and_(place.live, *inside)


def _injective(a: Origin, b: Origin, contract: Contract) -> bool:
    """Different coordinates are different addresses.  The arrays of a list are compared where they are the same one, so
    their layouts are equal though they may be written differently."""
    alike = a.shape == b.shape or a.kind is b.kind is OriginKind.LIST_ELEMENT
    return a.name in contract.injective and b.name in contract.injective and alike


def _tiles(place: IndexFootprint) -> tuple[int, ...]:
    assert place.tile_index is not None
    return tuple(size for _, size in place.tile_index)


def _bytes(prepared: PreparedSite) -> ByteFootprint:
    if isinstance(prepared.place, ByteFootprint):
        return prepared.place
    place = prepared.place
    elements = t.add(*(t.mul(c, s) for c, s in zip(place.coordinates, place.origin.strides, strict=True)))
    size = place.origin.element_bytes
    return ByteFootprint(place.origin, t.scale(size, elements), size, _live(place))


def renamed(prepared: PreparedSite, copy: Renaming) -> PreparedSite:
    """The footprint and guard of another instance; what it waits for stays in the site's own variables."""
    place = prepared.place
    origin = place.origin if place.origin.index is None else map_origin(place.origin, copy)
    if isinstance(place, IndexFootprint):
        tile_index = None if place.tile_index is None else tuple((copy(i), n) for i, n in place.tile_index)
        moved: Place = replace(
            place,
            origin=origin,
            coordinates=tuple(map(copy, place.coordinates)),
            live=copy(place.live),
            tile_index=tile_index,
        )
    else:
        moved = replace(place, origin=origin, offset=copy(place.offset), live=copy(place.live))
    return replace(prepared, guard=copy(prepared.guard), place=moved)


def place_terms(place: Place) -> Iterator[Term]:
    """The terms that say where a footprint lies."""
    if place.origin.index is not None:
        yield place.origin.index
    if isinstance(place, IndexFootprint):
        yield from (i for i, _ in place.tile_index or ())
        yield from place.coordinates
    else:
        yield place.offset


# ------------------------------------------------------------------------------------------------ waiting
def identity(term: Term) -> Term:
    return term


def awaited(earlier_site: PreparedSite, *, by: PreparedSite, own: Renaming, other: Renaming) -> Term:
    """Whether the instance of ``by`` waits for the instance of ``earlier_site``.

    ``own`` renames the variables of ``earlier_site``'s instance, ``other`` those of ``by``'s.
    """
    condition = by.waits.get(earlier_site.site.number)
    if condition is None:
        return t.FALSE
    # First the awaiting side (its variables are plain in the condition), then the awaited one's `earlier(k)`.
    shielded = {
        earlier(loop.iteration): t.var(f"awaited({loop.iteration.symbol.name})", t.Scope.LAUNCH)
        for loop in earlier_site.site.loops
    }
    condition = other(t.substitute(condition, shielded))
    back = {shielded[earlier(loop.iteration)]: own(loop.iteration) for loop in earlier_site.site.loops}
    return t.substitute(condition, back)


# ----------------------------------------------------------------------------------------------------------- two blocks
# The two-block reduction: renamed copies of the variables of a block, an iteration or a lane.


PRIME = "'"
"""Marks the second copy's variables."""


class CopyLevel(enum.StrEnum):
    """The kind of the second copy."""

    NONE = ""  # no second copy
    BLOCK = "block"  # a second tile block: shares only launch variables
    INSTANCE = "instance"  # another dynamic instance in the same block: shares block ids and the block's data
    LANE = "lane"  # another lane of the same instance


_FRESH = {
    CopyLevel.BLOCK: frozenset({Scope.BLOCK, Scope.ITERATION, Scope.LANE}),
    CopyLevel.INSTANCE: frozenset({Scope.ITERATION, Scope.LANE}),
    CopyLevel.LANE: frozenset({Scope.LANE}),
}


@dataclass
class PrimedCopy:
    """Renames the variables of ``level`` and below by appending ``mark``."""

    level: CopyLevel
    mark: str
    _memo: dict[Term, Term] = field(default_factory=dict)

    def __call__(self, term: Term) -> Term:
        return t.transform(term, self._rename, self._memo)

    def _rename(self, term: Term) -> Term | None:
        fresh = _FRESH[self.level]
        if term.kind is TermKind.VAR and term.symbol.scope in fresh:
            symbol = replace(term.symbol, name=term.symbol.name + self.mark)
            return t.var(symbol.name, symbol.scope, symbol.low, symbol.high, symbol.sort)
        if term.kind is TermKind.APPLY and term.function.scope in fresh:
            return t.apply(replace(term.function, name=term.function.name + self.mark), *term.args)
        return None


Renaming = Callable[[Term], Term]
