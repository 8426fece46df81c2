"""Shapes and strides of arrays, read off what an entry does with its parameters.

    a view of sizes (M, N) and strides (s, 1)                                    f32[M, N; strides=(s, 1)]
    x + i * s + j * t  where  i < M  and  j < N                                  f32[M, N; strides=(s, t)]
    x + (pid // tiles * 128 + lane) % M * s + j  where  j < K                    f32[M, K; strides=(s, 1)]

A pointer is read so only where its addresses have two strides that no number gives, or a coordinate that is a quotient
or a remainder by a scalar: of these a prover needs the coordinates.  Any other pointer is to a flat array, of which
conditions say more exactly how many elements it needs.  Which parameter is a stride, and which bounds a coordinate,
goes by the terms that they occur in, and never by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Final, TypeAlias

from ...contract.launch import Apply, Expression, Name, Number
from ...contract.terms import (
    ONE,
    ZERO,
    Scope,
    Term,
    TermKind,
    add,
    flat_conjuncts,
    from_linear,
    linear_parts,
    mul,
    postorder,
    product,
    scale,
    sub,
    transform,
)
from ...contract.terms.rendering import unsigned_reading
from ..symbolic.summary import OriginKind, PointerFootprint, Site, ViewFootprint

Layout: TypeAlias = tuple[tuple[Expression, ...], tuple[Expression, ...] | None]
"""Shape, and strides unless the array is contiguous."""

_QUOTIENTS: Final = (TermKind.DIV, TermKind.MOD, TermKind.TDIV, TermKind.TMOD)


class _NoWord(Exception):
    """A size that the words of a spec do not reach."""


def layouts_of(sites: Sequence[Site], names: Sequence[str]) -> dict[str, Layout]:
    """The layouts that the accesses of a kernel with the parameters ``names`` speak of, by array."""
    return {**_of_pointers(sites, names), **_of_views(sites)}


# ------------------------------------------------------------------------------------------------------------- views
def _of_views(sites: Iterable[Site]) -> dict[str, Layout]:
    """Shape and strides of the arrays of which all views that begin at the first element say the same."""
    found: dict[str, set[Layout | None]] = {}
    for site in sites:
        footprint, origin = site.footprint, site.origin
        if isinstance(footprint, ViewFootprint) and origin.kind is OriginKind.PARAMETER:
            found.setdefault(origin.name, set()).add(_layout(footprint))
    return {name: layout for name, (layout, *others) in found.items() if layout is not None and not others}


def _layout(footprint: ViewFootprint) -> Layout | None:
    """The view's sizes and strides in the words of a spec; ``None`` where they have none, or it begins elsewhere."""
    if footprint.base is not ZERO:
        return None
    sizes, steps = [[_as_passed(term) for term in terms] for terms in (footprint.shape, footprint.strides)]
    try:
        shape = tuple(map(_expression, sizes))
        strides = None if steps == _row_major(sizes) else tuple(map(_expression, steps))
    except _NoWord:
        return None
    return shape, strides


# ---------------------------------------------------------------------------------------------------------- pointers
_Reading: TypeAlias = Mapping[Term, Term]
"""The coordinate along each stride; the stride of neighbours is `ONE`."""


def _of_pointers(sites: Sequence[Site], names: Sequence[str]) -> dict[str, Layout]:
    """The layouts of arrays behind plain pointers, as far as all accesses of an array agree."""
    found = {}
    for name in dict.fromkeys(site.origin.name for site in sites if site.origin.kind is OriginKind.PARAMETER):
        own = [site for site in sites if site.origin.name == name]
        readings = [_reading(site) for site in own]
        if all(readings) and _needs_coordinates([each for each in readings if each]):
            found[name] = _pointer_layout(name, own, [each for each in readings if each], names)
    return found


def _reading(site: Site) -> _Reading | None:
    """The address as coordinates times strides; ``None`` where it is no such sum."""
    footprint = site.footprint
    if not isinstance(footprint, PointerFootprint):
        return None
    constant, parts = linear_parts(_as_passed(footprint.offset))
    size, found = footprint.element_bytes, dict[Term, Term]()
    if constant % size or any(factor % size for factor, _ in parts):
        return None
    for factor, summand in parts:
        factors = summand.args if summand.kind is TermKind.PRODUCT else (summand,)
        stride = product([each for each in factors if _is_scalar(each)])
        rest = [each for each in factors if not _is_scalar(each)]
        if not rest:
            return None  # the launch moves the first element
        found[stride] = add(found.get(stride, ZERO), scale(factor // size, product(rest)))
    if constant:
        found[ONE] = add(found.get(ONE, ZERO), scale(constant // size, ONE))
    return found


def _is_scalar(term: Term) -> bool:
    return term.kind is TermKind.VAR and term.symbol.scope is Scope.LAUNCH and "." not in term.symbol.name


def _is_known(term: Term) -> bool:
    return all(leaf.kind is TermKind.VAR and _is_scalar(leaf) for leaf in term.free)


def _needs_coordinates(readings: Sequence[_Reading]) -> bool:
    strides = {stride for reading in readings for stride in reading} - {ONE}
    coordinates = (coordinate for reading in readings for coordinate in reading.values())
    parts = (part for coordinate in coordinates for part in postorder(coordinate))
    by_scalar = any(part.kind in _QUOTIENTS and part.args[1].kind is not TermKind.CONST for part in parts)
    return len(strides) > 1 or bool(strides and by_scalar)


def _pointer_layout(name: str, sites: Sequence[Site], readings: Sequence[_Reading], names: Sequence[str]) -> Layout:
    """The longest products come first as strides, and neighbours last."""
    places = {each: place for place, each in enumerate(names)}

    def order(stride: Term) -> tuple[bool, int, list[int]]:
        factors = stride.args if stride.kind is TermKind.PRODUCT else (stride,)
        return stride is ONE, -len(factors), sorted(places.get(leaf.symbol.name, 0) for leaf in stride.free)

    strides = sorted({stride for reading in readings for stride in reading}, key=order)
    shape = tuple(
        _size(stride, sites, readings) or Name(_free_name(f"{name.rstrip('_')}_{dim}", names))
        for dim, stride in enumerate(strides)
    )
    return shape, tuple(map(_expression, strides))


def _free_name(name: str, names: Sequence[str]) -> str:
    while name in names:
        name += "_"
    return name


def _size(stride: Term, sites: Sequence[Site], readings: Sequence[_Reading]) -> Expression | None:
    """What bounds the coordinates along a stride, wherever something does."""
    pairs = zip(sites, readings, strict=True)
    found = {_bound(reading[stride], site.guard) for site, reading in pairs if stride in reading} - {None}
    if len(found) != 1:
        return None
    (bound,) = found
    assert bound is not None
    try:
        return _expression(bound)
    except _NoWord:
        return None


def _bound(coordinate: Term, guard: Term) -> Term | None:
    """``n`` for a coordinate below ``n``: as a mask says, or as a remainder is."""
    if coordinate.kind in (TermKind.MOD, TermKind.TMOD) and _is_known(coordinate.args[1]):
        return coordinate.args[1]
    for part in flat_conjuncts(_as_passed(guard)):
        if part.kind in (TermKind.LT, TermKind.LE):
            constant, parts = linear_parts(sub(*part.args))
            position = from_linear(0, {summand: factor for factor, summand in parts if not _is_known(summand)})
            rest = from_linear(constant, {summand: factor for factor, summand in parts if _is_known(summand)})
            moved = sub(coordinate, position)
            if position.free and moved.kind is TermKind.CONST:
                return add(sub(moved, rest), ONE if part.kind is TermKind.LE else ZERO)
    return None


# ------------------------------------------------------------------------------------------------------------- words
def _as_passed(term: Term) -> Term:
    """A size as the launch passes it: none is negative or beyond its type, so that it is what every reading makes it.

    Where a kernel computes sizes, that they fit is the kernel's to show: its views keep their readings.
    """

    def leaf(part: Term) -> Term | None:
        reading = unsigned_reading(part)
        if reading is not None:
            return reading[1]
        return part.args[0] if part.kind is TermKind.WRAP else None

    return transform(term, leaf)


def _row_major(sizes: Sequence[Term]) -> list[Term]:
    return [reduce(mul, sizes[dim + 1 :], ONE) for dim in range(len(sizes))]


def _expression(term: Term) -> Expression:
    """A number, a scalar of the entry, or sums and products of these."""
    match term.kind:
        case TermKind.CONST if term.value >= 0:
            return Number(term.value)
        case TermKind.VAR if term.symbol.scope is Scope.LAUNCH and "." not in term.symbol.name:
            return Name(term.symbol.name)
        case TermKind.PRODUCT:
            return _joined("*", map(_expression, term.args))
        case TermKind.SUM:
            constant, parts = linear_parts(term)
            summands = [_scaled(factor, part) for factor, part in parts]
            return _joined("+", [*summands, Number(constant)] if constant > 0 else summands)
    raise _NoWord


def _scaled(factor: int, term: Term) -> Expression:
    if factor < 0:
        raise _NoWord
    return _expression(term) if factor == 1 else Apply("*", (Number(factor), _expression(term)))


def _joined(op: str, parts: Iterable[Expression]) -> Expression:
    return reduce(lambda left, right: Apply(op, (left, right)), parts)
