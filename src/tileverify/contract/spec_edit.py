"""Clauses written into a launch spec, as a person would type them: behind those of ``requires``, or in a line of its
own.

Nothing else in the file changes.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from ..system.errors import SpecError
from ..system.printable import source_lines
from .written_keys import WrittenKey, written_keys

_TOKEN: Final = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<text>"(\\.|[^"\\\n])*"|'[^'\n]*')|(?P<mark>[\[\]{}])|[^\s"'\[\]{}#]+"""
)


def inserted(text: str, header: int, clauses: Sequence[str], file: str) -> tuple[int, str]:
    """Where in ``text`` (a place in characters) and what `with_requires` inserts; raises what it raises."""
    changed = with_requires(text, header, clauses, file)
    place = next((at for at, (old, new) in enumerate(zip(text, changed, strict=False)) if old != new), len(text))
    return place, changed[place : place + len(changed) - len(text)]


def with_requires(text: str, header: int, clauses: Sequence[str], file: str) -> str:
    """The TOML document ``text`` in which the launch whose header stands at line ``header`` (from 1) requires
    ``clauses`` as well.

    Raises `SpecError` where its ``requires`` is written in a way that is not understood.
    """
    own = (key for key in written_keys(text, header) if "." not in key.name)
    keys = [key for key in own if not key.lines[0].lstrip().startswith("[")]  # tables of the launch come last
    added = ", ".join(json.dumps(clause, ensure_ascii=False) for clause in clauses)
    known = next((key for key in keys if key.name == "requires"), None)
    starts = [0, *accumulate(map(len, source_lines(text)))]
    if known is None:
        last = max(keys, key=lambda key: key.line, default=None)
        place = starts[header if last is None else last.line + _lines_of(last) - 1]
        line = f"requires = [{added}]\n"
        changed = f"{text[:place]}{line if text[:place].endswith(chr(10)) else chr(10) + line}{text[place:]}"
    else:
        value = "\n".join(known.lines)
        written = [token for token in _TOKEN.finditer(value, value.index("=") + 1) if token["comment"] is None]
        strings = [token.end() for token in written if token["text"] is not None]
        opened = next((token.end() for token in written if token["mark"] == "["), len(value))
        place = starts[known.line - 1] + (strings[-1] if strings else opened)
        changed = f"{text[:place]}{', ' if strings else ''}{added}{text[place:]}"
    return _checked(changed, text, file, header)


def _lines_of(key: WrittenKey) -> int:
    """How many lines the value of ``key`` takes."""
    depth = 0
    for number, line in enumerate(key.lines, start=1):
        marks = [token["mark"] for token in _TOKEN.finditer(line) if token["mark"] is not None]
        depth += sum(1 if mark in "[{" else -1 for mark in marks)
        if depth <= 0:
            return number
    return len(key.lines)


def _checked(text: str, before: str, file: str, header: int) -> str:
    """``text``, if it is what was meant: the same document, but for one list that is longer."""
    try:
        if tomllib.loads(text) != tomllib.loads(before):
            return text
    except tomllib.TOMLDecodeError:
        pass
    raise SpecError("its 'requires' is written in a way that no clause can be added to: add it by hand", file, header)
