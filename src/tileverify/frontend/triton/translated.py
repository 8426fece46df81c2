"""What values of Triton IR become while a kernel is translated, and the steps that translations share.

A pointer is (base, offset): a parameter of the entry, and one 64-bit number of elements behind it.  ``tt.addptr`` adds
to that number, modulo 2^64 as Triton's own lowering does, so that a chain of additions stays one sum and a loop
carries a number in place of a pointer.  A pointer whose base is not one parameter (selected, loaded, made of an
integer) keeps a tile of pointers as its base.  Where it is one of several parameters, as a branch or a selection says,
it is that too, and an access of it is one of each of them (`PointerChoice`).

A tensor descriptor is its base, sizes, strides and block; its accesses are those of pointers with a mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    ``root`` is the parameter that the base is, ``None`` where it is not one parameter; ``choice``: the parameters of
    which it is one then, where that is known.
    """

    base: Value
    pointee: ScalarType
    shape: tuple[int, ...]
    offset: Value | None = None
    root: str | None = None
    choice: PointerChoice | None = None


@dataclass(frozen=True, slots=True)
class PointerChoice:
    """One of several parameters: ``which``, an i32 tile without dimensions or of the pointers' shape, numbers them."""

    which: Value
    among: tuple[TritonPointer, ...]

    @property
    def roots(self) -> tuple[str, ...]:
        return tuple(each.root for each in self.among if each.root is not None)


def roots_of(place: TritonPointer) -> tuple[str, ...]:
    """The parameters that ``place`` may point into; none where they are not known."""
    return place.choice.roots if place.choice is not None else () if place.root is None else (place.root,)


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
        before, after, choice = place.pointee.bytes, pointee.bytes, place.choice
        if choice is not None:
            choice = replace(choice, among=tuple(replace(each, pointee=pointee) for each in choice.among))
        if place.offset is None or before == after:
            return replace(place, pointee=pointee, choice=choice)
        if before % after == 0:
            factor = self.number(before // after, I64, *place.shape)
            total = self.body.op("muli", lhs=place.offset, rhs=factor)
            return replace(place, pointee=pointee, choice=choice, offset=total)
        return replace(self.settled(place), pointee=pointee)

    def joint_choice(self, *places: TritonPointer) -> tuple[TritonPointer, ...]:
        """The parameters that any of ``places`` may point into, as pointers to their first elements."""
        found: dict[str, TritonPointer] = {}
        for place in places:
            own = (replace(place, shape=(), offset=None),) if place.root is not None else ()
            for each in own if place.choice is None else place.choice.among:
                assert each.root is not None
                found.setdefault(each.root, each)
        return tuple(found.values())

    def numbered(self, place: TritonPointer, among: Sequence[TritonPointer]) -> Value | None:
        """Which of ``among`` the base of ``place`` is, as in `PointerChoice`; ``None`` where it may be another one."""
        numbers = {each.root: number for number, each in enumerate(among)}
        if not roots_of(place) or not all(root in numbers for root in roots_of(place)):
            return None
        if place.choice is None:
            return self.number(numbers[place.root])
        which, shape = place.choice.which, tile_of(place.choice.which).shape
        made = self.number(numbers[place.choice.roots[0]], I32, *shape)
        for number, root in enumerate(place.choice.roots[1:], 1):
            here = self.is_number(which, number)
            made = self.body.op("select", c=here, t=self.number(numbers[root], I32, *shape), f=made)
        return made

    def chosen(
        self, which: Value, among: Sequence[TritonPointer], shape: tuple[int, ...], offset: Value
    ) -> TritonPointer:
        """The pointers ``offset`` elements behind those of ``among`` that ``which`` numbers."""
        lanes = tile_of(which).shape
        base = self.stretched(self.address(among[0]), lanes)
        for number, each in enumerate(among[1:], 1):
            other = self.stretched(self.address(each), lanes)
            base = self.body.op("select", c=self.is_number(which, number), t=other, f=base)
        return TritonPointer(base, among[0].pointee, shape, offset, choice=PointerChoice(which, tuple(among)))

    def is_number(self, value: Value, number: int) -> Value:
        """Where an i32 tile holds ``number``."""
        made: Value = self.body.op(
            "cmpi", lhs=value, rhs=self.number(number, I32, *tile_of(value).shape), pred="equal", sgn="signed"
        )
        return made

    def cases(self, place: TritonPointer) -> Iterator[tuple[TritonPointer, Value | None]]:
        """The same pointers as ones into one parameter each, with the lanes where they are; themselves otherwise."""
        if place.choice is None:
            yield place, None
            return
        for number, each in enumerate(place.choice.among):
            here = self.stretched(self.is_number(place.choice.which, number), place.shape)
            yield replace(each, shape=place.shape, offset=place.offset), here


__all__ = [
    "Descriptor",
    "TileBuilder",
    "Translated",
    "TritonPointer",
    "Untranslated",
    "element_of",
    "pointer",
    "roots_of",
    "shape_of",
    "tile_of",
]  # fmt: skip
