"""What the formulas of facts say, read one element after the other: nothing here is shared with the engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileverify.contract.facts.formula import FactFormula
from tileverify.contract.facts.kind import FactKind
from tileverify.contract.facts.statements import NumberedFact
from tileverify.contract.launch import Apply, Expression, Name, Number

Array = NDArray[Any]


class Unsaid(Exception):
    """A number that the fact leaves out, or an element that an array does not have."""


def keeps(kind: FactKind, fact: NumberedFact, arrays: Mapping[str, Array]) -> bool:
    """Whether contents, by the arrays' names in formulas, keep the fact."""
    numbers = [part for part in (fact.amount, fact.width) if part is not None]
    if kind.least is not None and min(numbers, default=kind.least) < kind.least:
        return False
    return all(clause_holds(clause, fact, arrays) for clause in kind.clauses)


def clause_holds(clause: FactFormula, fact: NumberedFact, arrays: Mapping[str, Array]) -> bool:
    return all(_holds(clause, _Place(fact, arrays, at)) for at in _indices(clause, arrays))


def _indices(clause: FactFormula, arrays: Mapping[str, Array]) -> Iterator[dict[str, tuple[int, ...]]]:
    if not clause.indices:
        yield {}
        return
    common = set.intersection(*({*np.ndindex(*arrays[name].shape)} for name in clause.arrays))
    for places in product(sorted(common), repeat=len(clause.indices)):
        yield dict(zip(clause.indices, places, strict=True))


def _holds(clause: FactFormula, place: _Place) -> bool:
    """Whoever speaks of an element that is not there says nothing, wherever in the clause."""
    for part in clause.looked_up:
        try:
            place.value(part)
        except Unsaid:
            return True
    return not place.true(clause.premise) or place.true(clause.conclusion)


class _Place:
    def __init__(self, fact: NumberedFact, arrays: Mapping[str, Array], at: Mapping[str, tuple[int, ...]]) -> None:
        self.fact, self.arrays, self.at = fact, arrays, at

    def true(self, part: Expression) -> bool:
        assert isinstance(part, Apply)
        match part.op:
            case "and":
                return all(self.true(arg) for arg in part.args)
            case "or":
                return any(self.true(arg) for arg in part.args)
            case "not":
                return not self.true(part.args[0])
            case "in":
                return self.value(part.args[0]) in self.fact.unless
        try:
            left, right = (self.value(arg) for arg in part.args)
        except Unsaid:
            return True
        if part.op in ("==", "!="):
            return bool(left == right) is (part.op == "==")
        return bool(left < right or (part.op == "<=" and left == right))

    def _of_place(self, op: str, *args: Expression) -> Any:
        *array, index = (arg.name for arg in args if isinstance(arg, Name))
        place = self.at[index]
        if op == "line":
            return [int(value) for value in self.arrays[array[0]][place[:-1]]]
        return {"first": place[0], "last": place[-1], "row": place[:-1]}[op]

    def value(self, part: Expression) -> Any:
        match part:
            case Number(value):
                return value
            case Name(name) if name in self.at:
                return self.at[name][0] if len(self.at[name]) == 1 else self.at[name]
            case Name(name):
                number = self.fact.numbers[name]
                if number is None:
                    raise Unsaid
                return number
            case Apply("[]", (Name(array), place)):
                found = self.value(place)
                place_ = found if isinstance(found, tuple) else (found,)
                shape = self.arrays[array].shape
                if len(place_) != len(shape) or not all(0 <= i < n for i, n in zip(place_, shape, strict=True)):
                    raise Unsaid
                return int(self.arrays[array][place_])
            case Apply("size", (Name(array),)):
                return self.arrays[array].size
            case Apply("sum", (Name(array),)):
                return sum(map(int, self.arrays[array].reshape(-1)))
            case Apply("first" | "last" | "row" | "line", args):
                return self._of_place(part.op, *args)
            case Apply("count", (Name(array), *rest)):
                n, chunk, key = (self.value(each) for each in rest)
                return sum(int(k) == key and j // n == chunk for j, k in enumerate(self.arrays[array]))
            case Apply(op, (a, b)):
                left, right = self.value(a), self.value(b)
                return {
                    "+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right,
                    "//": lambda: left // right, "%": lambda: left % right,
                }[op]()  # fmt: skip
        raise AssertionError(part)
