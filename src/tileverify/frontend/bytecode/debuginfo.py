"""Debug information: which source position, with its whole call-site chain, each op came from.

Slice f of the index array belongs to function f; its element 0 locates the function, element k the k-th op in
pre-order.  Attribute ids count from 1, 0 means unknown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .file_layout import DebugLayout
from .location import Location
from .optable import Version
from .reader import Reader, malformed
from .tables import StringTable, read_table

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
