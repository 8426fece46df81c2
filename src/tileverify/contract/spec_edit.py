"""Clauses written into a launch spec, as a person would type them: behind those of ``requires``, or in a line of its
own.

Nothing else in the file changes.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from ..system.errors import SpecError
from ..system.printable import source_lines
from .data_facts import print_data_fact
from .denied_limits import DENY
from .descriptions import print_description
from .launch import LaunchSpec
from .written_places import WrittenKey, written_keys

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


# ------------------------------------------------------------------------------------------------------------ spec text
# A launch spec as the TOML that reads back as it: one ``[[launch]]`` table.


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def spec_text(launch: LaunchSpec, name: str, requires: Iterable[str], remarks: Iterable[str] = ()) -> str:
    """The table for ``launch`` under ``name``, with ``requires`` behind its own conditions and remarks above it."""
    return "".join(f"{line}\n" for line in _lines(launch, name, requires, remarks))


def _lines(launch: LaunchSpec, name: str, requires: Iterable[str], remarks: Iterable[str]) -> Iterator[str]:
    yield from (f"# {' '.join(remark.split())}" for remark in remarks)
    yield "[[launch]]"
    yield f"kernel = {_string(launch.kernel)}"
    yield f"name = {_string(name)}"
    if launch.inferred:
        yield f"origin = {_string(launch.origin)}  # nobody promised this: delete the line once it is what you promise"
    elif launch.origin != "written":
        yield f"origin = {_string(launch.origin)}"
    if launch.grid_text:
        yield f"grid = {_strings(launch.grid_text)}"
    if launch.names:
        yield f"names = {_strings(launch.names)}"
    clauses = tuple(dict.fromkeys((*launch.requires_text, *requires)))
    if launch.inferred and clauses:
        yield "# assumed by tileverify, is this what you promise?"
    yield from _list("requires", clauses)
    yield from _list("data", [fact.text or print_data_fact(fact) for fact in launch.data])
    for key, groups in (("alias", launch.alias), ("overlap", launch.overlap)):
        if groups:
            yield f"{key} = [{', '.join(_strings(sorted(group)) for group in groups)}]"
    yield from _list("trust", launch.trust)
    if launch.deny_limits:
        yield f"limits = {_string(DENY)}"
    yield ""
    yield "[launch.args]"
    for argument in launch.arguments:
        key = argument.name if _BARE_KEY.fullmatch(argument.name) else _string(argument.name)
        yield f"{key} = {print_description(argument)}"


def _list(key: str, texts: Sequence[str]) -> Iterator[str]:
    """One line, or one for each text where there are several."""
    if len(texts) > 1:
        yield f"{key} = ["
        yield from (f"    {_string(text)}," for text in texts)
        yield "]"
    elif texts:
        yield f"{key} = {_strings(texts)}"


def _strings(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_string, texts))}]"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
