"""Parts of a syntax tree that the screen asks for: its size, names that are bound, operands, what is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from .gated import Reason

DEEPEST: Final = 80
"""Levels of the syntax tree."""
MOST_NODES: Final = 50_000

_SEQUENCES: Final = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr)


def size_reasons(tree: ast.Module) -> Iterator[Reason]:
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


def short(name: str) -> str:
    return ascii(name)[1:-1][:60]


def called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def is_sequence(node: ast.expr) -> bool:
    return isinstance(node, _SEQUENCES) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def arguments(signature: ast.arguments) -> Iterator[ast.arg]:
    yield from (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)
    yield from (each for each in (signature.vararg, signature.kwarg) if each is not None)


def operands(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions right below, those inside keywords, generators and defaults included."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif not isinstance(child, ast.expr_context | ast.operator | ast.boolop | ast.unaryop | ast.cmpop):
            yield from operands(child)


def target_names(target: ast.expr) -> Iterator[str | None]:
    """Names that an assignment binds; ``None`` for a target that is no name."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from target_names(element)
        case ast.Starred(value=value):
            yield from target_names(value)
        case _:
            yield None


def bound_names(body: list[ast.stmt]) -> Iterator[str]:
    """Names that the statements of a function bind, those of functions inside it not counted."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            yield statement.name
            continue
        for field in ("targets", "target"):
            value = getattr(statement, field, None)
            for target in value if isinstance(value, list) else [value]:
                if isinstance(target, ast.expr):
                    yield from (name for name in target_names(target) if name is not None)
        for field in ("body", "orelse"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list):
                yield from bound_names(inner)


def module_names(tree: ast.Module) -> Iterator[str]:
    """Names that the module's own statements define, imports and fields of classes not counted."""
    definitions = (ast.FunctionDef, ast.ClassDef)
    yield from (statement.name for statement in tree.body if isinstance(statement, definitions))
    yield from bound_names([statement for statement in tree.body if not isinstance(statement, definitions)])
