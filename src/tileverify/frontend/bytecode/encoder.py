"""`encode`: the model to the bytes of a Tile IR file.

A decoded module keeps its `layout`, and decoding followed by encoding gives the same bytes.  Without a layout the file
is canonical: tables in order of first use, sections in the order of cuTile Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...system.errors import EncodeError
from .body import ARRAY, BOOL, BOUNDED, DICTIONARY, DIV_BY, FLOAT, INTEGER, MASK64, SAME_ELEMENTS, TYPE
from .body import HINTS_TAG as HINTS
from .body import STRING_TAG as STRING
from .container import MAGIC, PREVIEW_TAG, PRODUCER_SINCE, Section, Writer, write_table
from .declaration import COUNT, AttributeDeclaration
from .decoder import (
    CALL_SITE,
    COMPILE_UNIT,
    ENTRY,
    FILE,
    GLOBAL_ATTRIBUTES_SINCE,
    KERNEL_HEADER_SINCE,
    LOCATION,
    SUBPROGRAM,
    SUBPROGRAM_FLAGS_SINCE,
)
from .decoder import HINTS as HAS_HINTS
from .enums import ENUMS
from .location import Location
from .model import (
    Bounded,
    DebugLayout,
    DivBy,
    Entry,
    EntryLayout,
    FloatAttribute,
    FunctionType,
    IntegerAttribute,
    Module,
    ModuleLayout,
    Op,
    Region,
    SameElements,
    ScalarType,
    SectionLayout,
    TileType,
    Value,
)
from .optable import VERSIONS, Version
from .tables import InterningTables
from .traverse import walk

CANONICAL_ORDER: Final = (
    SectionLayout(Section.FUNCTION, 8),
    SectionLayout(Section.GLOBAL, 0),
    SectionLayout(Section.CONSTANT, 8),
    SectionLayout(Section.DEBUG, 8),
    SectionLayout(Section.TYPE, 4),
    SectionLayout(Section.PRODUCER, 0),
    SectionLayout(Section.STRING, 4),
)


def encode(module: Module) -> bytes:
    """The file of ``module``.  Raises `EncodeError` for what its bytecode version cannot express."""
    return _Encoder(module).encode()


class _Encoder:
    def __init__(self, module: Module) -> None:
        if module.version not in VERSIONS:
            raise EncodeError(f"bytecode version {module.version[0]}.{module.version[1]} is not supported")
        self._module = module
        self._version: Version = module.version
        self._layout: ModuleLayout | None = module.layout
        self._tables = InterningTables(module.version, module.layout)
        self._attributes = AttributeWriter(self._tables)

    def encode(self) -> bytes:
        layout = self._layout
        debug = layout.debug if layout else debug_from_locations(self._module, self._tables)
        sections = {
            Section.FUNCTION: self._functions(debug),
            Section.GLOBAL: self._globals(),
            Section.DEBUG: _debug_section(debug),
            Section.PRODUCER: self._producer(),
        }
        sections[Section.CONSTANT] = self._constants()
        sections[Section.TYPE] = _table(self._tables.type_records(), 4)
        sections[Section.STRING] = _table(self._tables.strings, 4)
        file = Writer()
        file.take(MAGIC)
        ops = (op for entry in self._module.entries for op in walk(entry.body))
        preview = self._module.preview or any(op.declaration.preview for op in ops)
        file.take(bytes([*self._version, PREVIEW_TAG if preview else 0, 0]))
        for place in layout.sections if layout else CANONICAL_ORDER:
            section = sections[Section(place.id)]
            if section is None:
                continue
            file.byte(place.id | (0x80 if place.alignment else 0))
            file.varint(len(section.data))
            if place.alignment:
                file.varint(place.alignment)
                file.align(place.alignment)
            file.take(bytes(section.data))
        file.byte(Section.END)
        return bytes(file.data)

    # ------------------------------------------------------------------------------------------ sections
    def _functions(self, debug: DebugLayout | None) -> Writer:
        writer = Writer()
        writer.varint(len(self._module.entries))
        for position, entry in enumerate(self._module.entries):
            self._entry(writer, entry, position, debug)
        writer.take(b"\xcb" * (self._layout.function_padding if self._layout else 0))
        return writer

    def _entry(self, writer: Writer, entry: Entry, position: int, debug: DebugLayout | None) -> None:
        body = Writer()
        writer.varint(self._tables.string(entry.name))
        writer.varint(self._tables.type(FunctionType(tuple(value.type for value in entry.parameters), ())))
        place = self._entry_layout(entry, position, debug)
        writer.byte(place.flags)
        writer.varint(place.debug_index)
        if self._version >= KERNEL_HEADER_SINCE or place.flags & HAS_HINTS:
            writer.varint(HINTS)
            self._attributes.dictionary(writer, entry.hints)
        if self._version >= KERNEL_HEADER_SINCE:
            self._attributes.tagged(writer, entry.argument_attributes)
        elif entry.argument_attributes:
            raise EncodeError("argument attributes need bytecode version 13.5")
        ops = sum(self._op(body, op) for op in entry.body.ops)
        if debug and place.debug_index and len(debug.functions[place.debug_index - 1]) != ops + 1:
            raise EncodeError(f"the layout does not fit entry {entry.name}: drop it to encode a changed module")
        writer.varint(len(body.data))
        writer.take(bytes(body.data))

    def _entry_layout(self, entry: Entry, position: int, debug: DebugLayout | None) -> EntryLayout:
        if self._layout:
            if len(self._layout.entries) != len(self._module.entries):
                raise EncodeError("the layout does not fit the module: drop it to encode a changed module")
            return self._layout.entries[position]
        hints = HAS_HINTS if entry.hints and self._version < KERNEL_HEADER_SINCE else 0
        return EntryLayout(ENTRY | hints, position + 1 if debug else 0)

    def _globals(self) -> Writer | None:
        if not self._module.globals and not self._has(Section.GLOBAL):
            return None
        writer = Writer()
        writer.varint(len(self._module.globals))
        for item in self._module.globals:
            writer.varint(self._tables.string(item.name))
            writer.varint(self._tables.type(item.type))
            writer.varint(self._tables.constant(item.value))
            writer.varint(item.alignment)
            if self._version >= GLOBAL_ATTRIBUTES_SINCE:
                writer.varint(item.private)
                writer.varint(item.constant)
            elif item.private or item.constant:
                raise EncodeError("private and constant globals need bytecode version 13.3")
        return writer

    def _producer(self) -> Writer | None:
        if self._module.producer is None:
            return None
        if self._version < PRODUCER_SINCE:
            raise EncodeError("a producer needs bytecode version 13.3")
        writer = Writer()
        writer.varint(self._tables.string(self._module.producer))
        return writer

    def _constants(self) -> Writer | None:
        if not self._tables.constants and not self._has(Section.CONSTANT):
            return None
        records = []
        for data in self._tables.constants:
            record = Writer()
            record.varint(len(data))
            record.take(data)
            records.append(bytes(record.data))
        return _table(records, 8)

    def _has(self, section: Section) -> bool:
        return self._layout is not None and any(place.id == section for place in self._layout.sections)

    # ----------------------------------------------------------------------------------------------- ops
    def _op(self, writer: Writer, op: Op) -> int:
        """Write ``op`` with its regions; returns the number of ops written."""
        declaration = op.declaration
        if declaration.since > self._version:
            raise EncodeError(f"{op.name} needs bytecode version 13.{declaration.since[1]}")
        writer.varint(declaration.opcode)
        if declaration.results == COUNT:
            writer.varint(len(op.results))
        elif declaration.results != len(op.results):
            raise EncodeError(f"{op.name} has {declaration.results} results, not {len(op.results)}")
        for result in op.results:
            writer.varint(self._tables.type(result.type))
        self._flags(writer, op)
        for attribute in declaration.attributes:
            self._attribute(writer, op, attribute)
        self._operands(writer, op)
        written = 1
        if declaration.regions:
            writer.varint(len(op.regions))
            for region in op.regions:
                written += self._region(writer, region)
        return written

    def _flags(self, writer: Writer, op: Op) -> None:
        mask = op.declaration.flag_mask(self._version)
        bits = {flag.name: 1 << flag.bit for flag in op.declaration.flags}
        unknown = op.flags - bits.keys()
        if unknown:
            raise EncodeError(f"{op.name} has no flag {', '.join(sorted(unknown))}")
        for flag in op.declaration.flags:
            if flag.name in op.flags and flag.since > self._version:
                raise EncodeError(f"{op.name}: flag {flag.name} needs bytecode version 13.{flag.since[1]}")
        word = sum(bits[name] for name in op.flags)
        if mask:
            writer.varint(word)

    def _region(self, writer: Writer, region: Region) -> int:
        written = 0
        writer.varint(len(region.blocks))
        for block in region.blocks:
            writer.varint(len(block.arguments))
            for argument in block.arguments:
                writer.varint(self._tables.type(argument.type))
            writer.varint(len(block.ops))
            for op in block.ops:
                written += self._op(writer, op)
        return written

    def _operands(self, writer: Writer, op: Op) -> None:
        counted: list[Value] = []
        for operand in op.declaration.operands:
            given = op.operands[operand.name]
            if op.declaration.counted:
                counted += given if isinstance(given, tuple) else () if given is None else (given,)
            elif isinstance(given, tuple):
                writer.varint(len(given))
                for value in given:
                    writer.varint(value.number)
            elif given is not None:
                writer.varint(given.number)
        if op.declaration.counted:
            writer.varint(len(counted))
            for value in counted:
                writer.varint(value.number)

    def _attribute(self, writer: Writer, op: Op, attribute: AttributeDeclaration) -> None:
        value = op.attributes[attribute.name]
        if attribute.since > self._version:
            if value != attribute.usual and any(value if isinstance(value, tuple) else (True,)):
                raise EncodeError(f"{op.name}: {attribute.name} needs bytecode version 13.{attribute.since[1]}")
        elif attribute.flag is None or attribute.flag in op.flags:
            self._attributes.write(writer, attribute.kind, value)


def _table(records: list[bytes], offset_bytes: int) -> Writer:
    writer = Writer()
    write_table(writer, records, offset_bytes)
    return writer


def _debug_section(debug: DebugLayout | None) -> Writer | None:
    if debug is None:
        return None
    writer = Writer()
    writer.varint(len(debug.functions))
    writer.align(4)
    start = 0
    for indices in debug.functions:
        writer.fixed(start, 4)
        start += len(indices)
    writer.varint(start)
    writer.align(8)
    for indices in debug.functions:
        for index in indices:
            writer.fixed(index, 8)
    write_table(writer, debug.records, 4)
    return writer


# ------------------------------------------------------------------------------------------------------ attributewriter
# Writes attributes: the mirror image of `body` and of the attribute kinds in op declarations.


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


# ---------------------------------------------------------------------------------------------------------- debugwriter
# Debug records for a module made by hand, from the locations of its ops.


def debug_from_locations(module: Module, tables: InterningTables) -> DebugLayout | None:
    """One slice per entry, or ``None`` when nothing in the module has a location."""
    slices = [[entry.location, *(op.location for op in walk(entry.body))] for entry in module.entries]
    if not any(location for positions in slices for location in positions):
        return None
    records = _Records(module, tables)
    functions = tuple(
        tuple(records.location(position, entry) for position in positions)
        for entry, positions in zip(module.entries, slices, strict=True)
    )
    return DebugLayout(functions, tuple(records.records) or (b"\x00",))


class _Records:
    """Interned debug attributes; ids count from 1."""

    def __init__(self, module: Module, tables: InterningTables) -> None:
        self._version = module.version
        self._tables = tables
        self.records: list[bytes] = []
        self._ids: dict[bytes, int] = {}
        self._places: dict[tuple[Location, str], int] = {}  # several ops of a line have one location

    def location(self, position: Location | None, entry: Entry) -> int:
        """The id of a position: nested call sites, the innermost frame as the first callee."""
        if position is None:
            return 0
        place = (position, entry.name)
        if place not in self._places:
            self._places[place] = self._call_sites(position, entry)
        return self._places[place]

    def _call_sites(self, position: Location, entry: Entry) -> int:
        frames = tuple(position.chain())
        made = self._frame(frames[-1], entry, entry.name)
        for frame in reversed(frames[:-1]):
            made = self._record(CALL_SITE, self._frame(frame, entry, None), made)
        return made

    def _frame(self, frame: Location, entry: Entry, linkage: str | None) -> int:
        """One position in its subprogram; that of the outermost frame must bear the entry's symbol."""
        directory, _, name = frame.file.rpartition("/")
        text = self._tables.string
        file = self._record(FILE, text(name), text(directory or ("/" if frame.file.startswith("/") else "")))
        unit = self._record(COMPILE_UNIT, file)
        function = frame.function or entry.name
        line = entry.location.line if entry.location and frame.file == entry.location.file else 1
        fields = [file, line, text(function), text(linkage or function), unit, line]
        if self._version >= SUBPROGRAM_FLAGS_SINCE:
            fields.append(0)
        scope = self._record(SUBPROGRAM, *fields)
        return self._record(LOCATION, scope, text(frame.file), frame.line, frame.column)

    def _record(self, tag: int, *fields: int) -> int:
        writer = Writer()
        for number in (tag, *fields):
            writer.varint(number)
        made = bytes(writer.data)
        index = self._ids.setdefault(made, len(self.records) + 1)
        if index > len(self.records):
            self.records.append(made)
        return index
