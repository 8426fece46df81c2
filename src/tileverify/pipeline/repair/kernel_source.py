"""The source of a kernel as repairs see it: calls of cuda.tile, names assigned once, the place of a finding, edits."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, TypeVar

from ...reports.snippets import LARGEST_DIFFERENCE, changed_lines, edited, well_placed
from ...results import Edit, Finding
from ...system.printable import source_lines, syntax_tree

__all__ = [
    "LARGEST_DIFFERENCE",
    "Lines",
    "changed_lines",
    "edited",
    "well_placed",
]

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


def holds(statement: ast.AST, node: ast.AST) -> bool:
    """Whether the node stands in the statement."""
    return any(each is node for each in ast.walk(statement))


# ---------------------------------------------------------------------------------------------------------------- edits
# Edits of a source text.


class Lines:
    """A source by lines; the syntax tree counts columns in bytes of UTF-8, people and edits in characters."""

    def __init__(self, text: str) -> None:
        self._lines = source_lines(text)
        self._encoded = [line.encode() for line in self._lines]  # once: a line may have megabytes, and many nodes

    def column(self, line: int, byte: int) -> int:
        return len(self._encoded[line - 1][:byte].decode(errors="replace"))

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """The text of ``node``; `ast.get_source_segment` splits the whole source each time."""
        assert node.end_lineno is not None
        lines = self._encoded[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1][: node.end_col_offset]  # first: it may be the only one
        lines[0] = lines[0][node.col_offset :]
        return b"".join(lines).decode()

    def line(self, number: int) -> str:
        return self._lines[number - 1].rstrip("\r\n")

    def replacing(self, node: ast.expr | ast.stmt | ast.keyword, text: str) -> Edit:
        """``text`` in place of ``node``."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.column(node.lineno, node.col_offset)
        return Edit(node.lineno, start, node.end_lineno, self.column(node.end_lineno, node.end_col_offset), text)

    def before(self, statement: ast.stmt, lines: Iterable[str]) -> Edit:
        """Whole lines above ``statement``, indented as it is."""
        indent = self._lines[statement.lineno - 1][: self.column(statement.lineno, statement.col_offset)]
        text = "".join(f"{indent}{line}\n" for line in lines)
        return Edit(statement.lineno, 0, statement.lineno, 0, text)

    def without(self, statement: ast.stmt) -> Edit:
        """The lines of ``statement`` left out."""
        assert statement.end_lineno is not None
        return Edit(statement.lineno, 0, statement.end_lineno + 1, 0, "")


# --------------------------------------------------------------------------------------------------------- faulty place
# A finding in the source of its kernel, as proposals of repairs see it.


Found: TypeAlias = "Iterator[tuple[str, tuple[Edit, ...]]]"
"""Edits that are worth a try, each with what it does in words."""

_Node = TypeVar("_Node", bound=ast.expr)


@dataclass(frozen=True, slots=True)
class FaultyPlace:
    """A finding in the source: the function around it, and the accesses that it names; ``named``: those that any
    finding of the kernel names; ``codes``: of all of them."""

    source: KernelSource
    function: ast.FunctionDef
    finding: Finding
    accesses: tuple[TileCall, ...]
    named: tuple[TileCall, ...]
    codes: frozenset[str]

    def of(self, node: ast.AST) -> str:
        return self.source.of(node)

    def replacing(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        return self.source.lines.replacing(node, text)

    def growing(self, nodes: Sequence[_Node]) -> Iterator[list[_Node]]:
        """Those of ``nodes`` in the accesses of the finding; in those that any finding names; all: what changes least
        first, each once."""
        told: list[list[_Node]] = []
        for accesses in (self.accesses, self.named, None):
            inside = None if accesses is None else {id(part) for each in accesses for part in ast.walk(each.node)}
            some = [node for node in nodes if inside is None or id(node) in inside]
            if some and some not in told:
                told.append(some)
                yield some

    def parts(self, node: ast.expr) -> Iterator[ast.expr]:
        """All expressions that ``node`` is made of, through names that are assigned once."""
        definitions, seen = self.source.definitions(self.function), set[str]()
        pending = [node]
        while pending:
            for part in ast.walk(pending.pop()):
                if isinstance(part, ast.expr):
                    yield part
                if isinstance(part, ast.Name) and part.id in definitions and part.id not in seen:
                    seen.add(part.id)
                    pending.append(definitions[part.id])
