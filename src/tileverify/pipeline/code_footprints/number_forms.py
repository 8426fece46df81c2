"""Terms over numbered things (threads of a block, lanes of a tile) as sums of products, one number for each thing.

    term  =  sum of  monomial * numbers[thing]   modulo 2**64

where monomials are products of what does not hang on the things.  Two addresses are equal for one thing here and one
there where all numbers are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...contract import terms as t
from ...contract.terms import Sort, Term, TermKind
from ...contract.terms.evaluate import evaluate
from ...contract.terms.rendering import unsigned_reading

Numbers: TypeAlias = npt.NDArray[np.int64]
ThingNumbers: TypeAlias = "Numbers | npt.NDArray[np.bool_]"
NumberForm: TypeAlias = "dict[Term, Numbers]"
"""By monomial; that of the constant part is 1."""

MOST_SUBSTITUTED: Final = 512
"""Things for each of which a term may be written out that is no sum of products."""


class NoNumberForm(Exception):
    """The term hangs on the things in another way."""


@dataclass
class Things:
    """``values``: what each variable is, by thing."""

    values: Mapping[Term, Numbers]
    count: int
    _memo: dict[Term, NumberForm] = field(default_factory=dict)
    _numbers: dict[Term, ThingNumbers] = field(default_factory=dict)

    def mentions(self, term: Term) -> bool:
        return any(each in self.values for each in term.free)

    def numbers(self, term: Term) -> ThingNumbers | None:
        """The value of a term by thing, where it hangs on nothing else."""
        if any(each not in self.values for each in term.free):
            return None
        if term in self.values:
            return self.values[term]
        if term not in self._numbers:
            spoken = [each for each in self.values if each in term.free]
            rows = np.stack([self.values[each] for each in spoken], axis=1) if spoken else np.zeros((self.count, 0))
            distinct, back = np.unique(rows, axis=0, return_inverse=True)
            values = [evaluate(term, dict(zip(spoken, map(int, row), strict=True))) for row in distinct]
            kind = "?" if term.sort is Sort.BOOL else "i8"
            self._numbers[term] = np.array([_low(int(each)) for each in values], "i8").astype(kind)[back.ravel()]
        return self._numbers[term]

    def form(self, term: Term) -> NumberForm:
        """:raises NoNumberForm: the term is no sum of products."""
        found = self._memo.get(term)
        if found is None:
            found = self._memo[term] = self._form(term)
        return found

    def _form(self, term: Term) -> NumberForm:
        if (inner := _modulo(term)) is not None:
            return self.form(inner)
        if term.kind is TermKind.SUM:
            constant, parts = t.linear_parts(term)
            total: NumberForm = {t.ONE: self._all(constant)}
            for factor, part in parts:
                for monomial, numbers in self.form(part).items():
                    total[monomial] = total.get(monomial, self._all(0)) + np.int64(_low(factor)) * numbers
            return total
        if term.kind is TermKind.CONST:
            return {t.ONE: self._all(term.value)}
        if self.mentions(term) and (known := self.numbers(term)) is not None:
            return {t.ONE: known.astype("i8")}
        if term.kind is TermKind.PRODUCT:
            return self._product(term)
        if not self.mentions(term):
            return {term: self._all(1)}
        if term.kind is TermKind.ITE and (chosen := self.numbers(term.args[0])) is not None:
            return self._choice(chosen, *(self.form(each) for each in term.args[1:]))
        return self._written_out(term)

    def _all(self, value: int) -> Numbers:
        return np.full(self.count, _low(value), "i8")

    def _product(self, term: Term) -> NumberForm:
        found: NumberForm = {t.ONE: self._all(1)}
        for factor in term.args:
            product: NumberForm = {}
            for monomial, numbers in self.form(factor).items():
                for other, more in found.items():
                    key = t.mul(monomial, other)
                    product[key] = product.get(key, self._all(0)) + numbers * more
            found = product
        return found

    def _choice(self, chosen: ThingNumbers, one: NumberForm, other: NumberForm) -> NumberForm:
        none = self._all(0)
        return {key: np.where(chosen, one.get(key, none), other.get(key, none)) for key in {*one, *other}}

    def _written_out(self, term: Term) -> NumberForm:
        """The term with each thing's numbers put in."""
        spoken = [each for each in self.values if each in term.free]
        rows = np.stack([self.values[each] for each in spoken], axis=1)
        distinct, back = np.unique(rows, axis=0, return_inverse=True)
        if len(distinct) > MOST_SUBSTITUTED:
            raise NoNumberForm
        plain = Things({}, 1)
        found: NumberForm = {}
        for number, row in enumerate(distinct):
            written = t.substitute(term, {v: t.const(int(x)) for v, x in zip(spoken, row, strict=True)})
            for monomial, value in plain.form(written).items():
                found.setdefault(monomial, self._all(0))[back.ravel() == number] = value[0]
        return found


def _modulo(term: Term) -> Term | None:
    """The number that a reading of 64 bits is equal to modulo 2**64."""
    if term.kind is TermKind.WRAP and term.payload == 64:
        return term.args[0]
    reading = unsigned_reading(term)
    return reading[1] if reading is not None and reading[0] == 64 else None


def _low(value: int) -> int:
    """The number modulo 2**64 as a signed one."""
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


class FormIndex:
    """The things of a form by their numbers."""

    def __init__(self, form: NumberForm) -> None:
        self._fixed = {key: int(numbers[0]) for key, numbers in form.items() if bool((numbers == numbers[0]).all())}
        self._varying = sorted(form.keys() - self._fixed.keys())
        rows = self._rows(form, len(next(iter(form.values()))))
        self._first: dict[bytes, int] = {}
        for place, row in enumerate(rows):
            self._first.setdefault(row.tobytes(), place)

    def _rows(self, form: NumberForm, count: int) -> Numbers:
        none = np.zeros(count, "i8")
        columns = [form.get(key, none) for key in self._varying]
        return np.stack(columns, axis=1) if columns else np.zeros((count, 0), "i8")

    def find(self, form: NumberForm) -> Numbers:
        """For each thing of another form the first with the same numbers, or -1."""
        count = len(next(iter(form.values())))
        none, alike = np.zeros(count, "i8"), np.ones(count, "?")
        for key in form.keys() | self._fixed.keys():
            if key not in self._varying:
                alike &= form.get(key, none) == self._fixed.get(key, 0)
        if not alike.any():
            return np.full(count, -1, "i8")
        found = [self._first.get(row.tobytes(), -1) for row in self._rows(form, count)]
        return np.where(alike, np.array(found, "i8"), -1)


def of_bits(
    things: Mapping[Term, Numbers], numbers: Numbers, wanted: npt.NDArray[np.bool_]
) -> Term | None:  # fmt: skip
    """``numbers`` as a term over the variables of the things, a sum of runs of their bits; ``wanted`` things count.

        numbers[i]  =  c  +  sum of  m * ((v[i] // 2**a) % 2**(b - a))

    ``None`` where they are not of that form.
    """
    places = np.flatnonzero(wanted)
    if not len(places):
        return None
    varying: list[tuple[Term, int]] = []
    basis = [np.ones(len(places), "i8")]
    for variable, values in things.items():
        held = values[places]
        for bit in range(int(values.max(initial=0)).bit_length()):
            column = (held >> bit) & 1
            if column.any() and not column.all():
                varying.append((variable, bit))
                basis.append(column)
    columns = np.column_stack(basis)
    solved, *_ = np.linalg.lstsq(columns.astype("f8"), numbers[places].astype("f8"), rcond=None)
    weights = np.rint(solved).astype("i8")
    if (columns @ weights != numbers[places]).any():
        return None
    found = [t.const(int(weights[0]))]
    for variable in things:
        own = [(bit, int(weight)) for (of, bit), weight in zip(varying, weights[1:], strict=True) if of is variable]
        found += _runs(variable, own)
    return t.add(*found)


def _runs(variable: Term, weights: list[tuple[int, int]]) -> list[Term]:
    found = []
    at = 0
    while at < len(weights):
        bit, weight = weights[at]
        end = at + 1
        while end < len(weights) and weights[end] == (bit + end - at, weight << (end - at)):
            end += 1
        if weight:
            shifted = t.floordiv(variable, t.const(1 << bit))
            found.append(t.scale(weight, t.floormod(shifted, t.const(1 << (end - at)))))
        at = end
    return found
