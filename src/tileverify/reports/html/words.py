"""Clauses of a contract in plain words, for readers who do not write launch specs."""

from __future__ import annotations

from typing import Final

from ...contract.as_terms import ANY_GRID
from ...contract.data_facts import parse_data_fact
from ...contract.expression_parser import parse_condition, parse_size
from ...contract.expressions import print_expression
from ...contract.facts.kinds import meaning_of
from ...contract.launch import Apply, DataFact, Expression, Number, SameArray
from ...system.errors import SpecError

_RELATIONS: Final = {
    "==": "equals",
    "!=": "differs from",
    "<": "is below",
    "<=": "is at most",
    ">": "is above",
    ">=": "is at least",
}
_AXES: Final = {"grid.x": "the grid's width", "grid.y": "the grid's height", "grid.z": "the grid's depth"}


def in_words(clause: str) -> str:
    """``clause`` as a sentence without its full stop; empty where the clause says it best itself."""
    if clause.partition(";")[0] == ANY_GRID:
        return "the grid may have any size"
    if clause.startswith("grid = (") and clause.endswith(")"):
        return _grid(clause.removeprefix("grid = ("))
    try:
        fact = parse_data_fact(clause)
    except SpecError:
        return _condition(clause)
    return _fact(fact)


def _grid(text: str) -> str:
    axes = _split(text.removesuffix(")"))
    try:
        blocks = " × ".join(_size(parse_size(axis)) for axis in axes)
    except SpecError:
        return ""
    return f"a grid of {blocks} tile blocks" if axes else ""


def _split(text: str) -> list[str]:
    """At the commas that stand in no parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _condition(clause: str) -> str:
    try:
        condition = parse_condition(clause)
    except SpecError:
        return ""
    if isinstance(condition, SameArray):
        return f"{condition.first} and {condition.second} are one array"
    return _relation(condition)


def _relation(condition: Expression) -> str:
    match condition:
        case Apply(op="and", args=args):
            return ", and ".join(filter(None, map(_relation, args)))
        case Apply(op="or", args=args):
            return ", or ".join(filter(None, map(_relation, args)))
        case Apply(op="==", args=(Apply(op="%", args=(value, divisor)), Number(value=0))):
            return f"{_size(value)} is a multiple of {_size(divisor)}"
        case Apply(op="<=" | "<", args=(Number() as low, other)):
            return f"{_size(other)} is {'at least' if condition.op == '<=' else 'above'} {_size(low)}"
        case Apply(op=op, args=(left, right)) if op in _RELATIONS:
            return f"{_size(left)} {_RELATIONS[op]} {_size(right)}"
    return ""


def _size(expression: Expression) -> str:
    match expression:
        case Apply(op="cdiv", args=(left, right)):
            return f"⌈{_size(left)} / {_size(right)}⌉"
        case Apply(op="//", args=(left, right)):
            return f"⌊{_size(left)} / {_size(right)}⌋"
        case Apply(op="*", args=(left, right)):
            return f"{_factor(left)} · {_factor(right)}"
        case Apply(op="+" | "-" as op, args=(left, right)):
            return f"{_size(left)} {'+' if op == '+' else '−'} {_factor(right)}"
        case Apply(op="min" | "max" as op, args=args):
            return f"the {'smaller' if op == 'min' else 'larger'} of {' and '.join(map(_size, args))}"
    text = print_expression(expression)
    return _AXES.get(text, text)


def _factor(expression: Expression) -> str:
    inner = isinstance(expression, Apply) and expression.op in ("+", "-", "min", "max")
    return f"({_size(expression)})" if inner else _size(expression)


def _fact(fact: DataFact) -> str:
    parts = (fact.low, fact.high, fact.amount, fact.width)
    numbers = dict(
        zip(("low", "high", "n", "width"), ("" if part is None else _size(part) for part in parts), strict=True)
    )
    words = meaning_of(fact).words(fact.arrays, numbers)
    excused = " and ".join(map(_size, fact.unless))
    return f"{words}; {excused} excepted" if excused else words
