"""The table sections: strings, types and constants, and the globals that refer to them.

A table is ``n, padding, n offsets, blob``; item i is ``blob[off[i] : off[i+1]]``, the last one up to the section's end.
Types refer to each other by index in any order, so they are resolved on demand, with cycles refused.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from math import prod
from typing import Final, TypeVar

from ...system.errors import EncodeError
from .container import Reader, Writer, malformed
from .enums import PADDING, POINTER_ATTRIBUTE
from .model import (
    Constant,
    FunctionType,
    GatherScatterViewType,
    ModuleLayout,
    PartitionViewType,
    PointerType,
    ScalarType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Type,
)
from .optable import Version

DYNAMIC: Final = -(1 << 63)
MAX_TILE_ELEMENTS: Final = 1 << 24
MAX_RANK: Final = 64
MAX_STRING_BYTES: Final = 1 << 16

SCALARS: Final[dict[int, tuple[ScalarType, Version]]] = {
    0: (ScalarType("i1", 1), (13, 1)),
    1: (ScalarType("i8", 8), (13, 1)),
    2: (ScalarType("i16", 16), (13, 1)),
    3: (ScalarType("i32", 32), (13, 1)),
    4: (ScalarType("i64", 64), (13, 1)),
    5: (ScalarType("f16", 16), (13, 1)),
    6: (ScalarType("bf16", 16), (13, 1)),
    7: (ScalarType("f32", 32), (13, 1)),
    8: (ScalarType("tf32", 19), (13, 1)),
    9: (ScalarType("f64", 64), (13, 1)),
    10: (ScalarType("f8E4M3FN", 8), (13, 1)),
    11: (ScalarType("f8E5M2", 8), (13, 1)),
    18: (ScalarType("f8E8M0FNU", 8), (13, 2)),
    19: (ScalarType("f4E2M1FN", 4), (13, 3)),
    22: (ScalarType("i4", 4), (13, 3)),
}
POINTER, TILE, TENSOR_VIEW, PARTITION_VIEW, FUNCTION, TOKEN, GATHER_SCATTER_VIEW, STRIDED_VIEW = (
    12, 13, 14, 15, 16, 17, 20, 21,
)  # fmt: skip
PREVIEW_F8E5M3: Final = 130
OPTIONAL_PARAMETERS_SINCE: Final[Version] = (13, 3)
POINTER_ATTRIBUTE_SINCE: Final[Version] = (13, 4)


def read_table(reader: Reader, offset_bytes: int, what: str, base: int | None = None) -> list[tuple[int, int]]:
    """The (start, end) of each item of a table that begins at the reader's position and ends at its end.

    Padding counts from ``base``, the start of the section (default: the table is the whole section).
    """
    base = reader.pos if base is None else base
    count = reader.count(what, offset_bytes)
    reader.align(offset_bytes, base)
    at = reader.pos
    offsets = reader.words(count, offset_bytes)
    blob = reader.pos
    bounds = [*(blob + offset for offset in offsets), reader.end]
    if offsets and offsets[0] != 0:
        malformed(at, f"the first of the {what} does not start at offset 0")
    for start, end in pairwise(bounds):
        if start > end:
            malformed(at, f"offsets of {what} are not ascending or lie outside their section")
    if not offsets:
        reader.finish(f"an empty table of {what}")
    return list(pairwise(bounds))


class StringTable:
    """Strings as bytes; text is decoded on use and must be UTF-8, except in paths (``lossy``)."""

    def __init__(self, reader: Reader) -> None:
        data = reader.data
        self._bounds = read_table(reader, 4, "strings")
        self.raw: tuple[bytes, ...] = tuple(data[start:end] for start, end in self._bounds)
        self._text: dict[int, str] = {}

    def text(self, index: int, at: int, *, lossy: bool = False) -> str:
        """String ``index``, which a number at file offset ``at`` named."""
        text = self._text.get(index)
        if text is None:
            if index >= len(self.raw):
                malformed(at, f"string {index} does not exist, the table has {len(self.raw)}")
            if len(self.raw[index]) > MAX_STRING_BYTES:
                malformed(self._bounds[index][0], f"string {index} is longer than {MAX_STRING_BYTES} bytes")
            try:
                text = self.raw[index].decode(errors="replace" if lossy else "strict")
            except UnicodeDecodeError:
                malformed(self._bounds[index][0], f"string {index} is not UTF-8")
            if not lossy:
                self._text[index] = text
        return text


class ConstantTable:
    """The raw bytes of every constant; their type comes from the op or global that uses them."""

    def __init__(self, reader: Reader | None) -> None:
        self.raw: list[bytes] = []
        if reader is None:
            return
        for start, end in read_table(reader, 8, "constants"):
            item = Reader(reader.data, start, end)
            self.raw.append(item.take(item.varint()))
            item.finish("a constant")

    def bytes_of(self, index: int, at: int) -> bytes:
        if index >= len(self.raw):
            malformed(at, f"constant {index} does not exist, the table has {len(self.raw)}")
        return self.raw[index]


class TypeTable:
    """All types of a file; equal types of one file are one object."""

    def __init__(self, reader: Reader | None, version: Version) -> None:
        self._version = version
        self._data = reader.data if reader else b""
        self._bounds = read_table(reader, 4, "types") if reader else []
        self._resolved: list[Type | None] = [None] * len(self._bounds)
        self._interned: dict[Type, Type] = {}
        self._open: set[int] = set()
        self.types: tuple[Type, ...] = tuple(self.at(i, bounds[0]) for i, bounds in enumerate(self._bounds))

    def at(self, index: int, at: int) -> Type:
        """Type ``index``, which a number at file offset ``at`` named."""
        if index >= len(self._bounds):
            malformed(at, f"type {index} does not exist, the table has {len(self._bounds)}")
        known = self._resolved[index]
        if known is not None:
            return known
        if index in self._open:
            malformed(at, f"type {index} refers to itself")
        self._open.add(index)
        start, end = self._bounds[index]
        reader = Reader(self._data, start, end)
        made = self._read(reader)
        reader.finish(f"type {index}")
        self._open.discard(index)
        made = self._interned.setdefault(made, made)
        self._resolved[index] = made
        return made

    def reference(self, reader: Reader) -> Type:
        at = reader.pos
        return self.at(reader.varint(), at)

    def _read(self, reader: Reader) -> Type:
        start = reader.pos
        tag = reader.varint()
        scalar = SCALARS.get(tag)
        if scalar is not None:
            self._require(scalar[1], scalar[0].name, start)
            return scalar[0]
        if tag == TOKEN:
            return TokenType()
        if tag == POINTER:
            return self._pointer(reader)
        if tag == TILE:
            return self._tile(reader)
        if tag == TENSOR_VIEW:
            return self._tensor_view(reader)
        if tag == PARTITION_VIEW:
            return self._partition_view(reader)
        if tag == GATHER_SCATTER_VIEW:
            self._require((13, 3), "gather_scatter_view", start)
            return self._gather_scatter_view(reader)
        if tag == STRIDED_VIEW:
            self._require((13, 3), "strided_view", start)
            return self._strided_view(reader)
        if tag == FUNCTION:
            return FunctionType(self._list(reader), self._list(reader))
        if tag == PREVIEW_F8E5M3:
            malformed(start, "the preview type f8E5M3FNU is not supported")
        malformed(start, f"unknown type tag {tag}")

    def _require(self, since: Version, name: str, at: int) -> None:
        if self._version < since:
            malformed(at, f"type {name} needs bytecode version {since[0]}.{since[1]}")

    def _list(self, reader: Reader) -> tuple[Type, ...]:
        made = []
        for _ in range(reader.count("types")):
            at = reader.pos
            member = self.reference(reader)
            if isinstance(member, FunctionType):
                malformed(at, "a function type inside a function type")
            made.append(member)
        return tuple(made)

    def _pointer(self, reader: Reader) -> Type:
        flags = self._flags(reader, POINTER_ATTRIBUTE_SINCE)
        pointee = self._scalar(reader)
        return PointerType(pointee, self._pointer_attribute(reader, flags))

    def _tile(self, reader: Reader) -> Type:
        at = reader.pos
        element = self.reference(reader)
        if not isinstance(element, ScalarType | PointerType):
            malformed(at, "the elements of a tile must be scalars or pointers")
        shape = self._tile_shape(reader, 8)
        if isinstance(element, ScalarType) and element.packed and prod(shape) % 2:
            malformed(at, f"a tile of {element.name} needs an even number of elements")
        return TileType(element, shape)

    def _tensor_view(self, reader: Reader) -> Type:
        flags = self._flags(reader, POINTER_ATTRIBUTE_SINCE)
        element = self._scalar(reader)
        at = reader.pos
        shape = self._extents(reader)
        strides = self._extents(reader)
        if len(shape) != len(strides):
            malformed(at, f"a tensor view of {len(shape)} dimensions with {len(strides)} strides")
        return TensorViewType(element, shape, strides, self._pointer_attribute(reader, flags))

    def _partition_view(self, reader: Reader) -> Type:
        unified = self._version >= OPTIONAL_PARAMETERS_SINCE
        flags = self._flags(reader, OPTIONAL_PARAMETERS_SINCE)
        at = reader.pos
        tile = self._tile_shape(reader, 4)
        tensor = self._tensor(reader)
        dim_map = self._dim_map(reader, len(tile), tensor, at)
        if not unified:
            at = reader.pos
            flags = reader.byte()
            if flags > 1:
                malformed(at, f"padding marker {flags} is neither 0 nor 1")
        return PartitionViewType(tile, tensor, dim_map, self._padding(reader, flags))

    def _strided_view(self, reader: Reader) -> Type:
        flags = self._flags(reader, OPTIONAL_PARAMETERS_SINCE)
        at = reader.pos
        tile = self._tile_shape(reader, 4)
        traversal = _dimensions(reader, 4)
        if len(traversal) != len(tile) or any(step <= 0 for step in traversal):
            malformed(at, "a strided view needs one positive traversal stride for each tile dimension")
        tensor = self._tensor(reader)
        dim_map = self._dim_map(reader, len(tile), tensor, at)
        return StridedViewType(tile, traversal, tensor, dim_map, self._padding(reader, flags))

    def _gather_scatter_view(self, reader: Reader) -> Type:
        flags = self._flags(reader, OPTIONAL_PARAMETERS_SINCE)
        at = reader.pos
        tile = self._tile_shape(reader, 4)
        tensor = self._tensor(reader)
        sparse_dim = reader.varint()
        if len(tile) != len(tensor.shape) or sparse_dim >= len(tile):
            malformed(at, "a gather_scatter view needs the tensor's rank and a sparse dimension inside it")
        return GatherScatterViewType(tile, tensor, sparse_dim, self._padding(reader, flags))

    def _flags(self, reader: Reader, since: Version) -> int:
        """The optional-parameter word: bit 0 announces the one optional parameter that each of these types has."""
        if self._version < since:
            return 0
        at = reader.pos
        flags = reader.varint()
        if flags > 1:
            malformed(at, f"unknown type flags {flags:#x}")
        return flags

    def _pointer_attribute(self, reader: Reader, flags: int) -> str | None:
        return _choice(reader, POINTER_ATTRIBUTE, "pointer attribute") if flags else None

    def _padding(self, reader: Reader, flags: int) -> str | None:
        return _choice(reader, PADDING, "padding") if flags else None

    def _scalar(self, reader: Reader) -> ScalarType:
        at = reader.pos
        made = self.reference(reader)
        if not isinstance(made, ScalarType):
            malformed(at, "a scalar type is expected here")
        return made

    def _tensor(self, reader: Reader) -> TensorViewType:
        at = reader.pos
        made = self.reference(reader)
        if not isinstance(made, TensorViewType):
            malformed(at, "a tensor view type is expected here")
        return made

    def _tile_shape(self, reader: Reader, width: int) -> tuple[int, ...]:
        at = reader.pos
        shape = _dimensions(reader, width)
        elements = 1
        for extent in shape:
            if extent <= 0 or extent & (extent - 1):
                malformed(at, f"tile dimension {extent} is not a positive power of two")
            elements *= extent
            if elements > MAX_TILE_ELEMENTS:
                malformed(at, f"a tile has more than {MAX_TILE_ELEMENTS} elements")
        return shape

    def _extents(self, reader: Reader) -> tuple[int | None, ...]:
        at = reader.pos
        made = tuple(None if n == DYNAMIC else n for n in _dimensions(reader, 8))
        if any(extent is not None and extent <= 0 for extent in made):
            malformed(at, "sizes and strides of a tensor view must be positive or dynamic")
        return made

    def _dim_map(self, reader: Reader, rank: int, tensor: TensorViewType, at: int) -> tuple[int, ...]:
        dim_map = _dimensions(reader, 4)
        if len(dim_map) != rank:
            malformed(at, f"the dimension map {dim_map} is one of {len(dim_map)} dimensions, the tile has {rank}")
        if sorted(dim_map) != list(range(len(tensor.shape))):
            malformed(at, f"the dimension map {dim_map} is no permutation of the {len(tensor.shape)} tensor dimensions")
        return dim_map


def _dimensions(reader: Reader, width: int) -> tuple[int, ...]:
    at = reader.pos
    listed = reader.fixed_list(width, "dimensions")
    if len(listed) > MAX_RANK:
        malformed(at, f"{len(listed)} dimensions are more than {MAX_RANK}")
    return listed


def _choice(reader: Reader, names: tuple[str, ...], what: str) -> str:
    at = reader.pos
    value = reader.varint()
    if value >= len(names):
        malformed(at, f"unknown {what} {value}")
    return names[value]


# ------------------------------------------------------------------------------------------------------------ interning
# The tables that an encoder fills while it writes: strings, types, constants.


Key = TypeVar("Key", bound=Hashable)

_SCALAR_TAGS = {scalar: (tag, since) for tag, (scalar, since) in SCALARS.items()}


class InterningTables:
    """Indices for strings, types and constants, in order of first use; ``layout`` fixes the first ones."""

    def __init__(self, version: Version, layout: ModuleLayout | None) -> None:
        self._version = version
        self.strings: list[bytes] = list(layout.strings) if layout else []
        self.types: list[Type] = list(layout.types) if layout else []
        self.constants: list[bytes] = list(layout.constants) if layout else []
        self._string_index = _first_positions(self.strings)
        self._type_index = _first_positions(self.types)
        self._constant_index = dict(layout.constant_index) if layout else {}
        self._constant_bytes = _first_positions(self.constants)

    def string(self, text: str) -> int:
        raw = text.encode()
        index = self._string_index.get(raw)
        if index is None:
            index = self._string_index[raw] = len(self.strings)
            self.strings.append(raw)
        return index

    def constant(self, value: Constant) -> int:
        index = self._constant_index.get(value)
        if index is None:
            index = self._constant_bytes.setdefault(value.data, len(self.constants))
            if index == len(self.constants):
                self.constants.append(value.data)
            self._constant_index[value] = index
        return index

    def type(self, type: Type) -> int:
        """The index of ``type``; the types it is made of come before it."""
        index = self._type_index.get(type)
        if index is None:
            for part in _parts(type):
                self.type(part)
            index = self._type_index[type] = len(self.types)
            self.types.append(type)
        return index

    def type_records(self) -> list[bytes]:
        """The encoded type table; complete once every op has been written."""
        records = []
        for type in self.types:
            writer = Writer()
            self._write(writer, type)
            records.append(bytes(writer.data))
        return records

    def _write(self, writer: Writer, type: Type) -> None:
        match type:
            case ScalarType():
                self._write_scalar(writer, type)
            case TokenType():
                writer.varint(TOKEN)
            case PointerType():
                writer.varint(POINTER)
                self._announce(writer, type.attribute, POINTER_ATTRIBUTE_SINCE)
                writer.varint(self.type(type.pointee))
                self._choice(writer, type.attribute, POINTER_ATTRIBUTE)
            case TileType():
                writer.varint(TILE)
                writer.varint(self.type(type.element))
                writer.fixed_list(type.shape, 8)
            case TensorViewType():
                writer.varint(TENSOR_VIEW)
                self._announce(writer, type.attribute, POINTER_ATTRIBUTE_SINCE)
                writer.varint(self.type(type.element))
                for extents in (type.shape, type.strides):
                    writer.fixed_list([DYNAMIC if extent is None else extent for extent in extents], 8)
                self._choice(writer, type.attribute, POINTER_ATTRIBUTE)
            case FunctionType():
                writer.varint(FUNCTION)
                for members in (type.parameters, type.results):
                    writer.varint(len(members))
                    for member in members:
                        writer.varint(self.type(member))
            case _:
                self._write_view(writer, type)

    def _write_view(self, writer: Writer, type: PartitionViewType | StridedViewType | GatherScatterViewType) -> None:
        unified = self._version >= OPTIONAL_PARAMETERS_SINCE
        if isinstance(type, PartitionViewType):
            writer.varint(PARTITION_VIEW)
        elif unified:
            writer.varint(STRIDED_VIEW if isinstance(type, StridedViewType) else GATHER_SCATTER_VIEW)
        else:
            raise EncodeError(f"strided and gather_scatter views need bytecode version {_text((13, 3))}")
        if unified:
            writer.varint(type.padding is not None)
        writer.fixed_list(type.tile, 4)
        if isinstance(type, StridedViewType):
            writer.fixed_list(type.traversal, 4)
        writer.varint(self.type(type.tensor))
        if isinstance(type, GatherScatterViewType):
            writer.varint(type.sparse_dim)
        else:
            writer.fixed_list(type.dim_map, 4)
        if not unified:
            writer.byte(type.padding is not None)
        self._choice(writer, type.padding, PADDING)

    def _write_scalar(self, writer: Writer, type: ScalarType) -> None:
        if type not in _SCALAR_TAGS:
            raise EncodeError(f"there is no element type {type.name} of {type.bits} bits")
        tag, since = _SCALAR_TAGS[type]
        if self._version < since:
            raise EncodeError(f"type {type.name} needs bytecode version {_text(since)}")
        writer.varint(tag)

    def _announce(self, writer: Writer, parameter: str | None, since: Version) -> None:
        if self._version >= since:
            writer.varint(parameter is not None)
        elif parameter is not None:
            raise EncodeError(f"the type parameter {parameter} needs bytecode version {_text(since)}")

    def _choice(self, writer: Writer, value: str | None, names: tuple[str, ...]) -> None:
        if value is None:
            return
        if value not in names:
            raise EncodeError(f"unknown type parameter {value}")
        writer.varint(names.index(value))


def _first_positions(items: list[Key]) -> dict[Key, int]:
    positions: dict[Key, int] = {}
    for index, item in enumerate(items):
        positions.setdefault(item, index)
    return positions


def _parts(type: Type) -> tuple[Type, ...]:
    match type:
        case PointerType():
            return (type.pointee,)
        case TileType() | TensorViewType():
            return (type.element,)
        case FunctionType():
            return type.parameters + type.results
        case PartitionViewType() | StridedViewType() | GatherScatterViewType():
            return (type.tensor,)
        case _:
            return ()


def _text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"
