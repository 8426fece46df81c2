"""Guards: an access whose tile lies outside the array is left out, with what hangs on it and nothing else.

What hangs on a load are the statements that use what it gives, directly or through names; a store hangs on nothing but
itself.  A guard is right only if every other effect of the block stays: other stores, atomics, what the host sees.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...results import Edit
from .kernel_source import KernelSource

_HARMLESS: Final = frozenset({"abs", "bool", "float", "int", "len", "max", "min", "range", "slice", "tuple", "zip"})
"""Functions of Python that a kernel may call, which do nothing but give a value."""
_EFFECTS: Final = ("assert", "atomic", "print", "scatter", "store")
"""How functions and methods of cuda.tile begin that do something else."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """Statements of one body, ``first`` to ``last``, that are to run only where ``condition`` holds."""

    condition: str
    body: Sequence[ast.stmt]
    first: int
    last: int

    @property
    def statements(self) -> Sequence[ast.stmt]:
        return self.body[self.first : self.last + 1]


class Guards:
    """What may be left out of one function."""

    def __init__(self, source: KernelSource, function: ast.FunctionDef) -> None:
        self.source = source
        self.function = function

    def place(self, node: ast.AST) -> tuple[list[ast.stmt], int] | None:
        """The innermost body with the statement that holds ``node``, and its number; none for the head of a loop."""
        for body in _bodies(self.function):
            for number, statement in enumerate(body):
                if any(each is node for each in ast.walk(statement)):
                    return None if _is_compound(statement) else (body, number)
        return None

    def around(self, node: ast.AST, condition: str) -> Guarded | None:
        """A guard of the access ``node`` and all that hangs on it, if these stand together with nothing between."""
        found = self.place(node)
        if found is None:
            return None
        body, first = found
        names = _assigned(body[first])
        if isinstance(body[first], ast.AugAssign) or not self._is_alone(body[first]):
            return None
        last = first
        for number in range(first + 1, len(body)):
            if _used(body[number]) & names:
                last = number
                names |= {name for each in body[first + 1 : number + 1] for name in _assigned(each)}
        guarded = Guarded(condition, body, first, last)
        inside = {id(each) for statement in guarded.statements for each in ast.walk(statement)}
        every = (each for each in ast.walk(self.function) if isinstance(each, ast.Name))
        kept = names & {each.id for each in every if id(each) not in inside}
        whole = not any(map(self._has_several_lines, guarded.statements))
        alone = not self.leaves_out(guarded.statements[1:], _assigned(body[first]))
        return guarded if not kept and whole and alone else None

    def may_return(self, node: ast.AST) -> ast.stmt | None:
        """The statement of the function with ``node``, if the block may return in front of it: whatever it does from
        there on hangs on the access."""
        found = self.place(node)
        if found is None or found[0] is not self.function.body:
            return None
        body, number = found
        statement = body[number]
        rest = body[number + 1 :]
        return None if not self._is_alone(statement) or self.leaves_out(rest, _assigned(statement)) else statement

    def leaves_out(self, statements: Sequence[ast.stmt], names: Iterable[str]) -> bool:
        """Whether some effect of ``statements`` does not hang on what ``names`` stand for."""
        known = set(names)
        while True:
            more = {
                name for each in statements for part in _simple(each) if _used(part) & known for name in _assigned(part)
            }
            if more <= known:
                break
            known |= more
        return any(self._does_else(each, known) for each in statements)

    def _does_else(self, statement: ast.stmt, known: set[str]) -> bool:
        if _is_compound(statement):
            heads = [part for part in ast.iter_child_nodes(statement) if isinstance(part, ast.expr)]
            if any(_used(head) & known for head in heads):
                return False
            inner = [each for body in _own_bodies(statement) for each in body]
            return any(map(self._has_effect, heads)) or any(self._does_else(each, known) for each in inner)
        return self._has_effect(statement) and not _used(statement) & known

    def _has_effect(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Raise | ast.Assert):
            return True
        return any(isinstance(each, ast.Call) and self._acts(each) for each in ast.walk(node))

    def _acts(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Attribute(attr=name):
                return name.startswith(_EFFECTS)
            case ast.Name(id=name):
                return name not in _HARMLESS
        return True

    def _is_alone(self, statement: ast.stmt) -> bool:
        """Whether no other statement stands on its lines."""
        before = self.source.lines.before(statement, [""]).text
        others = [each for body in _bodies(self.function) for each in body if each is not statement]
        return not before.strip() and not any(
            each.lineno in (statement.lineno, statement.end_lineno) and not _holds(each, statement) for each in others
        )

    def _has_several_lines(self, statement: ast.stmt) -> bool:
        """A text of several lines would be another one where it is indented."""
        return any(
            isinstance(each, ast.Constant | ast.JoinedStr) and each.lineno != each.end_lineno
            for each in ast.walk(statement)
        )


def edits_of(source: KernelSource, guards: Sequence[Guarded]) -> tuple[Edit, ...]:
    """The guards as edits of whole lines; of two one may stand in the other."""
    merged: dict[tuple[int, int], Guarded] = {}
    for each in guards:
        where = each.statements[0].lineno, each.statements[-1].end_lineno or 0
        known = merged.get(where)
        both = each.condition if known is None else f"{known.condition} and {each.condition}"
        merged[where] = replace(each, condition=both)
    guards = list(merged.values())
    first = {id(each): each.statements[0].lineno for each in guards}
    last = {id(each): each.statements[-1].end_lineno or 0 for each in guards}
    outer = [
        each
        for each in guards
        if not any(
            first[id(other)] <= first[id(each)] and last[id(each)] <= last[id(other)]
            for other in guards
            if other is not each
        )
    ]
    edits = []
    for each in outer:
        lines = []
        for number in range(first[id(each)], last[id(each)] + 1):
            around = [g for g in guards if first[id(g)] <= number <= last[id(g)]]
            text = source.lines.line(number)
            indent = text[: len(text) - len(text.lstrip())]
            begins = sorted((g for g in around if first[id(g)] == number), key=lambda g: -last[id(g)])
            for depth, begun in enumerate(begins, start=len(around) - len(begins)):
                lines.append(f"{indent}{'    ' * depth}if {begun.condition}:\n")
            lines.append(f"{'    ' * len(around)}{text}\n" if text.strip() else f"{text}\n")
        edits.append(Edit(first[id(each)], 0, last[id(each)] + 1, 0, "".join(lines)))
    return tuple(edits)


def _bodies(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a function, inner ones before those around them."""
    for statement in function.body:
        yield from _bodies_in(statement)
    yield function.body


def _bodies_in(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for body in _own_bodies(statement):
        for each in body:
            yield from _bodies_in(each)
        yield body


def _own_bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    parts = (getattr(statement, name, None) for name in ("body", "orelse", "finalbody"))
    return [part for part in parts if isinstance(part, list) and part]


def _is_compound(statement: ast.stmt) -> bool:
    return bool(_own_bodies(statement)) or isinstance(statement, ast.Match)


def _simple(statement: ast.stmt) -> Iterator[ast.AST]:
    """The simple statements in a statement, and the targets of loops with what they go through."""
    if not _is_compound(statement):
        yield statement
        return
    if isinstance(statement, ast.For):
        yield ast.Assign([statement.target], statement.iter)
    for body in _own_bodies(statement):
        for each in body:
            yield from _simple(each)


def _assigned(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _used(node: ast.AST) -> set[str]:
    """The names that a statement reads; what it adds to, it reads as well."""
    read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    added = (each.target for each in ast.walk(node) if isinstance(each, ast.AugAssign))
    return read.union(*map(_assigned, added))


def _holds(statement: ast.AST, node: ast.AST) -> bool:
    return any(each is node for each in ast.walk(statement))
