"""Where the keys of a TOML table stand, so that an error can point at one; the parser does not tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_KEY: Final = re.compile(r"""\s*(?P<quote>["']?)(?P<name>[A-Za-z_][\w-]*)(?P=quote)\s*(=|\.)""")
_TABLE: Final = re.compile(r"\s*\[")
_FIELD: Final = re.compile(r"[\w-]+")
_QUOTED: Final = re.compile(r"'(?P<text>[^']+)'( at column (?P<column>\d+))?")


@dataclass(frozen=True, slots=True)
class WrittenKey:
    """``name`` with the lines of its value; ``line`` (from 1) and ``column`` (from 0, in characters) of the first."""

    name: str
    line: int
    column: int
    lines: tuple[str, ...]


def written_keys(text: str, header: int) -> tuple[WrittenKey, ...]:
    """The keys of the table whose header stands at line ``header`` (from 1)."""
    lines = text.splitlines()
    found: list[WrittenKey] = []
    starts: list[tuple[int, re.Match[str]]] = []
    end = len(lines)
    depth = 0
    for number in range(header, len(lines)):
        line = lines[number]
        if depth <= 0 and _TABLE.match(line):
            end = number
            break
        if depth <= 0 and (key := _KEY.match(line)) is not None:
            starts.append((number, key))
        bare = re.sub(r"""#.*|"[^"]*"|'[^']*'""", "", line)
        depth += sum(bare.count(each) for each in "[{") - sum(bare.count(each) for each in "]}")
    for (number, key), behind in zip(starts, [*(each for each, _ in starts[1:]), end], strict=True):
        found.append(WrittenKey(key["name"], number + 1, key.start("name"), tuple(lines[number:behind])))
    return tuple(found)


def place_of(keys: Sequence[WrittenKey], field: str, problem: str) -> tuple[int, int] | None:
    """Line (from 1) and column (from 0, in bytes of UTF-8) of what a ``problem`` of ``field`` is about: the text that
    it quotes, else the key; ``None`` where there is no such key."""
    named = _FIELD.match(field)
    key = next((each for each in keys if named is not None and each.name == named[0]), None)
    if key is None:
        return None
    quoted = _QUOTED.search(problem)
    for number, line in enumerate(key.lines if quoted is not None else ()):
        assert quoted is not None
        column = line.find(quoted["text"], key.column if number == 0 else 0)
        if column >= 0:
            column += int(quoted["column"] or 1) - 1
            return key.line + number, len(line[:column].encode())
    return key.line, key.column
