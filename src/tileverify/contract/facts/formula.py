"""The small language in which facts say what they mean, so that each meaning stands once.

    i, j in a: i != j and a[i] not in unless -> a[i] != a[j]
    i in a, keys: 0 <= a[i] < count(keys, n, i // n, keys[i])
    sum(a) <= n

The indices before the colon run over what all arrays behind ``in`` have; ``->`` parts a premise from a conclusion.
A formula speaks of elements ``a[i]``, of the numbers of a fact (``low``, ``high``, ``n``, ``width``, ``unless``), of

* ``size(a)``: how many elements there are; ``sum(a)``: of all of them;
* ``count(keys, n, b, k)``: how many elements of chunk ``b`` of ``keys``, those ``j`` with ``j // n == b``, hold ``k``;
* ``first(i)``, ``last(i)``, ``row(i)``: the index on the first and last axis, and on all but the last;
  ``line(a, i)``: all values of the row of ``a`` that has the element of index ``i``.

A comparison with a number that a fact leaves out holds.  Of elements that an array does not have nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from ..launch import Apply, Expression, Name, Number

NOTHING: Final = Apply("and", ())
"""What always holds."""

ELEMENT: Final = "[]"
LINE: Final = "line"
PLACES: Final = frozenset({"first", "last", "row"})
"""Of an index on some axes."""
COMPARED: Final = ("==", "!=", "<", "<=")
_ORDERS: Final[Mapping[type[ast.AST], str]] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_BINARY: Final[Mapping[type[ast.AST], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


@cache
def parse(text: str) -> Expression:
    """A formula without its indices, or a part of one."""
    return _parsed(ast.parse(text.strip(), mode="eval").body)


def _parsed(node: ast.expr) -> Expression:
    match node:
        case ast.Constant(value=int(number)):
            return Number(number)
        case ast.Name(id=name):
            return Name(name)
        case ast.Subscript(value=array, slice=index):
            return Apply(ELEMENT, (_parsed(array), _parsed(index)))
        case ast.Call(func=ast.Name(id=name), args=args):
            return Apply(name, tuple(map(_parsed, args)))
        case ast.BoolOp(op=op, values=values):
            return Apply("and" if isinstance(op, ast.And) else "or", tuple(map(_parsed, values)))
        case ast.BinOp(left=left, op=op, right=right):
            return Apply(_BINARY[type(op)], (_parsed(left), _parsed(right)))
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_parsed(each) for each in (left, *others)]
            parts = tuple(map(_compared, ops, sides, sides[1:]))
            return parts[0] if len(parts) == 1 else Apply("and", parts)
    raise ValueError(f"no part of a formula: {ast.unparse(node)}")


def _compared(order: ast.cmpop, left: Expression, right: Expression) -> Expression:
    if isinstance(order, ast.NotIn):
        return Apply("not", (Apply("in", (left, right)),))
    return Apply(_ORDERS[type(order)], (left, right))


@dataclass(frozen=True)
class FactFormula:
    """One formula of a fact.  ``text`` is its formula; ``broken`` says of elements that break it what is wrong.

    In ``broken``, ``{a[i]=}`` is an element with its value, ``{@a[i]}`` the element alone, ``{a}`` the array's name,
    and every other formula in braces a value.
    """

    text: str
    broken: str = ""

    @cached_property
    def _parts(self) -> tuple[str, str]:
        head, colon, body = self.text.partition(":")
        return (head, body) if colon else ("", head)

    @cached_property
    def indices(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self._parts[0].partition(" in ")[0].split(",") if name.strip())

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """Those that the indices run over."""
        return tuple(name.strip() for name in self._parts[0].partition(" in ")[2].split(",") if name.strip())

    @cached_property
    def premise(self) -> Expression:
        before, arrow, _ = self._parts[1].partition("->")
        return parse(before) if arrow else NOTHING

    @cached_property
    def conclusion(self) -> Expression:
        before, arrow, behind = self._parts[1].partition("->")
        return parse(behind if arrow else before)

    @cached_property
    def formula(self) -> Expression:
        """Premise and conclusion, to look at."""
        return Apply("->", (self.premise, self.conclusion))

    @cached_property
    def parts(self) -> tuple[Expression, ...]:
        """The formula and all its parts."""
        return tuple(parts_of(self.formula))

    @cached_property
    def elements(self) -> tuple[Apply, ...]:
        """The elements that it speaks of."""
        return tuple(part for part in self.parts if isinstance(part, Apply) and part.op == ELEMENT)

    @cached_property
    def looked_up(self) -> tuple[Apply, ...]:
        """The elements whose place is no index, but computed."""
        return tuple(dict.fromkeys(part for part in self.elements if not _is_index(part.args[1], self.indices)))

    @cached_property
    def of_places(self) -> bool:
        """Whether it depends on where elements lie on the axes of their array."""
        return any(isinstance(part, Apply) and part.op in (*PLACES, LINE) for part in self.parts)

    @cached_property
    def lines(self) -> bool:
        """Whether it compares whole rows."""
        return any(isinstance(part, Apply) and part.op == LINE for part in self.parts)

    def without(self, absent: Collection[str]) -> tuple[Expression, Expression] | None:
        """Without the numbers that a fact leaves out; ``None`` if nothing is left to conclude."""
        key = frozenset(absent)
        if key not in self._reduced:
            conclusion = without(self.conclusion, absent)
            self._reduced[key] = None if conclusion == NOTHING else (without(self.premise, absent), conclusion)
        return self._reduced[key]

    @cached_property
    def _reduced(self) -> dict[frozenset[str], tuple[Expression, Expression] | None]:
        """What `without` gave."""
        return {}


def _is_index(part: Expression, indices: Collection[str]) -> bool:
    return isinstance(part, Name) and part.name in indices


def without(part: Expression, absent: Collection[str]) -> Expression:
    """The formula without comparisons with the ``absent`` numbers."""
    return _without(part, frozenset(absent)) if absent and isinstance(part, Apply) else part


@cache
def _without(part: Apply, absent: frozenset[str]) -> Expression:
    if part.op in COMPARED:
        return NOTHING if any(Name(name) in parts_of(part) for name in absent) else part
    if part.op == "and":
        kept = tuple(each for each in (without(arg, absent) for arg in part.args) if each != NOTHING)
        return kept[0] if len(kept) == 1 else Apply("and", kept)
    return part


def parts_of(part: Expression) -> Iterator[Expression]:
    """The formula and all its parts."""
    yield part
    for arg in part.args if isinstance(part, Apply) else ():
        yield from parts_of(arg)


def names_in(part: Expression) -> set[str]:
    return {each.name for each in parts_of(part) if isinstance(each, Name)}


def elements_in(part: Expression) -> set[str]:
    """The arrays whose elements it speaks of, one by one."""
    found = (each for each in parts_of(part) if isinstance(each, Apply) and each.op == ELEMENT)
    return {name.name for name in (each.args[0] for each in found) if isinstance(name, Name)}


def conjuncts(part: Expression) -> tuple[Expression, ...]:
    if isinstance(part, Apply) and part.op == "and":
        return tuple(each for arg in part.args for each in conjuncts(arg))
    return (part,)


def changed(part: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """The formula with those parts replaced for which ``change`` gives another."""
    other = change(part)
    if other is not None:
        return other
    return Apply(part.op, tuple(changed(arg, change) for arg in part.args)) if isinstance(part, Apply) else part


def renamed(part: Expression, names: Mapping[str, str]) -> Expression:
    return changed(part, lambda each: Name(names.get(each.name, each.name)) if isinstance(each, Name) else None)
