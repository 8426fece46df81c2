"""The tables that an encoder fills while it writes: strings, types, constants."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from ...system.errors import EncodeError
from .enums import PADDING, POINTER_ATTRIBUTE
from .file_layout import ModuleLayout
from .model import (
    Constant,
    FunctionType,
    GatherScatterViewType,
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
from .tables import (
    DYNAMIC,
    FUNCTION,
    GATHER_SCATTER_VIEW,
    OPTIONAL_PARAMETERS_SINCE,
    PARTITION_VIEW,
    POINTER,
    POINTER_ATTRIBUTE_SINCE,
    SCALARS,
    STRIDED_VIEW,
    TENSOR_VIEW,
    TILE,
    TOKEN,
)
from .writer import Writer

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
