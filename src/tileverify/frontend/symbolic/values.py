"""What a value of the program is during symbolic execution.

Integers, booleans and tiles of them are plain terms; everything else is one of the classes below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...contract.terms import Term, choice, substitute
from ...contract.terms.launch_wide import Opaque, opaque
from ..bytecode.model import ScalarType
from .lanes import CoordinateMap
from .summary import Origin, OriginKind
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
            return opaque(value, *coordinates.values())
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
        case Opaque(), Opaque():
            return opaque(condition, then, otherwise)
        case Pointer(a, x), Pointer(b, y):
            origin = a if a == b else unknown_origin(a.element_bytes)
            return Pointer(origin, choice(condition, x, y))
        case Token(), Token():
            return either_way(condition, then, otherwise)
        case Term(), Term():
            return choice(condition, then, otherwise)
    raise AssertionError(f"cannot merge {type(then).__name__} and {type(otherwise).__name__}")
