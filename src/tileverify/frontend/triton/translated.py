"""What values of Triton IR become while a kernel is translated, and the steps that translations share.

A pointer is (base, offset): a parameter of the entry, and one 64-bit number of elements behind it.  ``tt.addptr`` adds
to that number, modulo 2^64 as Triton's own lowering does, so that a chain of additions stays one sum and a loop
carries a number in place of a pointer.  A pointer whose base is not one parameter (selected, loaded, made of an
integer) keeps a tile of pointers as its base.

A tensor descriptor is its base, sizes, strides and block; its accesses are those of pointers with a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ...system.errors import SourceError
from ..bytecode.builder import I32, I64, BodyBuilder, pointer, tile
from ..bytecode.location import Location, user_frame
from ..bytecode.model import PointerType, ScalarType, TileType, Value
from .ttir import TritonOp


class Untranslated(SourceError):
    """An op of Triton IR that has no translation; `check` reports it as TV901 at the op's line."""

    def __init__(self, message: str, location: Location | None, file: str) -> None:
        frame = user_frame(location)
        super().__init__(message, frame.file if frame else file, frame.line if frame else None)


@dataclass(frozen=True, slots=True)
class TritonPointer:
    """A tile of pointers: ``base`` plus ``offset`` elements of type ``pointee``.

    ``base`` has no dimensions, or those of ``shape``; ``offset`` is an i64 tile of ``shape``, ``None`` is zero.
    ``root`` is the parameter that the base is, ``None`` where it is not one parameter.
    """

    base: Value
    pointee: ScalarType
    shape: tuple[int, ...]
    offset: Value | None = None
    root: str | None = None


@dataclass(frozen=True, slots=True)
class Descriptor:
    """``sizes`` and ``strides`` are i64 tiles without dimensions; ``nan``: loads are padded with NaN, not with zero (an
    i1 tile where regions handed the descriptor on); ``unsigned``: so are its integers."""

    base: TritonPointer
    sizes: tuple[Value, ...]
    strides: tuple[Value, ...]
    block: tuple[int, ...]
    nan: bool | Value = False
    unsigned: bool = False


Translated: TypeAlias = Value | TritonPointer | Descriptor


def tile_of(value: Value) -> TileType:
    type = value.type
    assert isinstance(type, TileType), type
    return type


def element_of(value: Value) -> ScalarType:
    element = tile_of(value).element
    assert isinstance(element, ScalarType), element
    return element


def tiles(operands: Sequence[Translated]) -> list[Value]:
    """Operands that are numbers."""
    values = [value for value in operands if isinstance(value, Value)]
    assert len(values) == len(operands), "pointers are no numbers"
    return values


def shape_of(value: Translated) -> tuple[int, ...]:
    if isinstance(value, TritonPointer):
        return value.shape
    if isinstance(value, Descriptor):
        return value.block
    return tile_of(value).shape


# ----------------------------------------------------------------------------------------------------- helpers
class TileBuilder:
    """The body under construction, with the steps of several ops that translations share."""

    def __init__(self, body: BodyBuilder, file: str) -> None:
        self.body = body
        self.file = file

    def cannot(self, op: TritonOp, reason: str) -> Untranslated:
        return Untranslated(reason, op.location, self.file)

    @property
    def ended(self) -> bool:
        """Whether the block under construction has its last op."""
        return self.body.ended

    def number(self, value: int, element: ScalarType = I32, *shape: int) -> Value:
        return self.body.constant(tile(element, *shape), value)

    def reshaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        type = tile_of(value)
        if type.shape == shape:
            return value
        made: Value = self.body.op("reshape", s=value, results=[TileType(type.element, shape)])
        return made

    def stretched(self, value: Value, shape: tuple[int, ...]) -> Value:
        """``value`` with every extent of 1 repeated; one without dimensions fills the whole."""
        type = tile_of(value)
        if not type.shape and shape:
            value = self.reshaped(value, (1,) * len(shape))
        if tile_of(value).shape == shape:
            return value
        made: Value = self.body.op("broadcast", s=value, results=[TileType(type.element, shape)])
        return made

    def along(self, value: Value, dim: int, shape: tuple[int, ...]) -> Value:
        """A one-dimensional tile as dimension ``dim`` of a tile of ``shape``."""
        (extent,) = tile_of(value).shape
        return self.stretched(self.reshaped(value, tuple(extent if d == dim else 1 for d in range(len(shape)))), shape)

    def lanes(self, extent: int, element: ScalarType = I32) -> Value:
        made: Value = self.body.op("iota", results=[tile(element, extent)])
        return made

    def widened(self, value: Value, element: ScalarType = I64, *, signed: bool = True) -> Value:
        """An integer in the width of ``element``."""
        type = tile_of(value)
        bits = element_of(value).bits
        if bits == element.bits:
            return value
        result = [TileType(element, type.shape)]
        made: Value = (
            self.body.op("exti", s=value, sgn="signed" if signed else "unsigned", results=result)
            if bits < element.bits
            else self.body.op("trunci", s=value, results=result)
        )
        return made

    def both(self, first: Value | None, second: Value | None) -> Value | None:
        """The conjunction of two masks, of which either may be absent."""
        if first is None or second is None:
            return first if second is None else second
        made: Value = self.body.op("andi", lhs=first, rhs=second)
        return made

    # ---------------------------------------------------------------------------------------------- pointers
    def moved(self, place: TritonPointer, by: Value) -> TritonPointer:
        """``place`` behind ``by`` more elements, an integer tile of its shape."""
        step = self.widened(by)
        total = step if place.offset is None else self.body.op("addi", lhs=place.offset, rhs=step)
        return replace(place, offset=total)

    def offset(self, place: TritonPointer) -> Value:
        return self.number(0, I64, *place.shape) if place.offset is None else place.offset

    def address(self, place: TritonPointer) -> Value:
        """The tile of pointers itself."""
        base = place.base
        wanted = PointerType(place.pointee)
        if tile_of(base).element != wanted:
            base = self.body.op("ptr_to_ptr", s=base, results=[TileType(wanted, tile_of(base).shape)])
        base = self.stretched(base, place.shape)
        if place.offset is None:
            return base
        made: Value = self.body.op("offset", ptr=base, off=place.offset)
        return made

    def settled(self, place: TritonPointer) -> TritonPointer:
        """The same pointers without an offset, on a base that is no longer a parameter."""
        return TritonPointer(self.address(place), place.pointee, place.shape)

    def retyped(self, place: TritonPointer, pointee: ScalarType) -> TritonPointer:
        """Pointers to the same places as ``pointee``; an offset counts elements, so it is counted anew."""
        before, after = place.pointee.bytes, pointee.bytes
        if place.offset is None or before == after:
            return replace(place, pointee=pointee)
        if before % after == 0:
            factor = self.number(before // after, I64, *place.shape)
            return replace(place, pointee=pointee, offset=self.body.op("muli", lhs=place.offset, rhs=factor))
        return replace(self.settled(place), pointee=pointee)


__all__ = [
    "Descriptor",
    "TileBuilder",
    "Translated",
    "TritonPointer",
    "Untranslated",
    "element_of",
    "pointer",
    "shape_of",
    "tile_of",
]  # fmt: skip
