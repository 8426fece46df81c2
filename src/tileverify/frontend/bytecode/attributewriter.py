"""Writes attributes: the mirror image of `attributes` and of the attribute kinds in op declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...system.errors import EncodeError
from .attributes import (
    ARRAY,
    BOOL,
    BOUNDED,
    DICTIONARY,
    DIV_BY,
    FLOAT,
    INTEGER,
    MASK64,
    SAME_ELEMENTS,
    STRING,
    TYPE,
)
from .enums import ENUMS
from .interning import InterningTables
from .model import Bounded, DivBy, FloatAttribute, IntegerAttribute, SameElements, ScalarType, TileType
from .writer import Writer


class AttributeWriter:
    """Writes attribute payloads; strings, types and constants go to ``tables``."""

    def __init__(self, tables: InterningTables) -> None:
        self._tables = tables
        self._kinds: dict[str, Callable[[Writer, Any], None]] = {
            "constant": lambda writer, value: writer.varint(tables.constant(value)),
            "string": lambda writer, value: writer.varint(tables.string(value)),
            "global": lambda writer, value: writer.varint(tables.string(value)),
            "varint": Writer.varint,
            "u8": Writer.byte,
            "bools": _bools,
            "i32s": lambda writer, value: writer.fixed_list(value, 4),
            "hints": self.dictionary,
            "attributes": self.array,
            "predicate_attribute": self.tagged,
        }

    def write(self, writer: Writer, kind: str, value: Any) -> None:
        """The payload of an attribute declared with ``kind``."""
        names = ENUMS.get(kind)
        if names is None:
            self._kinds[kind](writer, value)
        elif value in names:
            writer.varint(names.index(value))
        else:
            raise EncodeError(f"{value!r} is no {kind.replace('_', ' ')}")

    def array(self, writer: Writer, items: Sequence[Any]) -> None:
        writer.varint(len(items))
        for item in items:
            self.tagged(writer, item)

    def dictionary(self, writer: Writer, items: Mapping[str, Any]) -> None:
        writer.varint(len(items))
        for key, item in items.items():
            writer.varint(self._tables.string(key))
            self.tagged(writer, item)

    def tagged(self, writer: Writer, value: Any) -> None:
        """A self-describing attribute: its tag, then its payload."""
        match value:
            case bool():
                writer.varint(BOOL)
                writer.byte(value)
            case str():
                writer.varint(STRING)
                writer.varint(self._tables.string(value))
            case tuple():
                writer.varint(ARRAY)
                self.array(writer, value)
            case dict():
                writer.varint(DICTIONARY)
                self.dictionary(writer, value)
            case IntegerAttribute() | FloatAttribute():
                self._number(writer, value)
            case DivBy() | Bounded() | SameElements():
                _predicate(writer, value)
            case ScalarType() | TileType():
                writer.varint(TYPE)
                writer.varint(self._tables.type(value))
            case _:
                raise EncodeError(f"{value!r} is no attribute")

    def _number(self, writer: Writer, value: IntegerAttribute | FloatAttribute) -> None:
        writer.varint(INTEGER if isinstance(value, IntegerAttribute) else FLOAT)
        writer.varint(self._tables.type(value.type))
        if isinstance(value, IntegerAttribute):
            writer.varint(value.value & ((1 << value.type.bits) - 1))
        elif value.type.bits <= 8:
            writer.byte(value.bits)
        else:
            # Zigzag of the pattern as a signed 64-bit number; an overlong one has a 65th bit that readers drop.
            signed = value.bits - (1 << 64) if value.bits >> 63 else value.bits
            zigzag = (signed << 1) ^ (signed >> 63)
            writer.varint(zigzag & MASK64 | (1 << 64 if value.overlong else 0))


def _bools(writer: Writer, values: Sequence[bool]) -> None:
    writer.varint(len(values))
    writer.take(bytes(values))


def _predicate(writer: Writer, value: DivBy | Bounded | SameElements) -> None:
    if isinstance(value, DivBy):
        writer.varint(DIV_BY)
        writer.varint(value.divisor)
        writer.byte(0 if value.every is None else 3)
        if value.every is not None and value.along is not None:
            writer.signed_varint(value.every)
            writer.signed_varint(value.along)
    elif isinstance(value, Bounded):
        writer.varint(BOUNDED)
        writer.byte((value.lower is not None) | (value.upper is not None) << 1)
        for bound in (value.lower, value.upper):
            if bound is not None:
                writer.signed_varint(bound)
    else:
        writer.varint(SAME_ELEMENTS)
        writer.fixed_list(value.groups, 8)
