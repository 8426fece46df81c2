"""A finding in the source of its kernel, as proposals of repairs see it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from ...results import Edit, Finding
from .kernel_source import KernelSource, TileCall

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
