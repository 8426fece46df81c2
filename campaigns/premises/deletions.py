"""Deletions of premises: one conjunct less, one guard that lets everything through, one comparison that lets one more.

    a and b, a or b, t.and_(a, b), t.or_(a, b)   one operand is left out
    if refused: return None                      (False, (), an empty list, bare) the line is never taken
    a < b                                        a <= b, and the other way round; t.lt and t.le likewise

A deletion is named by its kind, its place and what it leaves out.  `patched` puts it into the functions of a module
that is loaded, so that whoever has imported one of them has it, too.
"""

from __future__ import annotations

import ast
import copy
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType

_JUNCTIONS = {"and_", "or_"}
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_TERMS = {"lt": "le", "le": "lt"}


@dataclass(frozen=True, slots=True)
class Deletion:
    """``node``: which node of the module, as `ast.walk` counts them; ``part``: which of its operands.

    ``lines``: first and last line of what is left out.
    """

    file: Path
    node: int
    part: int
    kind: str
    text: str
    lines: tuple[int, int]

    @property
    def name(self) -> str:
        return f"{self.file.name}:{self.lines[0]} {self.kind} {self.text}"


def deletions(file: Path) -> list[Deletion]:
    """All deletions of a module, ordered by line."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = [
        Deletion(file, number, part, kind, " ".join(ast.unparse(out).split())[:100], (out.lineno, out.end_lineno or 0))
        for number, node in enumerate(ast.walk(tree))
        for part, kind, out in _parts(node)
    ]
    return sorted(found, key=lambda each: (each.lines, each.node, each.part))


def _parts(node: ast.AST) -> Iterator[tuple[int, str, ast.expr | ast.stmt]]:
    match node:
        case ast.BoolOp():
            kind = "and" if isinstance(node.op, ast.And) else "or"
            yield from ((part, kind, value) for part, value in enumerate(node.values))
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in _JUNCTIONS and len(node.args) > 1:
            yield from (
                (part, attr, value) for part, value in enumerate(node.args) if not isinstance(value, ast.Starred)
            )
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in _TERMS:
            yield 0, f"{attr} for {_TERMS[attr]}", node
        case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
            yield 0, "comparison", node
        case ast.If(body=[ast.Return(value=value)], orelse=[]) if _refuses(value):
            yield 0, "guard", node


def _refuses(value: ast.expr | None) -> bool:
    match value:
        case None | ast.Constant(value=None | False):
            return True
        case ast.Tuple(elts=[]) | ast.List(elts=[]):
            return True
    return False


def deleted(deletion: Deletion) -> ast.Module:
    """The module without it; lines and columns are those of the file."""
    tree = ast.parse(deletion.file.read_text(encoding="utf-8"))
    node = list(ast.walk(tree))[deletion.node]
    match node:
        case ast.BoolOp():
            del node.values[deletion.part]
            if len(node.values) == 1:
                node.values = [node.values[0], copy.deepcopy(node.values[0])]
        case ast.Call(func=ast.Attribute() as function):
            if function.attr in _JUNCTIONS:
                del node.args[deletion.part]
            else:
                function.attr = _TERMS[function.attr]
        case ast.Compare():
            node.ops = [_COMPARISONS[type(node.ops[0])]()]
        case ast.If():
            node.test = ast.copy_location(ast.Constant(value=False), node.test)
    return tree


def patched(deletion: Deletion) -> int:
    """Put it into this process' functions; how many have another body now."""
    name = str(deletion.file)
    bodies = dict(_bodies(compile(deleted(deletion), name, "exec")))
    old = dict(_bodies(compile(deletion.file.read_text(encoding="utf-8"), name, "exec")))
    changed = 0
    gc.unfreeze()  # what was frozen when tests were collected, or by a command, is not among the objects
    for each in gc.get_objects():
        if not isinstance(each, FunctionType) or each.__code__.co_filename != name:
            continue
        key = (each.__code__.co_qualname, each.__code__.co_firstlineno)
        body = bodies.get(key)
        if body is not None and body != old[key] and body.co_freevars == each.__code__.co_freevars:
            each.__code__ = body
            changed += 1
    return changed


def _bodies(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    """The functions of a module, those of its classes and lambdas of its tables; inner ones belong to their outer."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & CO_OPTIMIZED:
                yield (inner.co_qualname, inner.co_firstlineno), inner
            else:
                yield from _bodies(inner)
