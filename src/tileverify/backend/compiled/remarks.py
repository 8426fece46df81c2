"""What ``tileiras`` says of each access that it compiled: the instruction that it took, and why it was not TMA.

Remarks come as YAML documents, of which these lines are read: the tag, ``Name``, ``DebugLoc`` and the ``Args``.  Keys
that nobody knows are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ...frontend.bytecode.location import Location

_PLACE: Final = re.compile(
    r"DebugLoc:\s*\{\s*File:\s*(?P<file>'(?:[^']|'')*'|\"[^\"]*\"|[^,]*),\s*"
    r"Line:\s*(?P<line>\d+)(?:,\s*Column:\s*(?P<column>\d+))?"
)
_KEY: Final = re.compile(r"\s*(?:-\s*)?(?P<key>\w+):\s*(?P<value>.*)")
_OWN_PLACE: Final = re.compile(r"^loc\(.*?\):\s*")
_MEMORY: Final = re.compile(r"Memory(Load|Store|Tma)")
_SELECTED: Final = re.compile(r"Failed to select (.*?)(?: instruction)?")


@dataclass
class CompilerRemark:
    """One document.  ``column`` counts as the file says; ``reasons`` stand in it once each."""

    kind: str
    name: str = ""
    file: str = ""
    line: int = 0
    column: int | None = None
    text: str = ""
    instruction: str = ""
    reasons: list[str] = field(default_factory=list)

    @property
    def of_memory(self) -> bool:
        """Whether it is about a load or a store."""
        return _MEMORY.search(self.name) is not None

    @property
    def words(self) -> str:
        """``global-memory load``, ``no TMA load: base pointer not 16-byte aligned``."""
        failed = _SELECTED.fullmatch(self.text)
        if failed is not None:
            return f"no {failed[1]}" + (f": {'; '.join(self.reasons)}" if self.reasons else "")
        chosen = self.instruction.removesuffix(" instruction") or self.text
        return chosen[:1].lower() + chosen[1:] if not chosen.startswith("TMA") else chosen


def read_remarks(text: str) -> list[CompilerRemark]:
    """The remarks of a file of ``tileiras --remark-format=yaml``, in its order."""
    found: list[CompilerRemark] = []
    for line in text.splitlines():
        if line.startswith("---"):
            found.append(CompilerRemark(line[3:].strip().removeprefix("!").lower()))
        elif found:
            _read(line, found[-1])
    return found


def _read(line: str, remark: CompilerRemark) -> None:
    if (place := _PLACE.match(line)) is not None:
        remark.file, remark.line = _plain(place["file"]), int(place["line"])
        remark.column = None if place["column"] is None else int(place["column"])
        return
    entry = _KEY.match(line)
    if entry is None:
        return
    value = _plain(entry["value"])
    match entry["key"]:
        case "Name":
            remark.name = value
        case "Remark":
            remark.text = value
        case "Instruction":
            remark.instruction = value
        case "Reason":
            reason = _OWN_PLACE.sub("", value)
            if reason not in remark.reasons:
                remark.reasons.append(reason)


def _plain(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].replace("''", "'") if value[0] == "'" else value[1:-1]
    return value


def remarks_at(remarks: Iterable[CompilerRemark], location: Location | None) -> tuple[str, ...]:
    """What is said of the access at ``location``, in words, each once; by its line where columns are not the same."""
    if location is None:
        return ()
    there = [
        each
        for each in remarks
        if each.of_memory and any((each.file, each.line) == (frame.file, frame.line) for frame in location.chain())
    ]
    columns = {column for frame in location.chain() for column in (frame.column, frame.column + 1)}
    exact = [each for each in there if each.column in columns]
    return tuple(dict.fromkeys(_ordered(exact or there)))


def _ordered(remarks: Iterable[CompilerRemark]) -> Iterator[str]:
    """What was taken before what was not."""
    every = list(remarks)
    yield from (each.words for each in every if each.kind == "passed")
    yield from (each.words for each in every if each.kind != "passed")
