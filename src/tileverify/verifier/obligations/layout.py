"""Footprints in the index space of their array.

An address ``sum(coordinate[d] * stride[d])`` is read back as coordinates, so that two accesses are compared by
coordinates, which needs no arithmetic on strides, instead of by bytes.  The reading is a *claim about live lanes*:
it holds once ``0 <= coordinate[d] < shape[d]`` is proved for them (TV302 does), because

  * an array is allocated to its full extent, so in-range coordinates give an offset below 2**63: the 64-bit sum
    of products cannot wrap, whatever the products are;
  * in an injective layout different in-range coordinates have different addresses.

`ByteFootprint` is the fallback: bytes relative to the origin.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ...contract import terms as t
from ...contract.terms import Term, TermKind
from ...frontend.symbolic.summary import Footprint, Origin, PointerFootprint, Site, ViewFootprint


@dataclass(frozen=True, slots=True)
class IndexFootprint:
    """Lane ``l`` touches element ``coordinates(l)`` of the origin's own layout.

    ``live``: what must hold, beside the guard, for the lane to access memory (clipping of views).
    ``bounded``: the view already clips to the array's own shape, so TV302 has nothing left to show.
    ``tile_index``: for partition views of the origin's own layout: the tile number per layout dimension and the
    tile sizes; two such footprints with equal sizes meet exactly when the tile numbers are equal.
    """

    origin: Origin
    coordinates: tuple[Term, ...]
    live: Term
    bounded: bool
    tile_index: tuple[tuple[Term, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class ByteFootprint:
    """Lane ``l`` touches ``size`` bytes at ``offset(l)`` behind the origin's first byte."""

    origin: Origin
    offset: Term
    size: int
    live: Term


Place = IndexFootprint | ByteFootprint


def place(site: Site) -> Place:
    """The footprint of ``site`` in index space where that can be read off, else in bytes."""
    footprint = site.footprint
    if isinstance(footprint, ViewFootprint):
        return _place_view(footprint)
    coordinates = decompose(footprint.offset, footprint.origin, footprint.element_bytes)
    if coordinates is None:
        return ByteFootprint(footprint.origin, footprint.offset, footprint.element_bytes, t.TRUE)
    return IndexFootprint(footprint.origin, coordinates, t.TRUE, bounded=False)


def as_bytes(footprint: Footprint) -> ByteFootprint:
    """Any footprint as bytes; 4-bit elements cover the byte that holds them."""
    if isinstance(footprint, PointerFootprint):
        return ByteFootprint(footprint.origin, footprint.offset, footprint.element_bytes, t.TRUE)
    elements = t.add(*(t.mul(c, s) for c, s in zip(footprint.coordinates, footprint.strides, strict=True)))
    if footprint.packed:
        offset = t.add(footprint.base, t.floordiv(elements, t.const(2)))
    else:
        offset = t.add(footprint.base, t.scale(footprint.element_bytes, elements))
    return ByteFootprint(footprint.origin, offset, footprint.element_bytes, _clip(footprint))


def _clip(footprint: ViewFootprint) -> Term:
    return t.and_(
        *(
            t.and_(t.le(t.ZERO, c), t.lt(c, size))
            for c, size in zip(footprint.coordinates, footprint.shape, strict=True)
        )
    )


def _place_view(footprint: ViewFootprint) -> Place:
    origin = footprint.origin
    rank_matches = len(footprint.strides) == len(origin.strides)
    if footprint.packed or not origin.strides or footprint.element_bytes != origin.element_bytes:
        return as_bytes(footprint)
    if footprint.base is t.ZERO and footprint.strides == origin.strides:
        bounded = footprint.shape == origin.shape
        return IndexFootprint(
            origin, footprint.coordinates, _clip(footprint), bounded, _tile_index(footprint) if bounded else None
        )
    shift = decompose(footprint.base, origin, footprint.element_bytes) if rank_matches else None
    if shift is not None and footprint.strides == origin.strides:
        coordinates = tuple(t.add(a, b) for a, b in zip(shift, footprint.coordinates, strict=True))
        return IndexFootprint(origin, coordinates, _clip(footprint), bounded=False)
    return as_bytes(footprint)


def _tile_index(footprint: ViewFootprint) -> tuple[tuple[Term, int], ...] | None:
    """Tile numbers by layout dimension, if tiles do not overlap and every dimension is tiled."""
    if footprint.tile != footprint.step or any(space is None for space in footprint.index_space):
        return None
    if len(set(footprint.dim_map)) != len(footprint.shape):
        return None
    by_dimension = {
        dim: (index, tile) for dim, index, tile in zip(footprint.dim_map, footprint.index, footprint.tile, strict=True)
    }
    return tuple(by_dimension[d] for d in range(len(footprint.shape)))


# --------------------------------------------------------------------------------------- decomposition
def decompose(offset: Term, origin: Origin, element_bytes: int) -> tuple[Term, ...] | None:
    """Read ``offset`` (bytes) as ``element_bytes * sum(c[d] * stride[d])``; ``None`` if it is not of that form.

    Of two strides that are numbers, either may be meant: see `coordinates_of`.
    """
    dims = zip(origin.shape, origin.strides, strict=True)
    numbers = sum(size is not t.ONE and stride.kind is TermKind.CONST for size, stride in dims)
    return None if numbers > 1 else coordinates_of(offset, origin, element_bytes)


def coordinates_of(offset: Term, origin: Origin, element_bytes: int) -> tuple[Term, ...] | None:
    """`decompose`, where each summand belongs to the largest stride that divides it.

    The sum is exact, but the address may have other coordinates, too: use these only where they lie in range.
    """
    if not origin.strides or element_bytes != origin.element_bytes:
        return None
    return _Slots(origin).read(_strip_wraps(offset), element_bytes)


def _strip_wraps(offset: Term) -> Term:
    """Drop the 64-bit wraps of the address sum (see the module's docstring for why that is no assumption)."""
    if offset.kind is TermKind.WRAP and offset.payload == 64:
        return _strip_wraps(offset.args[0])
    if offset.kind is TermKind.SUM:
        constant, parts = t.linear_parts(offset)
        return t.add(t.const(constant), *(t.scale(c, _strip_wraps(s)) for c, s in parts))
    return offset


class _Slots:
    """Distributes the summands of an address over the dimensions of a layout."""

    def __init__(self, origin: Origin) -> None:
        self.rank = len(origin.strides)
        self.strides = [  # how many factors, the number, the dimension from behind, the factors
            (len(factors), number, -d, Counter(factors))
            for d, (number, factors) in enumerate(map(_monomial, origin.strides))
            if number and origin.shape[d] is not t.ONE
        ]

    def read(self, offset: Term, unit: int) -> tuple[Term, ...] | None:
        """Coordinates c with ``offset = unit * sum(c[d] * stride[d])``."""
        coordinates = [t.ZERO] * self.rank
        constant, parts = t.linear_parts(offset)
        for factor, summand in [(constant, t.ONE), *parts]:
            if factor == 0:
                continue
            amount = self._summand(factor, summand, unit)
            if amount is None:
                return None
            coordinates = [t.add(a, b) for a, b in zip(coordinates, amount, strict=True)]
        return tuple(coordinates)

    def _summand(self, factor: int, summand: Term, unit: int) -> tuple[Term, ...] | None:
        if summand.kind is TermKind.ITE:
            # A choice of addresses is an address of chosen coordinates.
            condition, *branches = summand.args
            read = [self.read(t.scale(factor, branch), unit) for branch in branches]
            if read[0] is None or read[1] is None:
                return None
            return tuple(t.ite(condition, a, b) for a, b in zip(*read, strict=True))
        if factor % unit:
            return None
        count, factors = factor // unit, Counter(summand.args if summand.kind is TermKind.PRODUCT else (summand,))
        fitting = [each for each in self.strides if count % each[1] == 0 and each[3] <= factors]
        _, number, d, largest = max(fitting, key=lambda each: each[:3], default=(0, 1, 0, None))
        if largest is None or any(not own <= largest for *_, own in fitting):
            return None
        amount = t.scale(count // number, t.product((factors - largest).elements()))
        return tuple(amount if k == -d else t.ZERO for k in range(self.rank))


def _monomial(stride: Term) -> tuple[int, tuple[Term, ...]]:
    """A stride as a number times factors."""
    constant, parts = t.linear_parts(stride)
    if not parts:
        return constant, ()
    if constant or len(parts) > 1:
        return 1, (stride,)
    ((number, rest),) = parts
    return number, rest.args if rest.kind is TermKind.PRODUCT else (rest,)
