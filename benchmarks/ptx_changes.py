"""One mistake in a text of PTX, as an assembler might make it.

Each kind of `KINDS` finds the lines where it may stand and rewrites one of them.  Numbers and comparisons are changed
only where an address or a guard of global memory hangs on them: others are values, which have kinds of their own only
where they lie in memory.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from tileverify.backend.compiled.ptx import read
from tileverify.pipeline.code_footprints.ptx_text import results_of, wanted_registers

Lines: TypeAlias = "list[str]"
Rewrite: TypeAlias = "tuple[int, int, Lines]"
"""From this line up to before that one, these lines instead."""

_GLOBAL: Final = re.compile(r"\b(?:ld|st|atom|red)\.[\w.]*global")
_PLACE: Final = re.compile(r"\[(%rd\d+)(?:\+(-?\d+))?\]")
_GUARD: Final = re.compile(r"^(\s*)@(!?)(%p\d+)\s")
_LAST_NUMBER: Final = re.compile(r"(?<![\w.])(-?\d+);\s*$")
_COMPARED: Final = re.compile(r"\bsetp\.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs)\.([su]\d+|b\d+)")
_OTHER_ORDER: Final = {
    "eq": "ne", "ne": "eq", "lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "lo": "ls", "ls": "lo", "hi": "hs",
    "hs": "hi",
}  # fmt: skip
_WIDTH: Final = re.compile(r"\b(st\.[\w.]*global)\.b(16|32|64)\b")
_VECTOR: Final = re.compile(r"\b(st\.[\w.]*global)\.v[248](\.b\d+)(\s*\[[^\]]*\]), \{([^,}]*),[^}]*\};")
_NARROWER: Final = {"16": "8", "32": "16", "64": "32"}
_SCOPE: Final = re.compile(
    r"\b((?:ld|st|atom|red)\.)((?:[\w:]+\.)*?)(acq_rel|acquire|release|relaxed|gpu|sys|cluster)\."
)
_BARRIER: Final = re.compile(r"^\s*(?:bar|barrier)\.sync\b")
_MEMORY: Final = re.compile(r"^\s*(?:ld|st)\.[\w.:]*shared")


@dataclass(frozen=True)
class Change:
    """``line``: of the text, from 1, where it begins."""

    kind: str
    line: int
    was: str
    now: str
    text: str


def change(text: str, draw: random.Random) -> Change | None:
    """``None`` where nothing of ``text`` can be changed."""
    lines = text.split("\n")
    decides = _deciding(text)
    kinds = sorted(KINDS)
    draw.shuffle(kinds)
    for kind in kinds:
        ways = list(KINDS[kind](lines, decides))
        if ways:
            first, end, instead = draw.choice(ways)
            was, now = ("\n".join(each.strip() for each in part) for part in (lines[first:end], instead))
            return Change(kind, first + 1, was, now, "\n".join([*lines[:first], *instead, *lines[end:]]))
    return None


def _deciding(text: str) -> frozenset[int]:
    """The lines, from 0, of instructions on which an address or a guard of global memory hangs."""
    found = set()
    for entry in read(text).entries:
        wanted = wanted_registers(entry)
        found |= {each.line - 1 for each in entry.instructions if wanted & {*results_of(each)}}
    return frozenset(found)


def _address(lines: Lines, _: frozenset[int]) -> Iterator[Rewrite]:
    """The next element, or the one before."""
    for number, line in enumerate(lines):
        if _GLOBAL.search(line) is None or (place := _PLACE.search(line)) is None:
            continue
        for step in (-4, 4, 16):
            moved = f"[{place[1]}+{int(place[2] or 0) + step}]"
            yield number, number + 1, [line[: place.start()] + moved + line[place.end() :]]


def _stride(lines: Lines, decides: frozenset[int]) -> Iterator[Rewrite]:
    for number in decides:
        line = lines[number]
        if re.search(r"\b(?:mul|mad|shl)\b", line) and (found := _LAST_NUMBER.search(line)):
            for instead in (int(found[1]) + 1, int(found[1]) * 2):
                if instead != int(found[1]):
                    yield number, number + 1, [f"{line[: found.start()]}{instead};"]


def _predicate(lines: Lines, _: frozenset[int]) -> Iterator[Rewrite]:
    """A guard turned round, before an access to global memory or before a branch that leads behind one."""
    for number, line in enumerate(lines):
        guard = _GUARD.match(line)
        if guard is None:
            continue
        soon = "\n".join(lines[number : number + 4])
        if _GLOBAL.search(line) or ("bra" in line and _GLOBAL.search(soon)):
            other = f"{guard[1]}@{'' if guard[2] else '!'}{guard[3]} "
            yield number, number + 1, [other + line[guard.end() :]]


def _bound(lines: Lines, decides: frozenset[int]) -> Iterator[Rewrite]:
    """A comparison that takes in its border, or leaves it out; a number it compares with."""
    for number in decides:
        line = lines[number]
        found = _COMPARED.search(line)
        if found is None:
            continue
        yield number, number + 1, [line[: found.start(1)] + _OTHER_ORDER[found[1]] + line[found.end(1) :]]
        if last := _LAST_NUMBER.search(line):
            yield number, number + 1, [f"{line[: last.start()]}{int(last[1]) + 1};"]


def _width(lines: Lines, _: frozenset[int]) -> Iterator[Rewrite]:
    """A store of fewer bytes.  A load of fewer gives other values at most, and registers hold no more."""
    for number, line in enumerate(lines):
        if (vector := _VECTOR.search(line)) is not None:
            one = f"{vector[1]}{vector[2]}{vector[3]}, {vector[4]};"
            yield number, number + 1, [line[: vector.start()] + one]
        elif (found := _WIDTH.search(line)) is not None and ".v" not in line:
            yield number, number + 1, [f"{line[: found.start()]}{found[1]}.b{_NARROWER[found[2]]}{line[found.end() :]}"]


def _scope(lines: Lines, _: frozenset[int]) -> Iterator[Rewrite]:
    """Weaker: an order or a scope that is left out."""
    for number, line in enumerate(lines):
        if _GLOBAL.search(line) and (found := _SCOPE.search(line)):
            yield number, number + 1, [f"{line[: found.start()]}{found[1]}{found[2]}{line[found.end() :]}"]


def _barrier(lines: Lines, _: frozenset[int]) -> Iterator[Rewrite]:
    """A barrier between a store to shared memory and a load from it."""
    for number, line in enumerate(lines):
        if _BARRIER.match(line) and _stored_before(lines, number) and _loaded_behind(lines, number):
            yield number, number + 1, []


def _stored_before(lines: Lines, number: int) -> bool:
    """Whether shared memory is stored to since the barrier before."""
    for line in reversed(lines[:number]):
        if _BARRIER.match(line):
            return False
        if "st.shared" in line or "stmatrix" in line:
            return True
    return False


def _loaded_behind(lines: Lines, number: int) -> bool:
    for line in lines[number + 1 :]:
        if _BARRIER.match(line):
            return False
        if "ld.shared" in line or "ldmatrix" in line:
            return True
    return False


def _doubled(lines: Lines, _: frozenset[int]) -> Iterator[Rewrite]:
    for number, line in enumerate(lines):
        if re.search(r"\b(?:atom|red)\.[\w.]*global", line):
            yield number, number + 1, [line, line]


def _exchanged(lines: Lines, _: frozenset[int]) -> Iterator[Rewrite]:
    """A barrier, and the load from shared memory behind it, or the store before it."""
    for number, line in enumerate(lines):
        if not _BARRIER.match(line):
            continue
        behind, before = _next(lines, number, 1), _next(lines, number, -1)
        if behind is not None and "ld.shared" in lines[behind] and _stored_before(lines, number):
            yield number, behind + 1, [lines[behind], *lines[number + 1 : behind], line]
        if before is not None and "st.shared" in lines[before] and _loaded_behind(lines, number):
            yield before, number + 1, [line, *lines[before + 1 : number], lines[before]]


def _next(lines: Lines, number: int, step: int) -> int | None:
    """The access to memory next to a line, with only instructions that compute between."""
    at = number + step
    while 0 <= at < len(lines) and re.match(r"^\s*(?:\.loc|//|(?:add|mul|shl|shr|cvt|mov|and|or|mad)\.|$)", lines[at]):
        at += step
    return at if 0 <= at < len(lines) and _MEMORY.match(lines[at]) else None


KINDS: Final[dict[str, Callable[[Lines, frozenset[int]], Iterator[Rewrite]]]] = {
    "address": _address,
    "stride": _stride,
    "predicate": _predicate,
    "bound": _bound,
    "width": _width,
    "scope": _scope,
    "barrier": _barrier,
    "doubled": _doubled,
    "exchanged": _exchanged,
}
