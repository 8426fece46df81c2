"""The source of a kernel as repairs see it: calls of cuda.tile, names that are assigned once, block ids."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ...system.source_lines import syntax_tree
from .edits import Lines

_ARGUMENTS: Final = {
    "load": ("array", "index", "shape"),
    "store": ("array", "index", "tile"),
    "gather": ("array", "indices"),
    "scatter": ("array", "indices", "value"),
    **{
        f"atomic_{mode}": ("array", "indices", "update")
        for mode in ("add", "and", "or", "xor", "max", "min", "xchg", "cas")
    },
}
"""Function of cuda.tile -> its first arguments."""


@dataclass(frozen=True, slots=True)
class TileCall:
    """A call that accesses memory; ``arguments`` by name, positional ones included."""

    node: ast.Call
    name: str
    arguments: dict[str, ast.expr]

    @property
    def index(self) -> ast.expr | None:
        return self.arguments.get("index", self.arguments.get("indices"))

    @property
    def components(self) -> tuple[ast.expr, ...]:
        """The index, one expression for each axis."""
        index = self.index
        return tuple(index.elts) if isinstance(index, ast.Tuple) else () if index is None else (index,)


class KernelSource:
    """Raises `SyntaxError` for a text that is no Python."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = syntax_tree(text)
        self.lines = Lines(text)

    def function_at(self, line: int) -> ast.FunctionDef | None:
        """The innermost function around ``line``."""
        around = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        return max(around, key=lambda node: node.lineno, default=None)

    @cached_property
    def module(self) -> str | None:
        """The name under which the file knows cuda.tile."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == "cuda.tile":
                        return alias.asname or alias.name
            elif isinstance(node, ast.ImportFrom) and node.module == "cuda":
                for alias in node.names:
                    if alias.name == "tile":
                        return alias.asname or alias.name
        return next(filter(None, map(self._decorating, ast.walk(self.tree))), None)

    def _decorating(self, node: ast.AST) -> str | None:
        """``ct`` of a function under ``@ct.kernel``: a notebook's cell need not import it."""
        for each in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            called = each.func if isinstance(each, ast.Call) else each
            if isinstance(called, ast.Attribute) and called.attr == "kernel":
                owner = self.of(called.value)
                return None if owner == "tileverify" else owner
        return None

    def of(self, node: ast.AST) -> str:
        """The text of a node."""
        if isinstance(node, ast.expr | ast.stmt) and getattr(node, "end_lineno", None) is not None:
            return self.lines.segment(node)
        return ast.unparse(node)

    def called(self, node: ast.AST) -> str | None:
        """``bid`` for ``ct.bid(...)``."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return node.func.attr if self.of(node.func.value) == self.module else None
        return None

    def calls(self, within: ast.AST) -> Iterator[TileCall]:
        for node in ast.walk(within):
            name = self.called(node)
            if name in _ARGUMENTS:
                assert isinstance(node, ast.Call)
                arguments = dict(zip(_ARGUMENTS[name], node.args, strict=False))
                arguments |= {each.arg: each.value for each in node.keywords if each.arg}
                yield TileCall(node, name, arguments)

    def call_at(self, function: ast.FunctionDef, line: int, column: int | None) -> TileCall | None:
        """The innermost access at a position that the compiler named."""
        found = [call for call in self.calls(function) if call.node.lineno <= line <= (call.node.end_lineno or 0)]
        if column is not None:
            exact = [c for c in found if c.node.lineno == line and c.node.col_offset == column]
            found = exact or found
        return max(found, key=lambda call: (call.node.lineno, call.node.col_offset), default=None)

    # ------------------------------------------------------------------------------------------- names
    def definitions(self, function: ast.FunctionDef) -> dict[str, ast.expr]:
        """What names stand for that are assigned once, in whatever depth."""
        found: dict[str, ast.expr] = {}
        stored = Counter(
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                found.update(_assigned(node.targets[0], node.value))
        return {name: value for name, value in found.items() if stored[name] == 1}

    def block_ids(self, function: ast.FunctionDef) -> dict[int, str]:
        """Axis -> how the function writes the block's id along it."""
        found: dict[int, str] = {}
        for node in ast.walk(function):
            axis = self.axis_of(node)
            if axis is not None:
                found.setdefault(axis, self.of(node))
        for name, value in self.definitions(function).items():
            axis = self.axis_of(value)
            if axis is not None:
                found[axis] = name
        return found

    def axis_of(self, node: ast.AST) -> int | None:
        """``k`` for ``ct.bid(k)``."""
        if self.called(node) == "bid" and isinstance(node, ast.Call) and len(node.args) == 1:
            axis = node.args[0]
            return axis.value if isinstance(axis, ast.Constant) and isinstance(axis.value, int) else None
        return None


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _assigned(one, other)
