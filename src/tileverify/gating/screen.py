"""The static screen: what a submission may hold, decided from its text, before anything of it runs.

It admits imports of ``cuda.tile`` and a few pure modules, constants, kernels, helper functions and dataclasses, and
refuses by default: a kind of node, name or attribute that is not known to be harmless is a reason.  It is a courtesy
to honest authors, whose mistakes get a line and a sentence, and the first of two walls; the sandbox is the second, and
holds without it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from .gated import Reason
from .screen_tree import Screen
from .screen_vocabulary import MOST_BYTES, text_reasons

DEEPEST: Final = 80
"""Levels of the syntax tree."""
MOST_NODES: Final = 50_000
MOST_REASONS: Final = 20


def screen(source: str | bytes) -> tuple[Reason, ...]:
    """Why ``source`` is not let through, in the order of the source, at most `MOST_REASONS`; none if it is."""
    if isinstance(source, str):
        source = source.encode("utf-8", errors="surrogatepass")
    if len(source) > MOST_BYTES:
        return (Reason("source-size", f"the source has {len(source)} bytes, more than {MOST_BYTES}"),)
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        return (Reason("encoding", "the source is not UTF-8", line, 0),)
    reasons = tuple(text_reasons(text))
    if reasons:
        return reasons[:MOST_REASONS]
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return (Reason("syntax", f"the source is no Python: {error.msg}", error.lineno, (error.offset or 1) - 1),)
    except (RecursionError, MemoryError, ValueError):
        return (Reason("nesting", "the source is nested too deeply to be parsed", 1, 0),)
    size = next(_size_reasons(tree), None)
    if size is not None:
        return (size,)
    found = sorted(Screen().reasons(tree), key=lambda reason: (reason.line or 0, reason.column or 0, reason.id))
    return tuple(dict.fromkeys(found))[:MOST_REASONS]


def _size_reasons(tree: ast.Module) -> Iterator[Reason]:
    """Walks without recursion, as a deep tree would end the recursive screen."""
    count = 0
    waiting: list[tuple[ast.AST, int]] = [(node, 1) for node in tree.body]
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if depth > DEEPEST and isinstance(node, ast.stmt | ast.expr):
            message = f"the source is nested more than {DEEPEST} levels deep"
            yield Reason("nesting", message, node.lineno, node.col_offset)
        if count > MOST_NODES:
            yield Reason("source-size", f"the syntax tree has more than {MOST_NODES} nodes")
        waiting.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
