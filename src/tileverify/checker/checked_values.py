"""What a value of the program is to the checker.

Integers, conditions and tiles of them are terms; a float or a tile of floats is `Opaque`; the rest is below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..contract.terms import ZERO, Scope, Term, add, const, floordiv, floormod, scale, substitute, var
from ..contract.terms.launch_wide import Opaque, opaque
from ..frontend.bytecode.model import ScalarType
from ..frontend.symbolic.summary import Origin


@dataclass(frozen=True, slots=True)
class Address:
    """``offset`` bytes behind the first byte of ``origin``, lane by lane."""

    origin: Origin
    offset: Term


@dataclass(frozen=True, slots=True)
class Layout:
    """A tensor view: ``shape`` and ``strides`` in elements, ``base`` bytes behind the origin."""

    origin: Origin
    base: Term
    element: ScalarType
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Tiling:
    """A tensor view cut into tiles of ``tile`` elements, ``step`` elements apart along each view dimension.

    ``dims``: the layout's dimension of each view dimension.  ``by_element``: indices count elements, not tiles;
    ``sparse``: the view dimension whose index is a tile.
    """

    layout: Layout
    tile: tuple[int, ...]
    step: tuple[int, ...]
    dims: tuple[int, ...]
    padding: str | None
    by_element: bool = False
    sparse: int | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A token: by the offset of an access, the condition under which an instance of it is certainly awaited.

    The instance's iterations appear as `earlier`, as in `Wait`.
    """

    awaits: Mapping[int, Term]


Value: TypeAlias = Term | Opaque | Address | Layout | Tiling | Waiting


@dataclass
class Misread(Exception):
    """The bytecode does something else than what is said of it."""

    message: str


@dataclass
class NotFollowed(Exception):
    """Something that the checker has no rule for, or no answer: it says nothing of this kernel."""

    message: str


# ----------------------------------------------------------------------------------------------------------- lane moves
# Lanes: the coordinates of a tile's elements, and what becomes of them when an op moves elements.
#
# A tile is one term over ``l0``, ``l1`` ..., one variable for every dimension of more than one element.  An op that
# moves elements says where each element of its result comes from: its source's lanes are replaced by terms over its
# own.


def lane(dim: int, size: int) -> Term:
    """The coordinate along ``dim``; 0 where there is one element."""
    return var(f"l{dim}", Scope.LANE, 0, size - 1)


def lanes(shape: Sequence[int]) -> tuple[Term, ...]:
    return tuple(lane(dim, size) for dim, size in enumerate(shape) if size > 1)


def taken_from(value: Value, shape: Sequence[int], coordinates: Sequence[Term]) -> Value:
    """The tile whose element is that of ``value``, a tile of ``shape``, at ``coordinates``."""
    moved = {lane(d, size): at for d, (size, at) in enumerate(zip(shape, coordinates, strict=True)) if size > 1}
    match value:
        case Opaque():
            return opaque(value, *moved.values())
        case Address(origin, offset):
            return Address(origin, substitute(offset, moved))
        case Term():
            return substitute(value, moved)
    raise NotFollowed(f"elements of a {type(value).__name__} are moved")


def row_major(source: Sequence[int], target: Sequence[int]) -> list[Term]:
    """Where a reshape to ``target`` finds its element in ``source``: both count their elements row by row.

    Dimensions are taken in groups of equal sizes, from the left, so that a dimension that stays as it is stays a lane.
    """
    found = [ZERO] * len(source)
    for mine, theirs in _groups(source, target):
        position, unit = ZERO, 1
        for dim in reversed(theirs):
            position = add(position, scale(unit, lane(dim, target[dim])))
            unit *= target[dim]
        unit = 1
        for dim in reversed(mine):
            whole = floordiv(position, const(unit))
            found[dim] = whole if dim == mine[0] else floormod(whole, const(source[dim]))
            unit *= source[dim]
    return found


def _groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The smallest groups of neighbouring dimensions that have as many elements on both sides."""
    left = [dim for dim, size in enumerate(source) if size > 1]
    right = [dim for dim, size in enumerate(target) if size > 1]
    groups: list[tuple[list[int], list[int]]] = []
    while left:
        mine, theirs = [left.pop(0)], [right.pop(0)]
        here, there = source[mine[0]], target[theirs[0]]
        while here != there:
            if here < there:
                mine.append(left.pop(0))
                here *= source[mine[-1]]
            else:
                theirs.append(right.pop(0))
                there *= target[theirs[-1]]
        groups.append((mine, theirs))
    return groups
