"""Expressions in the sizes of a launch that give what was counted in every one of many launches.

A count is looked for as a product of sizes and of ``cdiv`` of them, or as a sum of up to three such products; the first
that fits all launches is taken.  That shows no more than it says: the expression holds in those launches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations, combinations_with_replacement
from math import prod
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...contract.expression_parser import parse_size
from ...contract.expressions import evaluate

Monomial: TypeAlias = tuple[str, ...]
"""Factors, sorted; written as in a spec."""

FACTORS: Final = 4
PAIRED: Final = 2
"""Factors of a summand."""
FEW: Final = 5
"""So many atoms are tried in sums of three."""
SPARE: Final = 6
"""So many more launches than summands must confirm an expression."""


@dataclass(frozen=True)
class Formula:
    """A sum of products with rational coefficients."""

    terms: Mapping[Monomial, Fraction]

    def times(self, other: Formula) -> Formula:
        found: dict[Monomial, Fraction] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                key = tuple(sorted((*left, *right)))
                found[key] = found.get(key, Fraction()) + a * b
        return Formula(found)

    def plus(self, other: Formula) -> Formula:
        keys = {**self.terms, **other.terms}
        return Formula({key: self.terms.get(key, Fraction()) + other.terms.get(key, Fraction()) for key in keys})

    def value(self, values: Mapping[str, int]) -> int:
        """Raises ValueError where it is no integer."""
        total = sum((c * prod(_value(each, values) for each in key) for key, c in self.terms.items()), Fraction())
        if total.denominator != 1:
            raise ValueError(total)
        return int(total)

    def text(self, names: Sequence[str]) -> str:
        """As a spec may say it, sizes in the order of ``names``: ``2 * M * K * cdiv(N, 128)``."""
        terms = {key: c for key, c in self.terms.items() if c}
        scale = reduce(lambda a, b: a * b // np.gcd(a, b), (c.denominator for c in terms.values()), 1)
        scale = int(scale)
        text = ""
        for key, c in sorted(terms.items(), key=lambda each: _rank(each[0], each[1], names)):
            number = int(c * scale)
            sign = ("-" if number < 0 else "") if not text else " - " if number < 0 else " + "
            factors = [*([str(abs(number))] if abs(number) != 1 or not key else []), *_powers(key, names)]
            text += sign + " * ".join(factors)
        return f"({text}) // {scale}" if scale > 1 else text or "0"


def _rank(key: Monomial, coefficient: Fraction, names: Sequence[str]) -> tuple[object, ...]:
    return coefficient < 0, -len(key), [names.index(each) if each in names else len(names) for each in key], key


def constant(number: int) -> Formula:
    return Formula({(): Fraction(number)})


def total(formulas: Iterable[Formula]) -> Formula:
    return reduce(Formula.plus, formulas, Formula({}))


def _powers(key: Monomial, names: Sequence[str]) -> list[str]:
    places = {name: place for place, name in enumerate(names)}
    plain = sorted(set(key), key=lambda each: (places.get(each, len(places)), each))
    return [each if key.count(each) == 1 else f"{each}**{key.count(each)}" for each in plain]


def _is_bent(atom: str) -> bool:
    """Whether it turns at a threshold: what two such summands cancel out in many launches shows nothing."""
    return "min(" in atom or "max(" in atom


@cache
def _parsed(text: str) -> object:
    return parse_size(text)


def _value(atom: str, values: Mapping[str, int]) -> int:
    return evaluate(_parsed(atom), values)  # type: ignore[arg-type]


class Fitting:
    """The launches that an expression must agree with: their ``values``, and atoms in the order of preference."""

    def __init__(self, launches: Sequence[Mapping[str, int]], atoms: Sequence[str]) -> None:
        self.launches = launches
        self.atoms: dict[str, NDArray[np.object_]] = {}
        for atom in atoms:
            column = np.array([_value(atom, values) for values in launches], object)
            if len(set(column)) > 1 and not any((column == known).all() for known in self.atoms.values()):
                self.atoms[atom] = column

    def fit(self, counts: Sequence[int]) -> Formula | None:
        """The simplest expression that gives ``counts``, launch by launch."""
        if len(counts) < SPARE + 1:
            return None
        wanted = np.array(counts, object)
        if (wanted == wanted[0]).all():
            return constant(counts[0])
        return self._product(wanted) or self._sum(wanted)

    def _columns(self, atoms: Sequence[str], degree: int) -> dict[Monomial, NDArray[np.object_]]:
        one = np.ones(len(self.launches), int).astype(object)
        return {
            tuple(sorted(key)): reduce(lambda a, b: a * b, (self.atoms[each] for each in key), one)
            for size in range(degree + 1)
            for key in combinations_with_replacement(atoms, size)
        }

    def _product(self, wanted: NDArray[np.object_]) -> Formula | None:
        place = next(number for number, count in enumerate(wanted) if count)
        zero = wanted == 0
        usable = [each for each, column in self.atoms.items() if not ((column == 0) & ~zero).any()]
        for degree in range(1, FACTORS + 1):
            for key in combinations_with_replacement(usable, degree):
                column = reduce(lambda a, b: a * b, (self.atoms[each] for each in key))
                if (column * wanted[place] == wanted * column[place]).all():
                    return Formula({tuple(sorted(key)): Fraction(int(wanted[place]), int(column[place]))})
            if len(usable) > 12 and degree == 3:
                return None
        return None

    def _sum(self, wanted: NDArray[np.object_]) -> Formula | None:
        atoms = [each for each in self.atoms if not _is_bent(each)]
        for count, few in ((2, 2 * FEW), (3, FEW)):
            columns = self._columns(atoms[:few], PAIRED)
            if len(wanted) < count + SPARE:
                return None
            exact = {key: column.astype(float) for key, column in columns.items()}
            target = wanted.astype(float)
            for keys in combinations(columns, count):
                matrix = np.stack([exact[key] for key in keys], axis=1)
                solved, *_ = np.linalg.lstsq(matrix, target, rcond=None)
                found = [Fraction(float(each)).limit_denominator(2) for each in solved]
                if all(abs(float(f) - s) < 1e-6 for f, s in zip(found, solved, strict=True)) and all(found):
                    exactly = sum(columns[key] * each for key, each in zip(keys, found, strict=True))
                    if (exactly == wanted).all():
                        return Formula(dict(zip(keys, found, strict=True)))
        return None
