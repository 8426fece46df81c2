"""Entries: function headers of every version, and their bodies."""

from __future__ import annotations

from typing import Final

from .body import BodyReader, Tables
from .debuginfo import DebugInfo
from .file_layout import EntryLayout
from .location import Location
from .model import Entry, FunctionType, TileType
from .optable import Version
from .reader import Reader, malformed

PRIVATE, ENTRY, HINTS = 1, 2, 4
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
