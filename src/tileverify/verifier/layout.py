"""Footprints in the index space of their array.

An address ``sum(coordinate[d] * stride[d])`` is read back as coordinates, so that two accesses are compared by
coordinates, which needs no arithmetic on strides, instead of by bytes.  The reading is a *claim about live lanes*:
it holds once ``0 <= coordinate[d] < shape[d]`` is proved for them (TV302 does), because

  * an array is allocated to its full extent, so in-range coordinates give an offset below 2**63: the 64-bit sum
    of products cannot wrap, whatever the products are;
  * in an injective layout different in-range coordinates have different addresses.

``PlainFootprint`` is the fallback: bytes relative to the origin.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.summary import Footprint, Origin, PointerFootprint, Site, ViewFootprint
from ..frontend.symbolic.terms import Kind, Term


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
    """Read ``offset`` (bytes) as ``element_bytes * sum(c[d] * stride[d])``; ``None`` if it is not of that form."""
    if not origin.strides or element_bytes != origin.element_bytes:
        return None
    constant, parts = t.linear_parts(_strip_wraps(offset))
    if constant % element_bytes or any(c % element_bytes for c, _ in parts):
        return None
    slots = _Slots(origin)
    for coefficient, summand in [(constant // element_bytes, t.ONE), *((c // element_bytes, s) for c, s in parts)]:
        if coefficient and not slots.assign(coefficient, summand):
            return None
    return tuple(slots.coordinates)


def _strip_wraps(offset: Term) -> Term:
    """Drop the 64-bit wraps of the address sum (see the module's docstring for why that is no assumption)."""

    def strip(term: Term) -> Term:
        if term.kind is Kind.WRAP and term.payload == 64:
            return strip(term.args[0])
        if term.kind is Kind.SUM:
            constant, parts = t.linear_parts(term)
            return t.add(t.const(constant), *(t.scale(c, strip(s)) for c, s in parts))
        return term

    return strip(offset)


class _Slots:
    """Distributes the summands of an element offset over the dimensions of a layout."""

    def __init__(self, origin: Origin) -> None:
        self.coordinates: list[Term] = [t.ZERO] * len(origin.strides)
        self.symbolic: dict[Term, int] = {}
        self.constant: list[tuple[int, int]] = []
        for d, (size, stride) in enumerate(zip(origin.shape, origin.strides, strict=True)):
            if size is t.ONE:
                continue
            if stride.kind is Kind.CONST:
                self.constant.append((stride.value, d))
            else:
                self.symbolic.setdefault(stride, d)

    def assign(self, coefficient: int, summand: Term) -> bool:
        factors = summand.args if summand.kind is Kind.PRODUCT else (summand,)
        strides = [f for f in factors if f in self.symbolic]
        if len(strides) == 1:
            stride = strides[0]
            rest = list(factors)
            rest.remove(stride)
            self._add(self.symbolic[stride], t.scale(coefficient, t.product(rest)))
            return True
        if strides or len(self.constant) != 1:
            return False
        stride_value, d = self.constant[0]
        if stride_value == 0 or coefficient % stride_value:
            return False
        self._add(d, t.scale(coefficient // stride_value, summand))
        return True

    def _add(self, d: int, amount: Term) -> None:
        self.coordinates[d] = t.add(self.coordinates[d], amount)
