"""The traffic of one kernel under one contract: numbers of a launch, expressions, and how they were checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations, combinations_with_replacement
from math import prod
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...contract.expression_parser import parse_size
from ...contract.expressions import constant_value, evaluate, free_names, print_expression
from ...contract.launch import Apply, EntryParameter, Expression, LaunchSpec, Name
from ...contract.terms import Term, TermKind, postorder
from ...contract.terms.sums import linear_parts
from ...contract.variables import BID, GRID
from ...frontend.bytecode.location import user_frame
from ...frontend.bytecode.model import Entry, Module
from ...frontend.symbolic.summary import Access, AccessSummary, ViewFootprint
from ...results.details import AccessTraffic, Amount, ArrayTraffic, Bounds, Traffic, not_counted
from ...system.errors import UsageError
from ..audit.legal_launches import BLANK, LARGEST, elements_in_memory
from ..numbers.choose import ContractInNumbers
from ..numbers.inputs import Given, make_inputs
from .accounts import KernelAccounts, LaunchAccount, Mode, logged
from .launch_numbers import SizedLaunch, large_values, sized, small_values, usual_launch
from .regions import NotCounted, SiteParts

INTERPRETED: Final = 3
"""Small launches that the interpreter runs."""
TRIAL_CELLS: Final = 1 << 17
MOST_THRESHOLD: Final = 1 << 22
"""Larger numbers are those of machine words."""
GAPS: Final = (1, 2)
"""By how much neighbours of an element lie outside of an array."""
_WORDS: Final = {Access.READ: "load", Access.WRITE: "store", Access.ATOMIC: "atomic"}


def traffic_of(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], spec: LaunchSpec, summary: AccessSummary,
    at: Mapping[str, int], *, numbers_only: bool = False,
) -> Traffic:  # fmt: skip
    """What a launch with the sizes ``at`` moves, or the contract's own ones, or usual ones.

    ``numbers_only``: without expressions, and without a look at what the interpreter moves.

    :raises UsageError: ``at`` is outside the contract.
    """
    contract = ContractInNumbers(spec)
    shown = usual_launch(contract, at)
    if shown is None:
        return not_counted("no launch of the contract was found: name its sizes with --at")
    try:
        accounts = KernelAccounts.of(entry, parameters, spec, summary)
        account = accounts.at(shown.launch)
        small = () if numbers_only else small_values(contract, entry)
        compared = _compared(module, accounts, contract, small)
    except NotCounted as reason:
        return not_counted(str(reason))
    large = () if numbers_only else large_values(contract, entry, _thresholds(accounts.sites))
    trials = [sized(contract, values) for values in (*small, *large)]
    return _Expressions(accounts, contract, shown, account, trials).traffic(compared)


def _thresholds(sites: Iterable[SiteParts]) -> frozenset[int]:
    """Numbers that conditions and places compare sizes with."""
    found: set[int] = set()
    for each in sites:
        for term in (*each.fixed, *each.conditions):
            for part in postorder(term):
                number = part.value if part.kind is TermKind.CONST else linear_parts(part)[0]
                if 1 < abs(number) <= MOST_THRESHOLD:
                    found.add(abs(number))
    return frozenset(found)


def _compared(
    module: Module,
    accounts: KernelAccounts,
    contract: ContractInNumbers,
    small: Iterable[Mapping[str, int]],
) -> int:
    """How many small launches moved the same bytes in the interpreter.

    :raises NotCounted: one did not.
    """
    found = 0
    for number, values in enumerate(small):
        if found == INTERPRETED:
            break
        if elements_in_memory(contract, values) > LARGEST:
            continue
        try:
            inputs = make_inputs(contract, Given(values, {}, {}, None, number, BLANK))
        except UsageError:
            continue
        log = logged(module, accounts.entry, accounts.parameters, inputs)
        if log is None:
            continue
        problem = accounts.difference(accounts.at(inputs.launch), log)
        if problem:
            raise NotCounted(f"the interpreter disagrees: {problem}")
        found += 1
    return found


@dataclass
class _Expressions:
    accounts: KernelAccounts
    contract: ContractInNumbers
    shown: SizedLaunch
    account: LaunchAccount
    trials: Sequence[SizedLaunch]
    _fittings: dict[tuple[str, ...], Fitting] = field(default_factory=dict)

    def traffic(self, compared: int) -> Traffic:
        launches = self._launches()
        self.values = [each.values for each, _ in launches]
        self.counts = [account for _, account in launches]
        moved = {each.site.number: self._moved(each) for each in self.accounts.sites}
        least = {mode: self._least(mode) for mode in self.account.least}
        return Traffic(
            values=dict(self.shown.values),
            grid=self.shown.launch.grid,
            moves=self._amount(_sum(self.account.moved.values()), _total(moved.values())),
            least=self._amount(_sum(self.account.least.values()), _total(least.values())),
            accesses=tuple(self._access(each, moved[each.site.number]) for each in self.accounts.sites),
            arrays=tuple(
                ArrayTraffic(
                    mode[0], mode[1], self._amount(self.account.least[mode], formula), self.account.of_array[mode]
                )
                for mode, formula in least.items()
            ),
            counted=len(launches) + 1,
            compared=compared,
        )

    def _launches(self) -> list[tuple[SizedLaunch, LaunchAccount]]:
        found = []
        for each in self.trials:
            try:
                found.append((each, self.accounts.at(each.launch, TRIAL_CELLS)))
            except NotCounted:
                continue
        return found

    # ---------------------------------------------------------------------------------------- expressions
    def _moved(self, parts: SiteParts) -> Formula | None:
        """The product of the expressions of its parts."""
        number = parts.site.number
        ways = 2 if parts.site.access is Access.ATOMIC else 1
        found = constant(parts.site.footprint.element_bytes * ways)
        for place, part in enumerate(parts.parts):
            names = self._names((*part.variables, *part.conditions))
            factor = self._fitting(parts, names).fit([each.parts[number][place][1] for each in self.counts])
            if factor is None:
                return None
            found = found.times(factor)
        whole = [(each.moved[number], values) for each, values in zip(self.counts, self.values, strict=True)]
        return self._confirmed(found, [*whole, (self.account.moved[number], self.shown.values)])

    def _least(self, mode: Mode) -> Formula | None:
        sites = [each for each in self.accounts.sites if self.accounts.array(each.site) == mode[0]]
        found = None
        for each in sites:
            fitting = self._fitting(each, frozenset(self.contract.roots))
            found = found or fitting.fit([account.least[mode][1] for account in self.counts])
        whole = [(each.least[mode], values) for each, values in zip(self.counts, self.values, strict=True)]
        return self._confirmed(found, [*whole, (self.account.least[mode], self.shown.values)])

    def _fitting(self, parts: SiteParts, names: frozenset[str]) -> Fitting:
        """For a count that ``names`` decide."""
        atoms = tuple(self._atoms(parts, names))
        if atoms not in self._fittings:
            self._fittings[atoms] = Fitting(self.values, atoms)
        return self._fittings[atoms]

    def _names(self, terms: Iterable[Term]) -> frozenset[str]:
        """The free names of the contract that decide the terms, and how many values their variables have."""
        found: set[str] = set()
        for leaf in frozenset[Term]().union(*(each.free for each in terms)):
            if leaf.kind is TermKind.VAR:
                axis = BID.index(leaf) if leaf in BID else None
                meaning = Name(leaf.symbol.name) if axis is None else self.contract.grid[axis]
                found |= free_names(self.contract.resolved(meaning))
                if leaf in GRID:
                    found |= free_names(self.contract.grid[GRID.index(leaf)])
        return frozenset(found)

    @staticmethod
    def _confirmed(found: Formula | None, known: Iterable[tuple[Bounds, Mapping[str, int]]]) -> Formula | None:
        """The expression if it is the upper bound in every launch."""
        if found is None:
            return None
        try:
            same = all(found.value(values) == bounds[1] for bounds, values in known)
        except ValueError:
            return None
        return found if same else None

    def _atoms(self, parts: SiteParts, names: frozenset[str]) -> Iterable[str]:
        """What a count of this site may be made of: sizes first, then tiles of them, then the rest."""
        sizes = [Name(each) for each in self.contract.roots if each in names]
        grid = [each for each in self.contract.grid if free_names(each) and free_names(each) <= names]
        texts = [_spelled(each) for each in (*sizes, *self._shapes(names))]
        tiles = self._tiles(parts)
        yield from texts
        yield from (f"cdiv({text}, {tile})" for tile in tiles for text in texts)
        yield from (_spelled(each) for each in grid if not _is_product(each))
        for axis in grid:
            yield from (f"min({text}, {tile} * {_spelled(axis)})" for tile in tiles for text in texts)
        yield from (f"max({text} - {gap}, 0)" for gap in GAPS for text in texts)
        yield from (
            f"min({text}, max({tile} * cdiv({text}, {tile}) - {gap}, 0))"
            for gap in GAPS for tile in tiles for text in texts
        )  # fmt: skip

    def _shapes(self, names: frozenset[str]) -> Iterable[Expression]:
        for array in self.contract.spec.arrays():
            for size in array.shape:
                resolved = self.contract.resolved(size)
                if isinstance(resolved, Apply) and free_names(resolved) <= names and not _is_product(resolved):
                    yield resolved

    def _tiles(self, parts: SiteParts) -> list[int]:
        found = {size for size in parts.lanes.values() if size > 1}
        place = parts.site.footprint
        if isinstance(place, ViewFootprint):
            found |= {size for size in (*place.tile, *place.step) if size > 1}
        for axis in self.contract.grid:
            found |= set(_divisors(axis))
        return sorted(found, reverse=True)

    # --------------------------------------------------------------------------------------------- words
    def _amount(self, bounds: Bounds, formula: Formula | None) -> Amount:
        return Amount(bounds, "" if formula is None or not self.values else formula.text(self.contract.roots))

    def _access(self, parts: SiteParts, formula: Formula | None) -> AccessTraffic:
        site = parts.site
        place = user_frame(site.location)
        return AccessTraffic(
            number=site.number,
            access=_WORDS[site.access],
            array=site.origin.name,
            file=None if place is None else place.file,
            line=None if place is None else place.line,
            moves=self._amount(self.account.moved[site.number], formula),
        )


def _is_product(expression: Expression) -> bool:
    """Whether its factors say as much."""
    return not isinstance(expression, Apply) or expression.op == "*" or not free_names(expression)


def _spelled(expression: Expression) -> str:
    text = print_expression(expression)
    return f"({text})" if isinstance(expression, Apply) and not text.startswith(("cdiv(", "min(", "max(")) else text


def _total(formulas: Iterable[Formula | None]) -> Formula | None:
    every = list(formulas)
    known = [each for each in every if each is not None]
    return total(known) if len(known) == len(every) else None


def _divisors(expression: Expression) -> Iterable[int]:
    if isinstance(expression, Apply):
        if expression.op in ("cdiv", "//"):
            number = constant_value(expression.args[1])
            if number is not None and number > 1:
                yield number
        for each in expression.args:
            yield from _divisors(each)


def _sum(bounds: Iterable[Bounds]) -> Bounds:
    every = list(bounds)
    return sum(each[0] for each in every), sum(each[1] for each in every)


# --------------------------------------------------------------------------------------------------------------- fitted
# Expressions in the sizes of a launch that give what was counted in every one of many launches.
#
# A count is looked for as a product of sizes and of ``cdiv`` of them, or as a sum of up to three such products; the
# first that fits all launches is taken.  That shows no more than it says: the expression holds in those launches.


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
