"""What a value of the program is during symbolic execution.

Integers, booleans and tiles of them are plain terms; everything else is one of the classes below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...contract.terms import (
    ZERO,
    Scope,
    Term,
    TermKind,
    add,
    choice,
    const,
    floordiv,
    floormod,
    scale,
    substitute,
    var,
)
from ...contract.terms.launch_wide import Opaque, chosen_bits, moved_bits, opaque
from ..bytecode.model import ScalarType
from .summary import Lane, Origin, OriginKind
from .tokens import Token, either_way


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer or a tile of pointers: ``offset`` bytes behind the first byte of ``origin``, a mathematical integer."""

    origin: Origin
    offset: Term


@dataclass(frozen=True, slots=True)
class TensorView:
    """A strided layout over memory: ``base`` bytes behind the origin; ``shape`` and ``strides`` in elements."""

    origin: Origin
    base: Term
    element: ScalarType
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class TileView:
    """A tensor view cut into tiles (partition, strided or gather/scatter view).

    ``step``: elements between neighbouring tile indices per view dimension.  ``element_index``: indices count elements,
    not tiles; ``sparse`` is the dimension whose index is a tile (gather/scatter view) or None.
    """

    tensor: TensorView
    tile: tuple[int, ...]
    step: tuple[int, ...]
    dim_map: tuple[int, ...]
    padding: str | None
    element_index: bool = False
    sparse: int | None = None


SymbolicValue: TypeAlias = Term | Opaque | Pointer | TensorView | TileView | Token
Lanewise: TypeAlias = Term | Opaque | Pointer


def unknown_origin(element_bytes: int) -> Origin:
    """Memory that nothing is known about; it may be any array's."""
    return Origin(OriginKind.UNKNOWN, "unknown", element_bytes)


def move(value: Lanewise, coordinates: CoordinateMap) -> Lanewise:
    """The tile whose element is the source's element at other coordinates."""
    match value:
        case Opaque():
            return opaque(value, *coordinates.values(), bits=moved_bits(value, coordinates))
        case Pointer(origin, offset):
            return Pointer(origin, substitute(offset, coordinates))
        case _:
            return substitute(value, coordinates)


def choose(condition: Term, then: SymbolicValue, otherwise: SymbolicValue) -> SymbolicValue:
    """``then`` where ``condition`` holds, else ``otherwise``; both of one type.

    Two pointers of different origins give a pointer of unknown origin (TV906): nobody downstream may guess.
    """
    if then is otherwise and not isinstance(then, Opaque):
        return then
    match then, otherwise:
        case Opaque() as one, Opaque() as other:
            return opaque(condition, one, other, bits=chosen_bits(condition, one, other))
        case Pointer(a, x), Pointer(b, y):
            origin = a if a == b else unknown_origin(a.element_bytes)
            return Pointer(origin, choice(condition, x, y))
        case Token(), Token():
            return either_way(condition, then, otherwise)
        case Term(), Term():
            return choice(condition, then, otherwise)
    raise AssertionError(f"cannot merge {type(then).__name__} and {type(otherwise).__name__}")


# ---------------------------------------------------------------------------------------------------------------- lanes
# Lane variables and coordinate maps: what broadcast, reshape, permute and extract do to a tile.
#
# A tile of shape S is one term over the canonical variables ``lane(d, S[d])``.  A dimension of size 1 has no
# variable, so broadcasting a size-1 dimension costs nothing.  An op that moves elements is a substitution: the source's
# lanes are replaced by terms over the result's lanes.


CoordinateMap: TypeAlias = Mapping[Term, Term]
"""Source lane variable -> term over the result's lanes; replaced all at once."""


def lane(dim: int, size: int) -> Term:
    """The coordinate along ``dim`` of a tile that has ``size`` elements there; 0 for size 1."""
    return var(f"l{dim}", Scope.LANE, 0, size - 1)


def lanes_of(shape: Sequence[int]) -> tuple[Lane, ...]:
    """The lane variables of a tile; dimensions of size 1 have none."""
    return tuple(Lane(lane(dim, size), size) for dim, size in enumerate(shape) if size > 1)


def lane_terms(shape: Sequence[int]) -> tuple[Term, ...]:
    """The lane variables alone."""
    return tuple(lane(dim, size) for dim, size in enumerate(shape) if size > 1)


def moved(shape: Sequence[int], coordinates: Sequence[Term]) -> CoordinateMap:
    """The map that reads element ``coordinates`` of a source of ``shape``."""
    return {
        lane(dim, size): coordinate
        for dim, (size, coordinate) in enumerate(zip(shape, coordinates, strict=True))
        if size > 1
    }


def permuted(shape: Sequence[int], permutation: Sequence[int]) -> CoordinateMap:
    """``result.shape[i] = shape[permutation[i]]``."""
    coordinates = [ZERO] * len(shape)
    for target, origin in enumerate(permutation):
        coordinates[origin] = lane(target, shape[origin])
    return moved(shape, coordinates)


def reshaped(source: Sequence[int], target: Sequence[int]) -> CoordinateMap:
    """Row-major relabelling.

    Both shapes are cut into the shortest runs of dimensions with equal products.  A run of one dimension on each side
    is a renaming, a source run of one dimension is a linear sum; only a split source dimension needs div and mod.
    """
    coordinates = [ZERO] * len(source)
    for origins, targets in _runs(source, target):
        linear, stride = ZERO, 1
        for dim in reversed(targets):
            linear = add(linear, scale(stride, lane(dim, target[dim])))
            stride *= target[dim]
        inner = 1
        for dim in reversed(origins):
            quotient = floordiv(linear, const(inner))
            coordinates[dim] = quotient if dim == origins[0] else floormod(quotient, const(source[dim]))
            inner *= source[dim]
    return moved(source, coordinates)


def _runs(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Matching runs of non-unit dimensions, as (source dimensions, target dimensions)."""
    left = [dim for dim, size in enumerate(source) if size > 1]
    right = [dim for dim, size in enumerate(target) if size > 1]
    runs: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(left):
        origins, targets = [left[i]], [right[j]]
        have, want = source[left[i]], target[right[j]]
        i, j = i + 1, j + 1
        while have != want:
            if have < want:
                origins.append(left[i])
                have, i = have * source[left[i]], i + 1
            else:
                targets.append(right[j])
                want, j = want * target[right[j]], j + 1
        runs.append((origins, targets))
    return runs


def mentions_lanes(term: Term) -> bool:
    """Whether the value differs between the elements of a tile."""
    return any(part.kind is TermKind.VAR and part.symbol.scope is Scope.LANE for part in term.free)
