"""The immutable SSA model of a Tile IR module: what the decoder makes and everything else reads.

Types compare by value; values and ops by identity.  Locations keep the whole call-site chain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .location import Location

if TYPE_CHECKING:
    from .optable import OpDeclaration


# ---------------------------------------------------------------------------------------------- types
@dataclass(frozen=True, slots=True)
class ScalarType:
    """An element type: ``name`` as Tile IR text spells it (``i32``, ``f8E4M3FN``), ``bits`` its width."""

    name: str
    bits: int

    @property
    def is_integer(self) -> bool:
        return self.name[0] == "i"

    @property
    def is_float(self) -> bool:
        return self.name[0] != "i"

    @property
    def bytes(self) -> int:
        """Storage size in bytes; i1 takes one byte, two 4-bit elements share one (see ``packed``)."""
        return max(1, self.bits // 8) if self.name != "tf32" else 4

    @property
    def packed(self) -> bool:
        """True for 4-bit elements, of which two share a byte."""
        return self.bits == 4

    def stored_bytes(self, count: int) -> int:
        """Bytes that ``count`` elements take in the constant section: i1 is bit-packed, tf32 takes three bytes."""
        return (count + 7) // 8 if self.bits == 1 else count * ((self.bits + 7) // 8)


@dataclass(frozen=True, slots=True)
class PointerType:
    pointee: ScalarType
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class TileType:
    """A tile of scalars or pointers; ``shape`` is empty for a 0-d tile."""

    element: ScalarType | PointerType
    shape: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class TensorViewType:
    """``None`` marks a dynamic size or stride; strides count elements."""

    element: ScalarType
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionViewType:
    tile: tuple[int, ...]
    tensor: TensorViewType
    dim_map: tuple[int, ...]
    padding: str | None = None


@dataclass(frozen=True, slots=True)
class StridedViewType:
    tile: tuple[int, ...]
    traversal: tuple[int, ...]
    tensor: TensorViewType
    dim_map: tuple[int, ...]
    padding: str | None = None


@dataclass(frozen=True, slots=True)
class GatherScatterViewType:
    tile: tuple[int, ...]
    tensor: TensorViewType
    sparse_dim: int
    padding: str | None = None


@dataclass(frozen=True, slots=True)
class TokenType:
    pass


@dataclass(frozen=True, slots=True)
class FunctionType:
    parameters: tuple[Type, ...]
    results: tuple[Type, ...]


ViewType: TypeAlias = PartitionViewType | StridedViewType | GatherScatterViewType
Type: TypeAlias = (
    ScalarType
    | PointerType
    | TileType
    | TensorViewType
    | PartitionViewType
    | StridedViewType
    | GatherScatterViewType
    | TokenType
    | FunctionType
)


# ----------------------------------------------------------------------------------------- locations


# -------------------------------------------------------------------------------- attribute payloads
@dataclass(frozen=True, slots=True)
class DivBy:
    """``assume div_by``: a power-of-two divisor; ``every``/``along`` describe runs, both or none."""

    divisor: int
    every: int | None = None
    along: int | None = None


@dataclass(frozen=True, slots=True)
class Bounded:
    """``assume bounded``: inclusive signed bounds, ``None`` for an open side."""

    lower: int | None
    upper: int | None


@dataclass(frozen=True, slots=True)
class SameElements:
    """``assume same_elements``: group size per dimension."""

    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IntegerAttribute:
    """A typed integer, read as signed (0/1 for i1); identities of ``reduce`` and ``scan``, hint values."""

    type: ScalarType
    value: int


@dataclass(frozen=True, slots=True)
class FloatAttribute:
    """A typed float as the bit pattern that ``tileiras`` reads.

    ``overlong`` marks a 64-bit pattern written as a 65-bit number, of which ``tileiras`` drops the top bit: cuTile
    Python 1.7.0 writes negative f64 values so, and they lose their sign (the identity of an f64 maximum is +inf).
    """

    type: ScalarType
    bits: int
    overlong: bool = False


def signed(raw: int, bits: int) -> int:
    """The two's complement reading of ``raw``; an i1 stays 0 or 1."""
    return raw - (1 << bits) if bits > 1 and raw >> (bits - 1) else raw


@dataclass(frozen=True, slots=True)
class Constant:
    """Tile constant: raw little-endian element bytes as stored; one element means a splat.

    ``element(i)`` gives element ``i`` in row-major order: an int for integers (signed reading,
    0/1 for i1), the raw bit pattern for floats.
    """

    type: TileType
    data: bytes

    @property
    def count(self) -> int:
        """The number of elements of the tile."""
        return self.type.size

    @property
    def is_splat(self) -> bool:
        """True when one stored element stands for the whole tile (also for a tile of one element)."""
        if self.scalar.bits == 1:
            return self.count == 1 or (len(self.data) == 1 and (self.count > 8 or self.data[0] in (0x00, 0xFF)))
        return len(self.data) == self.scalar.stored_bytes(1)

    @property
    def scalar(self) -> ScalarType:
        """The element type; a constant of pointers does not exist."""
        assert isinstance(self.type.element, ScalarType)
        return self.type.element

    def element(self, index: int) -> int:
        if not 0 <= index < self.count:
            raise IndexError(f"element {index} of a constant with {self.count} elements")
        scalar = self.scalar
        if self.is_splat:
            index = 0
        if scalar.bits == 1:
            return self.data[index >> 3] >> (index & 7) & 1
        width = scalar.stored_bytes(1)
        raw = int.from_bytes(self.data[index * width : (index + 1) * width], "little") & ((1 << scalar.bits) - 1)
        return signed(raw, scalar.bits) if scalar.is_integer else raw


# ---------------------------------------------------------------------------------- values, ops, code
@dataclass(eq=False, slots=True)
class Value:
    """An SSA value.  ``number`` is its id in the file (ids are reused by sibling blocks)."""

    number: int
    type: Type


Operand: TypeAlias = "Value | tuple[Value, ...] | None"

ASSEMBLY: Final = "asm "
"""How the callee of an opaque op begins that stands for inline assembly."""
FOREIGN: Final = f"{ASSEMBLY}call "
"""How it begins where the op stands for a result of a call into a library, whose name follows."""
TIME_IS_UP: Final = f"{ASSEMBLY}mov.u64 $0, %globaltimer;"
"""The callee that says whether the time of a poll is up: a bool that each execution may choose."""
OPAQUE: Final = "opaque:"
"""How the title of an opaque op begins; its function's name follows."""


@dataclass(eq=False, slots=True)
class Op:
    """One operation.

    ``operands`` maps each declared operand name to a value, to a tuple of values for a group, or to
    ``None`` for an absent optional operand.  ``attributes`` maps attribute names to decoded values:
    enum members as their lower-case text (``"signed"``), integers, strings, tuples, `Constant`,
    `DivBy`, `Bounded`, `SameElements`.  ``flags`` holds the names of the set flag bits.
    """

    declaration: OpDeclaration
    results: tuple[Value, ...]
    operands: Mapping[str, Operand]
    attributes: Mapping[str, Any]
    flags: frozenset[str]
    regions: tuple[Region, ...] = ()
    location: Location | None = None
    offset: int = 0

    @property
    def name(self) -> str:
        return self.declaration.name

    def value(self, name: str) -> Value:
        """The single operand ``name``; it must be present."""
        operand = self.operands[name]
        assert isinstance(operand, Value), f"{self.name}.{name} is not a single value"
        return operand

    def optional(self, name: str) -> Value | None:
        operand = self.operands[name]
        assert operand is None or isinstance(operand, Value)
        return operand

    def group(self, name: str) -> tuple[Value, ...]:
        operand = self.operands[name]
        assert isinstance(operand, tuple), f"{self.name}.{name} is not a group"
        return operand

    @property
    def result(self) -> Value:
        return self.results[0]

    @property
    def title(self) -> str:
        """What values that it brings into being are named after: the op, of an opaque one with its function."""
        if self.name != "opaque":
            return self.name
        callee: str = self.attributes["callee"]
        word = callee.split(maxsplit=1)[0] if callee.strip() else ""
        return f"{OPAQUE}{re.sub('[^A-Za-z0-9_.]', '_', word)}"

    @property
    def is_function(self) -> bool:
        """Whether equal operands give equal results, whoever runs it and whenever; of ops without an effect.

        Inline assembly may read a clock, or where it runs.
        """
        return self.name != "opaque" or not self.attributes["callee"].startswith(ASSEMBLY)


@dataclass(eq=False, slots=True)
class Block:
    arguments: tuple[Value, ...]
    ops: tuple[Op, ...]

    @property
    def terminator(self) -> Op:
        return self.ops[-1]


@dataclass(eq=False, slots=True)
class Region:
    blocks: tuple[Block, ...]


@dataclass(eq=False, slots=True)
class Entry:
    """One kernel entry: ``parameters`` are 0-d tiles of scalars or pointers.

    ``hints`` maps an architecture (or ``default``) to its hints; they never change what the kernel computes.
    ``asserts_stop``: whoever launches it trusts that a block stops at an assertion that fails (`under_contract`).
    ``equal_stores``: the arguments into which its launch lets blocks store equal values.
    """

    name: str
    parameters: tuple[Value, ...]
    body: Block
    location: Location | None = None
    hints: Mapping[str, object] = field(default_factory=dict)
    argument_attributes: tuple[object, ...] = ()
    asserts_stop: bool = False
    equal_stores: frozenset[str] = frozenset()


@dataclass(eq=False, slots=True)
class Global:
    name: str
    type: TileType
    value: Constant
    alignment: int
    private: bool = False
    constant: bool = False


@dataclass(eq=False, slots=True)
class Module:
    version: tuple[int, int]
    entries: tuple[Entry, ...]
    globals: tuple[Global, ...] = ()
    producer: str | None = None
    layout: ModuleLayout | None = None
    """How the file it was read from is laid out, for an identical copy; hand-made modules have none."""
    preview: bool = False
    """The version tag says that it uses preview features; it does in any case where an op is one."""


# ---------------------------------------------------------------------------------------------------------- file layout
# What a bytecode file fixes beyond its meaning: section and table order, raw debug tables, header flags.
#
# The decoder records it, the encoder replays it, so that decoding and encoding gives the same bytes.  Nothing else
# reads it.  A module that was changed or made by hand has no layout and is written in the canonical form.


@dataclass(frozen=True, slots=True)
class SectionLayout:
    """One section in file order; ``alignment`` is 0 where the section header gives none."""

    id: int
    alignment: int


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """The parts of a function header that carry no meaning."""

    flags: int
    debug_index: int


@dataclass(frozen=True, slots=True)
class DebugLayout:
    """The debug section: one slice of attribute ids for each function, and the attribute records as stored."""

    functions: tuple[tuple[int, ...], ...]
    records: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ModuleLayout:
    """Everything needed to write the same file again.

    ``constant_index`` says which constant record each constant used: equal bytes of different types have records of
    their own in files written by nvcc.
    """

    sections: tuple[SectionLayout, ...]
    strings: tuple[bytes, ...]
    types: tuple[Type, ...]
    constants: tuple[bytes, ...]
    constant_index: Mapping[Constant, int]
    entries: tuple[EntryLayout, ...]
    debug: DebugLayout | None
    function_padding: int
