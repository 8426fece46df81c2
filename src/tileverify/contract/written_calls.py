"""Where the fields of a launch stand that Python gives: ``@tileverify.launch(grid=...)``, ``%%tileverify --grid``."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from ..system.notebook_cells import cell_text
from ..system.readings import text_of
from .written_keys import WrittenKey

_CALLED: Final = ("launch", "check")
MAGIC: Final = "%%tileverify"
"""The first line of a cell that is run by it is kept behind a ``#``."""
_OPTION: Final = re.compile(r"--(?P<name>grid|requires|data|arg)(\s+|=)(?P<quote>[\"']?)(?P<value>(?P<key>\w*))")


def keys_of_call(file: str | None, line: int | None, fields: Collection[str]) -> tuple[WrittenKey, ...]:
    """The places of the keyword arguments of the call that stands at ``line`` (from 1) of a file or a notebook's cell,
    or of the options of the cell's magic.

    None where the text cannot be read, where no call, or more than one, begins there that gives all ``fields`` by
    name, and for what is given as ``**values``.
    """
    text = None if file is None else _text(file)
    if text is not None and line == 1 and text.startswith(f"#{MAGIC}"):
        return tuple(_options(text.partition("\n")[0]))
    tree = None if text is None else _parsed(text)
    if text is None or tree is None:
        return ()
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.lineno == line and _name(node.func) in _CALLED
    ]
    calls = [call for call in calls if set(fields) <= {each.arg for each in call.keywords}]
    return tuple(_keys(calls[0], text.split("\n"))) if len(calls) == 1 else ()


def _text(file: str) -> str | None:
    cell = cell_text(file)
    if cell is not None:
        return cell
    known = linecache.cache.get(file)
    if known is not None and len(known) == 4:  # the text that was run, which the gate's sandbox lets nobody open
        return "".join(known[2]).replace("\r\n", "\n")
    try:
        return text_of(Path(file)).replace("\r\n", "\n")
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=4)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _name(function: ast.expr) -> str | None:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def _options(line: str) -> Iterator[WrittenKey]:
    for option in _OPTION.finditer(line):
        name = f"args.{option['key']}" if option["name"] == "arg" else option["name"]
        yield WrittenKey(name, 1, option.start("value"), (line,))


def _keys(call: ast.Call, lines: list[str]) -> Iterator[WrittenKey]:
    for each in call.keywords:
        if each.arg is None:
            continue
        yield _key(each.arg, each, lines)
        for name, start, end in _inner(each.value):
            yield _key(f"{each.arg}.{name}", start, lines, end)


def _inner(value: ast.expr) -> Iterator[tuple[str, ast.expr | ast.keyword, ast.expr]]:
    """The entries of a dict: name, where it begins, its value."""
    match value:
        case ast.Dict(keys=keys, values=values):
            for key, entry in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, key, entry
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            yield from ((each.arg, each, each.value) for each in keywords if each.arg is not None)


def _key(
    name: str, start: ast.expr | ast.keyword, lines: list[str], end: ast.expr | ast.keyword | None = None
) -> WrittenKey:
    """``start`` and what follows it until ``end`` does."""
    end = start if end is None else end
    last = end.end_lineno or end.lineno
    written = lines[start.lineno - 1 : last]
    if end.end_col_offset is not None:
        written[-1] = written[-1].encode()[: end.end_col_offset].decode(errors="ignore")
    column = len(lines[start.lineno - 1].encode()[: start.col_offset].decode(errors="ignore"))
    return WrittenKey(name, start.lineno, column, tuple(written))
