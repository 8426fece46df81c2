"""Where sources let launches pass without a proof: every call of ``tileverify.unproved``, found without running them.

A call counts by any name that the file imports it under (``from tileverify import unproved as trusted``), and so does a
mention that is no call, as whoever gets the function may call it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..system.errors import UsageError

_PACKAGES: Final = frozenset({"tileverify", "tileverify.launching.optouts"})
_NAME: Final = "unproved"


@dataclass(frozen=True, slots=True)
class SourceOptOut:
    """``reason``: what the call says, as source text where it is no plain string."""

    file: str
    line: int
    function: str
    reason: str


def opt_outs(paths: Iterable[Path]) -> Iterator[SourceOptOut]:
    """Those of Python files, and of all in folders, in the order of names and lines.

    Raises `UsageError` for a path that is not there, and for a file that is no Python.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no '{path}'")
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            yield from _of_file(file)


def _of_file(file: Path) -> Iterator[SourceOptOut]:
    try:
        text = file.read_bytes()
        tree = ast.parse(text, str(file))
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {error.strerror or error}") from None
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"'{file}' is no Python: {error}") from None
    if _NAME.encode() in text:
        yield from _Finder(file).found(tree)


class _Finder(ast.NodeVisitor):
    """Walks a module with the names that its imports give the package and the function."""

    def __init__(self, file: Path) -> None:
        self._file = str(file)
        self._packages: set[str] = set()
        self._functions: set[str] = set()
        self._inside: list[str] = []
        self._found: list[SourceOptOut] = []

    def found(self, tree: ast.Module) -> list[SourceOptOut]:
        for node in ast.walk(tree):  # an import may stand below its use, in a function that runs first
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
        self.visit(tree)
        return sorted(self._found, key=lambda each: each.line)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name in _PACKAGES or alias.name.startswith("tileverify."):
                self._packages.add(alias.asname or alias.name)
                if alias.asname is None:
                    self._packages.add("tileverify")

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if node.module in _PACKAGES and alias.name in (_NAME, "*"):
                self._functions.add(_NAME if alias.name == "*" else alias.asname or _NAME)
            elif f"{node.module}.{alias.name}" in _PACKAGES:
                self._packages.add(alias.asname or alias.name)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for each in node.decorator_list:
            self.visit(each)
        self._inside.append(node.name)
        for child in ast.iter_child_nodes(node):
            if child not in node.decorator_list:
                self.visit(child)
        self._inside.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815
    visit_ClassDef = visit_FunctionDef  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        if self._names_it(node.func):
            given = [each.value for each in node.keywords if each.arg == "reason"] + node.args
            self._note(node.lineno, _said(given[0]) if given else "no reason")
            for each in [*node.args, *(keyword.value for keyword in node.keywords)]:
                self.visit(each)
        else:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and self._names_it(node):
            self._note(node.lineno, "handed on")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._names_it(node):
            self._note(node.lineno, "handed on")
        else:
            self.generic_visit(node)

    def _names_it(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._functions
        return isinstance(node, ast.Attribute) and node.attr == _NAME and ast.unparse(node.value) in self._packages

    def _note(self, line: int, reason: str) -> None:
        self._found.append(SourceOptOut(self._file, line, ".".join(self._inside) or "<module>", reason))


def _said(reason: ast.expr) -> str:
    plain = isinstance(reason, ast.Constant) and isinstance(reason.value, str)
    return str(reason.value) if plain and isinstance(reason, ast.Constant) else ast.unparse(reason)
