"""One change of a text that `ast` reads: a node is replaced where it stands, all else keeps its line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Node: TypeAlias = "ast.expr | ast.stmt"


@dataclass(frozen=True, slots=True)
class Change:
    """``kind``: the mistake; ``line``: where; bytes ``begin`` to ``end`` of the text, ``was``, are replaced."""

    kind: str
    line: int
    begin: int
    end: int
    was: str
    becomes: str

    @property
    def told(self) -> str:
        return f"{' '.join(self.was.split())} becomes {' '.join(self.becomes.split())}"

    def of(self, text: str) -> str:
        """The text with the mistake in it."""
        whole = text.encode()
        return (whole[: self.begin] + self.becomes.encode() + whole[self.end :]).decode()


@dataclass(frozen=True)
class Text:
    text: str

    @cached_property
    def _bytes(self) -> bytes:
        return self.text.encode()

    @cached_property
    def _begins(self) -> list[int]:
        """Of each line: `ast` counts columns in bytes."""
        begins = [0]
        for line in self._bytes.splitlines(keepends=True):
            begins.append(begins[-1] + len(line))
        return begins

    def span(self, node: Node) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._begins[node.lineno - 1] + node.col_offset,
            self._begins[node.end_lineno - 1] + node.end_col_offset,
        )

    def of(self, node: Node) -> str:
        begin, end = self.span(node)
        return self._bytes[begin:end].decode()

    def replaced(self, kind: str, node: Node, becomes: str) -> Change:
        """``becomes`` in place of ``node``."""
        begin, end = self.span(node)
        return Change(kind, node.lineno, begin, end, self.of(node), becomes)

    def with_parts(self, kind: str, node: Node, parts: Mapping[ast.expr, str]) -> Change:
        """``node`` with other texts for nodes inside it that do not overlap."""
        begin, end = self.span(node)
        written = self._bytes[begin:end]
        for part, becomes in sorted(parts.items(), key=lambda item: self.span(item[0]), reverse=True):
            first, last = self.span(part)
            written = written[: first - begin] + becomes.encode() + written[last - begin :]
        return self.replaced(kind, node, written.decode())


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes in the order of the text."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from inside(child)
