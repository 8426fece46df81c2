"""What must hold of every launch in which somebody can keep a fact, however its arrays are filled.

The formulas speak of ``size(a)``, of ``least(a)`` and ``most(a)``, the ends of what the values of an array may be (the
second one excluded), and of ``step(a)``, which they are multiples of: all of them that other facts and the type give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from .. import terms as t
from ..expressions import joined
from ..launch import Apply, Expression, Name, Number
from ..terms import Term
from .formula import names_in, parse, parts_of
from .loaded import Promised
from .statements import DataTerm


@dataclass(frozen=True)
class FactPromise:
    """``apart``: it counts on it that different indices are different elements; ``distinct``: on it that a further fact
    makes all values of ``a`` different."""

    text: str
    apart: bool = True
    distinct: bool = False

    @cached_property
    def formula(self) -> Expression:
        return parse(self.text)

    def terms(self, data: DataTerm, arrays: Mapping[str, Promised]) -> Iterator[Term]:
        """The promise with every limit and step that is known; ``arrays`` by their names in formulas."""
        if {name for name, number in data.numbers.items() if number is None} & names_in(self.formula):
            return
        if (self.apart and not all(each.injective for each in arrays.values())) or (
            self.distinct and not next(iter(arrays.values())).distinct
        ):
            return
        calls = [part for part in parts_of(self.formula) if isinstance(part, Apply) and part.args]
        ranged = dict.fromkeys(part.args[0] for part in calls if part.op in ("least", "most"))
        stepped = dict.fromkeys(part.args[0] for part in calls if part.op == "step")
        ends = [[{("least", a): low, ("most", a): high} for low, high in _of(a, arrays).ranges] for a in ranged]
        steps = [[{("step", a): step} for step in _of(a, arrays).steps] for a in stepped]
        for chosen in product(*ends, *steps):
            known = {call: term for each in chosen for call, term in each.items()}
            yield self._term(self.formula, data, arrays, known)

    def _term(
        self,
        part: Expression,
        data: DataTerm,
        arrays: Mapping[str, Promised],
        known: Mapping[tuple[str, Expression], Term],
    ) -> Term:
        match part:
            case Number(value):
                return t.const(value)
            case Name(name):
                number = data.numbers[name]
                assert number is not None
                return number
            case Apply("size", (array,)):
                return _of(array, arrays).count
            case Apply("least" | "most" | "step" as op, (array,)):
                return known[op, array]
            case Apply(op, args):
                return joined(op, [self._term(arg, data, arrays, known) for arg in args])


def _of(array: Expression, arrays: Mapping[str, Promised]) -> Promised:
    assert isinstance(array, Name)
    return arrays[array.name]
