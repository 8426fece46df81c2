"""Which kernels of the library a host function may launch, read off its source.

From the function, all names of the library that it mentions are followed.  The texts that stand there, put into the
texts with gaps that stand there (f-strings), give the names of kernels.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

LIBRARY: Final = Path(__file__).parents[1] / "src" / "tileverify" / "kernels"

Place = tuple[str, str]
"""A module of the library and a name in it."""

Pieces = tuple[str | None, ...]
"""A text with gaps, which are ``None``."""


@dataclass(slots=True)
class _Mentioned:
    names: set[Place] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    with_gaps: set[Pieces] = field(default_factory=set)


def launched_by(function: Place, kernels: Mapping[str, list[str]]) -> list[Place]:
    """The kernels, by module and name, that the host function may launch; ``kernels``: all, by module."""
    definitions = _definitions()
    seen: dict[Place, _Mentioned] = {}
    ahead = [function]
    while ahead:
        place = ahead.pop()
        if place not in seen and place in definitions:
            seen[place] = definitions[place]
            ahead.extend(seen[place].names)
    texts = {text for each in seen.values() for text in each.texts} | {""}
    with_gaps = {pieces for each in seen.values() for pieces in each.with_gaps}
    names = texts | {name for pieces in with_gaps if not _of_module(pieces) for name in _filled(pieces, texts)}
    whole = {name for pieces in with_gaps if _of_module(pieces) for name in _filled(pieces, names)} | texts
    return [(module, kernel) for module in kernels for kernel in kernels[module] if f"{module}.{kernel}" in whole]


def _of_module(pieces: Pieces) -> bool:
    return "." in (pieces[0] or "")


def _filled(pieces: Pieces, texts: set[str]) -> Iterator[str]:
    """All ways to fill the gaps; a text with more than two of them names no kernel."""
    gaps = pieces.count(None)
    if gaps <= 2:
        for chosen in itertools.product(sorted(texts), repeat=gaps):
            filling = iter(chosen)
            yield "".join(next(filling) if piece is None else piece for piece in pieces)


@cache
def _definitions() -> dict[Place, _Mentioned]:
    """What each function, class and variable at the top of a host module mentions."""
    found: dict[Place, _Mentioned] = {}
    for file in sorted(LIBRARY.glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        known: dict[str, Place] = {}
        for statement in tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.level == 1 and statement.module:
                known |= {each.asname or each.name: (statement.module, each.name) for each in statement.names}
            known |= {name: (file.stem, name) for name in _defined(statement)}
        for statement in tree.body:
            for name in _defined(statement):
                found[file.stem, name] = _mentioned(statement, known)
    return found


def _defined(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def _mentioned(statement: ast.stmt, known: Mapping[str, Place]) -> _Mentioned:
    found = _Mentioned()
    inside = {id(part) for node in ast.walk(statement) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name) if name in known:
                found.names.add(known[name])
            case ast.JoinedStr(values=parts):
                found.with_gaps.add(tuple(_text(part) for part in parts))
            case ast.Constant(value=str(text)) if id(node) not in inside and " " not in text:
                found.texts.add(text)
    return found


def _text(part: ast.expr) -> str | None:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else None
