"""Random index expressions with two meanings: numbers computed here, and terms built by the constructors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term

VARIABLES = {
    "a": t.var("a", Scope.LAUNCH, 0, 40),
    "b": t.var("b", Scope.BLOCK, -30, 30),
    "c": t.var("c", Scope.ITERATION),
    "d": t.var("d", Scope.LANE, 1, 9),
}

Tree = Any
"""``("+", x, y)`` and the like; leaves are variable names and integers."""

_leaves = st.one_of(st.sampled_from(sorted(VARIABLES)), st.integers(-20, 20), st.sampled_from([2**31 - 1, -(2**31)]))


def _nodes(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    divisor = st.one_of(st.integers(1, 12), st.integers(-12, -1), inner)
    return st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "min", "max"]), inner, inner),
        st.tuples(st.sampled_from(["//", "%", "cdiv", "tdiv", "trem"]), inner, divisor),
        st.tuples(st.sampled_from(["wrap8", "wrap32", "uns8", "uns32"]), inner),
        st.tuples(st.just("if"), conditions(inner), inner, inner),
    )


def conditions(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    atom = st.tuples(st.sampled_from(["<", "<=", "==", "!="]), inner, inner)
    return st.one_of(
        atom,
        st.tuples(st.just("not"), atom),
        st.tuples(st.sampled_from(["and", "or", "iff"]), atom, atom),
    )


trees = st.recursive(_leaves, _nodes, max_leaves=9)
assignments = st.fixed_dictionaries(
    {
        "a": st.integers(0, 40),
        "b": st.integers(-30, 30),
        "c": st.one_of(st.integers(-100, 100), st.sampled_from([2**31, -(2**40)])),
        "d": st.integers(1, 9),
    }
)


def number(tree: Tree, values: Mapping[str, int]) -> int:  # noqa: C901  one case per operator
    """The meaning of a tree by Python's integers; a division by zero raises."""
    if isinstance(tree, str):
        return values[tree]
    if isinstance(tree, int):
        return tree
    op, *args = tree
    if op == "if":
        return number(args[1], values) if truth(args[0], values) else number(args[2], values)
    x, *rest = (number(arg, values) for arg in args)
    if not rest:
        bits = int(op.strip("wrapuns"))
        low = x & ((1 << bits) - 1)
        return low - (1 << bits) if op.startswith("wrap") and low >> (bits - 1) else low
    y = rest[0]
    match op:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "min":
            return min(x, y)
        case "max":
            return max(x, y)
        case "//":
            return x // y
        case "%":
            return x % y
        case "cdiv":
            return -(-x // y)
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return quotient if op == "tdiv" else x - y * quotient


def truth(tree: Tree, values: Mapping[str, int]) -> bool:
    op, *args = tree
    match op:
        case "not":
            return not truth(args[0], values)
        case "and":
            return truth(args[0], values) and truth(args[1], values)
        case "or":
            return truth(args[0], values) or truth(args[1], values)
        case "iff":
            return truth(args[0], values) == truth(args[1], values)
    x, y = (number(arg, values) for arg in args)
    return {"<": x < y, "<=": x <= y, "==": x == y, "!=": x != y}[op]


_BUILD: dict[str, Callable[..., Term]] = {
    "+": t.add,
    "-": t.sub,
    "*": t.mul,
    "min": t.minimum,
    "max": t.maximum,
    "//": t.floordiv,
    "%": t.floormod,
    "cdiv": t.ceildiv,
    "tdiv": t.truncdiv,
    "trem": t.truncmod,
    "<": t.lt,
    "<=": t.le,
    "==": t.eq,
    "!=": t.ne,
    "and": t.and_,
    "or": t.or_,
    "iff": t.iff,
    "not": t.not_,
    "if": t.ite,
    "wrap8": lambda x: t.wrap(8, x),
    "wrap32": lambda x: t.wrap(32, x),
    "uns8": lambda x: t.unsigned(8, x),
    "uns32": lambda x: t.unsigned(32, x),
}


def term(tree: Tree) -> Term:
    """The same tree through the smart constructors."""
    if isinstance(tree, str):
        return VARIABLES[tree]
    if isinstance(tree, int):
        return t.const(tree)
    op, *args = tree
    return _BUILD[op](*map(term, args))
