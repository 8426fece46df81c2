"""Debug records for a module made by hand, from the locations of its ops."""

from __future__ import annotations

from .debuginfo import CALL_SITE, COMPILE_UNIT, FILE, LOCATION, SUBPROGRAM, SUBPROGRAM_FLAGS_SINCE
from .file_layout import DebugLayout
from .interning import InterningTables
from .location import Location
from .model import Entry, Module
from .traverse import walk
from .writer import Writer


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

    def location(self, position: Location | None, entry: Entry) -> int:
        """The id of a position: nested call sites, the innermost frame as the first callee."""
        if position is None:
            return 0
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
