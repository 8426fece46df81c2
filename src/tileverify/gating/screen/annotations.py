"""The screen's rule for annotations.  They are the one place where Python evaluates text that a value holds.

``typing.get_type_hints``, which cuda.tile asks for the hints of a kernel, takes a hint that *is* a text for code, at
any depth of a generic type, whichever way the text came there: ``A.s`` of a dataclass with a default will do.  So what
a hint evaluates to must be known from its form alone:

    hint     ::= listed | own | None | hint '|' hint | listed '[' argument, ... ']'
    argument ::= hint | '...' | metadata
    metadata ::= number | listed '(' metadata, ... ')' | (metadata, ...)

``listed``: a name of the vocabulary, or a builtin type; none of them is a text.  ``own``: a dataclass, or a name that
the module binds once, to a hint.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

BUILTIN_TYPES: Final = frozenset({"bool", "float", "int", "list", "slice", "str", "tuple"})

Qualified = Callable[[ast.expr], tuple[str, str] | None]
"""(module, name) for a name of the vocabulary that a module is asked for, or that was imported."""


@dataclass(frozen=True, slots=True)
class Hints:
    """``own``: names of the module that stand for hints; ``bound``: all that it binds; ``pure``: what may be called."""

    own: frozenset[str]
    bound: frozenset[str]
    qualified: Qualified
    pure: Callable[[ast.expr], bool]

    def strange(self, node: ast.expr, hidden: frozenset[str] = frozenset()) -> Iterator[ast.expr]:
        """The parts of an annotation that no rule is for; ``hidden``: names that mean something else there."""
        match node:
            case ast.Name(id=name) if name in hidden:
                yield node
            case ast.Name() | ast.Attribute():
                if not self._is_named(node):
                    yield node
            case ast.Constant(value=None):
                pass
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                yield from self.strange(left, hidden)
                yield from self.strange(right, hidden)
            case ast.Subscript(value=generic, slice=argument):
                yield from self.strange(generic, hidden)
                for each in argument.elts if isinstance(argument, ast.Tuple) else [argument]:
                    if not self._is_metadata(each, hidden):
                        yield from self.strange(each, hidden)
            case _:
                yield node

    def _is_named(self, node: ast.Name | ast.Attribute) -> bool:
        if self.qualified(node) is not None:
            return True
        return isinstance(node, ast.Name) and (
            node.id in self.own or (node.id in BUILTIN_TYPES and node.id not in self.bound)
        )

    def _is_metadata(self, node: ast.expr, hidden: frozenset[str]) -> bool:
        """What ``Annotated`` and ``Literal`` take beside hints: never looked at as one."""
        match node:
            case ast.Constant(value=value):
                return value is ... or isinstance(value, bool | int | float)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float())):
                return True
            case ast.Tuple(elts=elements):
                return all(self._is_metadata(each, hidden) for each in elements)
            case ast.Call(func=function, args=arguments, keywords=keywords):
                qualified = self.qualified(function)
                given = [*arguments, *(keyword.value for keyword in keywords)]
                return (
                    qualified is not None
                    and qualified[0] == "cuda.tile"
                    and self.pure(function)
                    and all(self._is_metadata(each, hidden) for each in given)
                )
        return False


def hints_of(tree: ast.Module, names: Counter[str], qualified: Qualified, pure: Callable[[ast.expr], bool]) -> Hints:
    """``names``: how often the module's statements bind each name."""
    found = Hints(frozenset(), frozenset(names), qualified, pure)
    for name, value in _candidates(tree):
        if names[name] == 1 and (value is None or next(found.strange(value), None) is None):
            found = Hints(found.own | {name}, found.bound, qualified, pure)
    return found


def _candidates(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """Names with what they are bound to, in order; a class stands for itself."""
    for statement in tree.body:
        match statement:
            case ast.ClassDef(name=name):
                yield name, None
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
