"""`decode`: the bytes of a Tile IR file to the model, or one `DecodeError` that says where and why."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

from ...system.errors import DecodeError
from .body import AttributeReader, BodyReader, Tables, make_constant
from .container import HEADER_BYTES, PREVIEW_TAG_AT, Container, Reader, Section, malformed, read_container
from .location import Location
from .model import (
    Constant,
    DebugLayout,
    Entry,
    EntryLayout,
    FunctionType,
    Global,
    Module,
    ModuleLayout,
    ScalarType,
    TileType,
)
from .optable import Version
from .tables import ConstantTable, StringTable, TypeTable, read_table
from .traverse import walk

GLOBAL_ATTRIBUTES_SINCE: Final[Version] = (13, 3)


def decode(data: bytes, *, file: str | None = None) -> Module:
    """The module in ``data``; ``file`` is only named in errors.

    Unknown, newer, corrupt or truncated content raises `DecodeError`, and nothing else does.  Time and
    memory are proportional to the size of ``data``.
    """
    try:
        return _decode(bytes(data))
    except DecodeError as error:
        error.file = file
        raise


def _decode(data: bytes) -> Module:
    container = read_container(data)
    version = container.version
    strings = StringTable(_section(data, container, Section.STRING))
    types = TypeTable(_optional(data, container, Section.TYPE), version)
    constants = ConstantTable(_optional(data, container, Section.CONSTANT))
    attributes = AttributeReader(strings, types)
    constant_index: dict[Constant, int] = {}
    section = _optional(data, container, Section.GLOBAL)
    globals_ = _read_globals(section, strings, types, constants, version, constant_index) if section else ()
    section = _optional(data, container, Section.DEBUG)
    debug = DebugInfo(section, strings, version) if section else None
    tables = Tables(strings, types, constants, attributes, frozenset(item.name for item in globals_), constant_index)
    functions = _section(data, container, Section.FUNCTION)
    entries, entry_layouts, padding = read_entries(functions, tables, version, debug)
    producer = None
    section = _optional(data, container, Section.PRODUCER)
    if section:
        producer = attributes.string(section)
        section.finish("the producer")
    layout = ModuleLayout(
        container.order,
        strings.raw,
        types.types,
        tuple(constants.raw),
        constant_index,
        entry_layouts,
        debug.layout() if debug else None,
        padding,
    )
    uses = any(op.declaration.preview for entry in entries for op in walk(entry.body))
    if uses and not container.preview:
        malformed(PREVIEW_TAG_AT, "the file has a preview op, but its version tag does not say so")
    return Module(version, entries, globals_, producer, layout, container.preview)


def _section(data: bytes, container: Container, section: Section) -> Reader:
    start, end = container.sections[section]
    return Reader(data, start, end)


def _optional(data: bytes, container: Container, section: Section) -> Reader | None:
    return _section(data, container, section) if section in container.sections else None


def _read_globals(
    reader: Reader,
    strings: StringTable,
    types: TypeTable,
    constants: ConstantTable,
    version: Version,
    constant_index: dict[Constant, int],
) -> tuple[Global, ...]:
    made: dict[str, Global] = {}
    for _ in range(reader.count("globals", 4)):
        start = reader.pos
        name = strings.text(reader.varint(), start)
        if name in made:
            malformed(start, f"second global {name!r}")
        type = types.reference(reader)
        if not isinstance(type, TileType) or not isinstance(type.element, ScalarType) or len(type.shape) != 1:
            malformed(start, f"global {name!r} is not a one-dimensional tile of scalars")
        at = reader.pos
        index = reader.varint()
        value = make_constant(type, constants.bytes_of(index, at), at)
        constant_index.setdefault(value, index)
        at = reader.pos
        alignment = reader.varint()
        if alignment & (alignment - 1):
            malformed(at, f"alignment {alignment} of global {name!r} is not a power of two")
        private = constant = False
        if version >= GLOBAL_ATTRIBUTES_SINCE:
            at = reader.pos
            visibility, constancy = reader.varint(), reader.varint()
            if visibility > 1 or constancy > 1:
                malformed(at, f"global {name!r} has an unknown visibility or constant mark")
            private, constant = bool(visibility), bool(constancy)
        made[name] = Global(name, type, value, alignment, private, constant)
    reader.finish("the globals")
    return tuple(made.values())


# ------------------------------------------------------------------------------------------------------------ functions
# Entries: function headers of every version, and their bodies.


PRIVATE, ENTRY, HINTS = 1, 2, 4
EXTERN = 4
"""From 13.5 on, where every kernel has hints: the function implements a foreign one."""
KERNEL_HEADER_SINCE: Final[Version] = (13, 5)


def read_entries(
    reader: Reader, tables: Tables, version: Version, debug: DebugInfo | None
) -> tuple[tuple[Entry, ...], tuple[EntryLayout, ...], int]:
    """All entries of the function section, and the number of padding bytes behind them."""
    entries: list[Entry] = []
    layouts: list[EntryLayout] = []
    base = reader.pos
    names: set[str] = set()
    for _ in range(reader.count("functions", 4)):
        start = reader.pos
        entry, layout = _read_entry(reader, tables, version, debug)
        if entry.name in names:
            malformed(start, f"second entry {entry.name!r}")
        names.add(entry.name)
        entries.append(entry)
        layouts.append(layout)
    padding = reader.remaining
    if padding:
        reader.align(8, base)
    reader.finish("the functions")
    return tuple(entries), tuple(layouts), padding


def _read_entry(reader: Reader, tables: Tables, version: Version, debug: DebugInfo | None) -> tuple[Entry, EntryLayout]:
    start = reader.pos
    name = tables.attributes.string(reader)
    signature = tables.types.reference(reader)
    if not isinstance(signature, FunctionType):
        malformed(start, f"function {name!r} has no function type")
    flags = reader.byte()
    _check_flags(flags, version, name, start)
    debug_index = reader.varint()
    hints: dict[str, object] = {}
    argument_attributes: tuple[object, ...] = ()
    if version >= KERNEL_HEADER_SINCE:
        hints = tables.attributes.hints(reader)
        at = reader.pos
        given = tables.attributes.tagged(reader)
        if not isinstance(given, tuple):
            malformed(at, "the argument attributes of an entry are not an array")
        argument_attributes = given
    elif flags & HINTS:
        hints = tables.attributes.hints(reader)
    if signature.results:
        malformed(start, f"entry {name!r} returns values")
    if any(not isinstance(parameter, TileType) or parameter.shape for parameter in signature.parameters):
        malformed(start, f"entry {name!r} has a parameter that is neither a scalar nor a pointer")
    length = reader.varint()
    body_start = reader.pos
    reader.take(length)
    locations = _Locations(debug, debug_index, start)
    body_reader = BodyReader(Reader(reader.data, body_start, reader.pos), tables, version, locations.of_op)
    body = body_reader.entry_body(signature.parameters)
    locations.finish(body_reader.ops)
    entry = Entry(name, body.arguments, body, locations.of_op(0, start), hints, argument_attributes)
    return entry, EntryLayout(flags, debug_index)


def _check_flags(flags: int, version: Version, name: str, at: int) -> None:
    known = PRIVATE | ENTRY if version >= KERNEL_HEADER_SINCE else PRIVATE | ENTRY | HINTS
    if version >= KERNEL_HEADER_SINCE and flags & EXTERN:
        malformed(at, f"function {name!r} implements a foreign function, a preview feature that is not supported")
    if flags & ~known:
        malformed(at, f"function {name!r}: unknown flags {flags:#x}")
    if not flags & ENTRY:
        malformed(at, f"function {name!r} is not a kernel entry; other functions are a preview feature")
    if flags & PRIVATE:
        malformed(at, f"entry {name!r} is private")


class _Locations:
    """The locations of one function: element 0 its own, element k that of its k-th op."""

    def __init__(self, debug: DebugInfo | None, index: int, at: int) -> None:
        self._debug = debug
        self._indices: tuple[int, ...] = ()
        if debug is not None and index:
            if index > len(debug.functions):
                malformed(at, f"debug index {index} does not exist, there are {len(debug.functions)}")
            self._indices = debug.functions[index - 1]
        self._at = at

    def of_op(self, number: int, at: int) -> Location | None:
        if self._debug is None or number >= len(self._indices):
            return None
        return self._debug.location(self._indices[number], at)

    def finish(self, ops: int) -> None:
        if self._indices and len(self._indices) != ops + 1:
            malformed(self._at, f"{len(self._indices)} debug indices for a function of {ops} ops")


# ------------------------------------------------------------------------------------------------------------ debuginfo
# Debug information: which source position, with its whole call-site chain, each op came from.
#
# Slice f of the index array belongs to function f; its element 0 locates the function, element k the k-th op in
# pre-order.  Attribute ids count from 1, 0 means unknown.


COMPILE_UNIT, FILE, LEXICAL_BLOCK, LOCATION, SUBPROGRAM, CALL_SITE = range(1, 7)
MAX_CHAIN: Final = 256
SUBPROGRAM_FLAGS_SINCE: Final[Version] = (13, 5)


class DebugInfo:
    """The debug section; locations are made on demand and shared."""

    def __init__(self, reader: Reader, strings: StringTable, version: Version) -> None:
        self._strings = strings
        self._version = version
        self._data = reader.data
        base = reader.pos
        count = reader.count("functions with debug information", 4)
        reader.align(4, base)
        at = reader.pos
        starts = reader.words(count, 4)
        total = reader.count("debug indices", 8)
        reader.align(8, base)
        indices = reader.words(total, 8)
        if list(starts) != sorted(starts) or (starts and (starts[0] != 0 or starts[-1] > total)):
            malformed(at, "start indices of the debug section are not ascending or out of range")
        self.functions = tuple(indices[start:end] for start, end in zip(starts, [*starts[1:], total], strict=True))
        self._bounds = read_table(reader, 4, "debug attributes", base)
        self._locations: dict[int, Location | None] = {0: None}
        self._lengths: dict[int, int] = {0: 0}
        self._functions: dict[int, str | None] = {0: None}
        self._copies_left = 65_536 + 8 * total

    def layout(self) -> DebugLayout:
        return DebugLayout(self.functions, tuple(self._data[start:end] for start, end in self._bounds))

    def location(self, index: int, at: int) -> Location | None:
        """The location with attribute id ``index``; ``None`` when unknown."""
        if index not in self._locations:
            self._resolve(index, at)
        return self._locations[index]

    def _resolve(self, index: int, at: int) -> None:
        """Make location ``index`` and everything it refers to, without recursion."""
        opened: set[int] = set()
        stack = [index]
        while stack:
            current = stack[-1]
            if current in self._locations:
                stack.pop()
                continue
            record = self._record(current, at)
            start = record.pos
            tag = record.varint()
            if tag != CALL_SITE:
                self._locations[current] = self._position(tag, record, start)
                self._lengths[current] = 1
                continue
            callee, caller = record.varint(), record.varint()
            record.finish("a call site")
            missing = [part for part in (caller, callee) if part not in self._locations]
            if not missing:
                self._inline(current, callee, caller, start)
            elif current in opened:
                malformed(start, f"debug attribute {current} refers to itself")
            else:
                opened.add(current)
                stack.extend(missing)

    def _inline(self, index: int, callee: int, caller: int, at: int) -> None:
        """Put the frames of ``callee`` in front of those of ``caller``; the caller's frames are shared."""
        length = self._lengths[callee] + self._lengths[caller]
        self._copies_left -= self._lengths[callee]
        if length > MAX_CHAIN or self._copies_left < 0:
            malformed(at, f"call-site chains are longer than {MAX_CHAIN} frames or too many")
        chain = self._locations[caller]
        inner = self._locations[callee]
        for frame in reversed(tuple(inner.chain()) if inner else ()):
            chain = replace(frame, caller=chain)
        self._locations[index] = chain
        self._lengths[index] = length

    def _record(self, index: int, at: int) -> Reader:
        if not 1 <= index <= len(self._bounds):
            malformed(at, f"debug attribute {index} does not exist, the table has {len(self._bounds)}")
        start, end = self._bounds[index - 1]
        return Reader(self._data, start, end)

    def _position(self, tag: int, record: Reader, start: int) -> Location | None:
        if tag == LOCATION:
            scope = record.varint()
            file = self._text(record)
            line, column = record.varint(), record.varint()
            record.finish("a location")
            return Location(file, line, column, self._function_of(scope, start))
        if tag == LEXICAL_BLOCK:
            scope, file_id, line, column = (record.varint() for _ in range(4))
            record.finish("a lexical block")
            return Location(self._file(file_id, start), line, column, self._function_of(scope, start))
        if tag == SUBPROGRAM:
            file_id, line, name = self._subprogram(record)
            return Location(self._file(file_id, start), line, 0, name)
        if tag in (COMPILE_UNIT, FILE):
            return None
        malformed(start, f"unknown debug attribute tag {tag}")

    def _subprogram(self, record: Reader) -> tuple[int, int, str]:
        file_id, line = record.varint(), record.varint()
        name = self._text(record)
        self._text(record)
        for _ in range(3 if self._version >= SUBPROGRAM_FLAGS_SINCE else 2):
            record.varint()
        record.finish("a subprogram")
        return file_id, line, name

    def _function_of(self, scope: int, at: int) -> str | None:
        """The name of the subprogram around ``scope``."""
        path = []
        while scope not in self._functions:
            path.append(scope)
            record = self._record(scope, at)
            tag = record.varint()
            if tag == SUBPROGRAM:
                self._functions[scope] = self._subprogram(record)[2]
            elif tag == LEXICAL_BLOCK:
                scope = record.varint()
                if scope in path or len(path) > MAX_CHAIN:
                    malformed(at, f"scopes nest deeper than {MAX_CHAIN} or refer to themselves")
            else:
                self._functions[scope] = None
        name = self._functions[scope]
        self._functions.update(dict.fromkeys(path, name))
        return name

    def _file(self, index: int, at: int) -> str:
        """Directory and name of file ``index`` as one path."""
        if index == 0:
            return ""
        record = self._record(index, at)
        start = record.pos
        if record.varint() != FILE:
            malformed(start, f"debug attribute {index} is not a file")
        name, directory = self._text(record), self._text(record)
        record.finish("a file")
        return name if name.startswith("/") or not directory else f"{directory.rstrip('/')}/{name}"

    def _text(self, record: Reader) -> str:
        """A string of the record; paths are bytes to the system and need not be UTF-8."""
        at = record.pos
        return self._strings.text(record.varint(), at, lossy=True)


# ------------------------------------------------------------------------------------------------------------- identity
# Which bytecode it is: a hash of what it means, without what only tells where it came from.


_OF_NO_MEANING: Final = frozenset({Section.DEBUG, Section.PRODUCER})


def semantic_sha256(data: bytes) -> str:
    """SHA-256 over the header and all sections but debug information and producer, in the order of their numbers.

    Their order in the file and padding between them do not matter.  Raises `DecodeError` for what is no container.
    """
    container = read_container(data)
    digest = hashlib.sha256(data[:HEADER_BYTES])
    for section, (start, end) in sorted(container.sections.items()):
        if section not in _OF_NO_MEANING:
            digest.update(section.to_bytes(1, "little") + (end - start).to_bytes(8, "little") + data[start:end])
    return digest.hexdigest()
