"""The rooms of the package and what they import: ``python -m tools.rooms`` draws them into ARCHITECTURE.md.

A room is a folder or a module directly below ``src/tileverify``.  `ROOMS` is the one order that imports keep to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src"
PAGE: Final = ROOT / "ARCHITECTURE.md"

ROOMS: Final = (
    "hook", "system", "contract", "results",
    "frontend", "checker", "verifier", "backend", "corpus", "reports",
    "pipeline", "launching", "equality", "record", "gating", "serving",
    "commands", "kernels", "api", "playback", "__init__", "__main__",
)  # fmt: skip
"""From the ground up: a room imports those before it."""

EVERYWHERE: Final = frozenset({"system", "results"})
"""Rooms that nearly every other one imports: no arrow leads to them."""

FACES: Final = frozenset({"__init__", "__main__", "playback"})
"""A few lines each, beside `commands` and `api`: not drawn."""

BEGIN: Final = "<!-- drawn by `python -m tools.rooms` -->\n"
END: Final = "<!-- end -->\n"

Edge = tuple[str, str]


def modules() -> list[Path]:
    """All modules below ``src``, but for the corpus' kernels, which are data."""
    found = (path.relative_to(SOURCE) for path in (SOURCE / "tileverify").rglob("*.py"))
    return sorted(path for path in found if not (path.parts[1] == "corpus" and len(path.parts) > 3))


_OWN: Final = frozenset(modules())


def room_of(module: Path) -> str:
    return module.parts[1] if len(module.parts) > 2 else module.stem


def syntax(module: Path) -> ast.Module:
    """The module, parsed; it is not kept, because the trees of all modules are large."""
    return ast.parse((SOURCE / module).read_text(encoding="utf-8"))


@cache
def import_statements(module: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """All of them, lazy ones too, in the order of the tree's levels."""
    found: list[ast.Import | ast.ImportFrom] = []
    ahead: list[ast.AST] = [syntax(module)]
    for node in ahead:  # which grows: statements stand in statements alone, so expressions are passed over
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            inside = getattr(node, name, ())
            ahead.extend(inside if isinstance(inside, list) else ())
    return tuple(found)


@cache
def imports(module: Path) -> tuple[tuple[str, int], ...]:
    """Dotted names that a module imports, relative ones resolved, lazy ones too, with their lines."""
    return tuple(_imports(module))


def _imports(module: Path) -> Iterator[tuple[str, int]]:
    package = list(module.parts[:-1])
    for node in import_statements(module):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        else:
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield origin, node.lineno
            yield from ((f"{origin}.{alias.name}", node.lineno) for alias in node.names)


def brought_along(roots: Iterable[Path]) -> set[Path]:
    """The modules that one has to read to believe ``roots``: what they import, lazily too, and so on.

    Imports for types alone are left out.
    """
    found: set[Path] = set()
    left = list(roots)
    while left:
        module = left.pop()
        if module not in found:
            found.add(module)
            left += _needed(module)
    return found


@cache
def _needed(module: Path) -> tuple[Path, ...]:
    typed = {line for start, end in _blocks_for_types(module) for line in range(start, end + 1)}
    names = {name for name, line in imports(module) if line not in typed}
    paths = (Path(*name.split(".")) for name in names)
    return tuple(each for path in paths for each in (path.with_suffix(".py"), path / "__init__.py") if each in _OWN)


def _blocks_for_types(module: Path) -> Iterator[tuple[int, int]]:
    for node in syntax(module).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield node.lineno, node.end_lineno or node.lineno


def lines_of(found: Iterable[Path]) -> int:
    return sum((SOURCE / module).read_bytes().count(b"\n") for module in found)


def rooms_imported(module: Path) -> Iterator[tuple[str, int]]:
    """The rooms of this package that a module names, with lines; its own is among them."""
    for name, line in imports(module):
        first, _, below = name.partition(".")
        if first == "tileverify" and below and below.split(".")[0] in ROOMS:
            yield below.split(".")[0], line


def edges() -> set[Edge]:
    """(room, room that it imports)."""
    found = {(room_of(module), room) for module in modules() for room, _ in rooms_imported(module)}
    return {(a, b) for a, b in found if a != b}


def shortened(given: Iterable[Edge]) -> list[Edge]:
    """The edges that no chain of others implies, so that a drawing can be read."""
    left = sorted(given)
    below: dict[str, set[str]] = {}
    for room in ROOMS:  # rooms further down come first
        direct = {b for a, b in left if a == room}
        below[room] = direct.union(*(below.get(other, set()) for other in direct))
    return [(a, b) for a, b in left if not any(b in below[other] for x, other in left if x == a and other != b)]


def drawing() -> str:
    """A Mermaid flowchart: an arrow from a room to each one that it needs and no other between them brings along."""
    hidden = EVERYWHERE | FACES
    shown = [(a, b) for a, b in edges() if not {a, b} & hidden]
    lines = [f"  {a} --> {b}" for a, b in shortened(shown)]
    return "\n".join(["```mermaid", "flowchart BT", *lines, "```", ""])


def page() -> str:
    """ARCHITECTURE.md with the drawing as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    return before + BEGIN + drawing() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
