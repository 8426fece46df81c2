"""Lane variables and coordinate maps: what broadcast, reshape, permute and extract do to a tile.

A tile of shape S is one term over the canonical variables ``lane(d, S[d])``.  A dimension of size 1 has no
variable, so broadcasting a size-1 dimension costs nothing.  An op that moves elements is a substitution: the source's
lanes are replaced by terms over the result's lanes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ...contract.terms import ZERO, Scope, Term, TermKind, add, const, floordiv, floormod, scale, var
from .summary import Lane

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
