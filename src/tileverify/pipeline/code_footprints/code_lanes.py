"""Which lanes of an access of the summary, in which iterations, an access of the code makes.

For each thread there has to be a lane with the same address.  Iterations are found in the same way.  Of a loop of the
summary whose number k stands in the address with a factor f,

    address of the code - address of the lane  =  f * (base + c)

gives k = base + c: ``base`` holds what is symbolic, the rounds of the code's own loops among it (4 * round, where the
code makes four iterations in one), and c is a small number that is looked for together with the lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...contract import terms as t
from ...contract.terms import Sort, Term, TermKind
from ...contract.terms.evaluate import evaluate
from ...contract.terms.rendering import unsigned_reading
from ...verifier.obligations.footprint_overlap import PreparedSite

MOST_PLACES: Final = 1 << 18
"""Lanes times iterations that are looked through."""
MOST_ITERATIONS: Final = 128


_Placing: TypeAlias = "tuple[tuple[tuple[Term, Term], ...], tuple[range, ...]]"
"""What iterations are, and the small numbers beside them."""


@dataclass(frozen=True)
class SummaryAccess:
    """One access of the summary: the ``address`` of each of its lanes where ``chosen`` holds, and the ``guard`` under
    which they are made; ``element``: bytes of a lane."""

    prepared: PreparedSite
    address: Term
    guard: Term
    element: int
    chosen: Term = t.TRUE
    _forms: list[NumberForm] = field(default_factory=list)
    _variants: list[SummaryAccess] = field(default_factory=list)
    _indices: dict[_Placing, FormIndex] = field(default_factory=dict)

    @property
    def rounds(self) -> tuple[Term, ...]:
        """The numbers of iteration of the loops around it."""
        return tuple(loop.iteration for loop in self.prepared.site.loops)

    @property
    def count(self) -> int:
        """Of lanes."""
        return prod(lane.size for lane in self.prepared.site.lanes)

    @property
    def line(self) -> str:
        at = self.prepared.site.location
        return f"line {at.line}" if at is not None else f"access {self.prepared.site.number}"

    def numbers(self) -> dict[Term, Numbers]:
        """Of each lane variable."""
        grid = _grid([lane.size for lane in self.prepared.site.lanes])
        return {lane.variable: grid[place] for place, lane in enumerate(self.prepared.site.lanes)}

    def form(self) -> NumberForm:
        """:raises NoNumberForm: the address is no sum of products."""
        if not self._forms:
            self._forms.append(Things(self.numbers(), self.count).form(self.address))
        return self._forms[0]

    def variants(self) -> Iterator[SummaryAccess]:
        """The access with all choices in its address as they are, and with the first side of each."""
        if not self._variants:
            self._variants.append(self)
            self._variants.extend(self._with_first_sides())
        yield from self._variants

    def index(self, placing: _Placing, numbers: Mapping[Term, Numbers], places: int) -> FormIndex:
        """Its lanes by their addresses, where variables are what ``placing`` says.

        :raises NoNumberForm: the address is no sum of products.
        """
        if placing not in self._indices:
            form = Things(numbers, places).form(t.substitute(self.address, dict(placing[0])))
            self._indices[placing] = FormIndex(form)
        return self._indices[placing]

    def _with_first_sides(self) -> Iterator[SummaryAccess]:
        conditions: list[Term] = []

        def first(term: Term) -> Term | None:
            if term.kind is not TermKind.ITE:
                return None
            conditions.append(term.args[0])
            return term.args[1]

        address = t.transform(self.address, first)
        if conditions:
            chosen = t.and_(*conditions)
            yield replace(self, address=address, chosen=chosen, _forms=[], _variants=[], _indices={})


def _grid(sizes: Sequence[int]) -> Numbers:
    """The coordinates of all places in a box, by axis."""
    return np.indices(tuple(sizes)).reshape(len(sizes), prod(sizes))


@dataclass(frozen=True, slots=True)
class MadeLanes:
    """``lanes``: by thread, which lane is made; ``counts``: by the threads for which that means something.  ``terms``:
    what the site's lane variables and iterations are for a thread, if ``chosen`` holds."""

    access: SummaryAccess
    lanes: Numbers
    counts: npt.NDArray[np.bool_]
    terms: Mapping[Term, Term]


class NoLanes(Exception):
    """Why an access of the code is none of the summary's."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def made_lanes(
    code: NumberForm, threads: Things, counts: npt.NDArray[np.bool_], access: SummaryAccess, own_rounds: Sequence[Term]
) -> MadeLanes:
    """``code``: the address of the code by thread, of which those in ``counts`` make the access; ``own_rounds``: the
    numbers of the rounds of the code's loops around it, but for those of which each counts as a thread.

    :raises NoLanes: it is none of the access's.
    """
    why = "some thread touches what no access of the bytecode does"
    for variant in access.variants():
        for iterations in _iterations(code, counts, variant, own_rounds):
            try:
                return _with_iterations(code, threads, counts, variant, iterations)
            except NoLanes as end:
                why = end.why
    raise NoLanes(why)


@dataclass(frozen=True, slots=True)
class _Iteration:
    """Iteration ``base`` + c of a loop, c in ``extra``."""

    number: Term
    base: Term
    extra: range


def _iterations(
    code: NumberForm, counts: npt.NDArray[np.bool_], access: SummaryAccess, own_rounds: Sequence[Term]
) -> Iterator[Sequence[_Iteration]]:
    """What the iterations of the access may be: the most natural first."""
    rounds = access.rounds
    if len(rounds) == len(own_rounds):
        yield [_Iteration(mine, theirs, range(1)) for mine, theirs in zip(rounds, own_rounds, strict=True)]
    if rounds:
        found = _solved(code, counts, access)
        if found is not None:
            yield found


def _with_iterations(
    code: NumberForm, threads: Things, counts: npt.NDArray[np.bool_], access: SummaryAccess,
    iterations: Sequence[_Iteration],
) -> MadeLanes:  # fmt: skip
    extras = [each for each in iterations if len(each.extra) > 1 or each.extra.start]
    places = access.count * prod(len(each.extra) for each in extras)
    if places > MOST_PLACES:
        raise NoLanes("it has too many lanes")
    variables = {each.number: t.var(f"extra {each.number.symbol.name}", each.number.symbol.scope, each.extra.start,
                                    each.extra.stop - 1) for each in extras}  # fmt: skip
    whole = {
        each.number: t.add(each.base, variables[each.number]) if each.number in variables else each.base
        for each in iterations
    }
    repeat = places // max(access.count, 1)
    numbers = {variable: np.repeat(of, repeat) for variable, of in access.numbers().items()}
    inner = _grid([len(each.extra) for each in extras])
    for place, each in enumerate(extras):
        numbers[variables[each.number]] = np.tile(inner[place] + each.extra.start, access.count)
    try:
        placing = (tuple(whole.items()), tuple(each.extra for each in extras))
        index = access.index(placing, numbers, places)
    except NoNumberForm:
        raise NoLanes("the addresses of its lanes are no sums of products") from None
    whose = index.find(code)
    if (whose[counts] < 0).any():
        raise NoLanes("some thread touches what no access of the bytecode does")
    terms: dict[Term, Term] = {}
    found: dict[Term, Term] = {}
    for variable, of in numbers.items():
        term = of_bits(threads.values, of[whose], counts)
        if term is None:
            raise NoLanes("its lanes lie in threads in a way that is not followed")
        found[variable] = term
    for lane in access.prepared.site.lanes:
        terms[lane.variable] = found[lane.variable]
    for number, term in whole.items():
        terms[number] = t.substitute(term, found)
    return MadeLanes(access, whose // repeat, counts, terms)


# ------------------------------------------------------------------------------------------- iterations
def _solved(code: NumberForm, counts: npt.NDArray[np.bool_], access: SummaryAccess) -> list[_Iteration] | None:
    try:
        form = access.form()
    except NoNumberForm:
        return None
    rounds = access.rounds
    factors: dict[Term, tuple[Term, int]] = {}
    for number in rounds:
        of_number = _factor_of(number, form)
        if of_number is None:
            return None
        factors[number] = of_number
    left = {
        monomial: numbers[counts] - _uniform(form.get(monomial))
        for monomial, numbers in code.items()
        if _is_uniform(form.get(monomial))
    }
    found: dict[Term, _Iteration] = {}
    for number in sorted(rounds, key=lambda each: (-abs(factors[each][1]), each)):
        rest, factor = factors[number]
        base: list[Term] = []
        for monomial, numbers in list(left.items()):
            quotient = _divided(monomial, rest)
            if quotient is None or quotient is t.ONE or not len(numbers) or (numbers != numbers[0]).any():
                continue
            amount = int(numbers[0])
            if amount and amount % factor == 0:
                base.append(t.scale(amount // factor, quotient))
                left[monomial] = numbers * 0
        extra = _extra(code.get(rest), form.get(rest), counts, factor)
        if extra is None:
            return None
        found[number] = _Iteration(number, t.add(*base) if base else t.ZERO, extra)
    return [found[number] for number in rounds]


def _is_uniform(numbers: Numbers | None) -> bool:
    return numbers is None or not len(numbers) or bool((numbers == numbers[0]).all())


def _uniform(numbers: Numbers | None) -> int:
    return 0 if numbers is None or not len(numbers) else int(numbers[0])


def _factor_of(number: Term, form: NumberForm) -> tuple[Term, int] | None:
    """What iterations are multiplied with in the address: a monomial and a number."""
    for monomial, numbers in form.items():
        if number in monomial.free:
            rest = _divided(monomial, number)
            if rest is None or number in rest.free or not _is_uniform(numbers) or not _uniform(numbers):
                return None
            return rest, _uniform(numbers)
    return None


def _divided(monomial: Term, by: Term) -> Term | None:
    """``monomial`` without the factors of ``by``, where it has them."""
    left = list(monomial.args) if monomial.kind is TermKind.PRODUCT else [monomial]
    for factor in by.args if by.kind is TermKind.PRODUCT else () if by is t.ONE else (by,):
        if factor not in left:
            return None
        left.remove(factor)
    return t.product(left)


def _extra(code: Numbers | None, form: Numbers | None, counts: npt.NDArray[np.bool_], factor: int) -> range | None:
    mine = np.zeros(1, "i8") if code is None else code[counts]
    theirs = np.zeros(1, "i8") if form is None else form
    if not len(mine) or not len(theirs):
        return range(1)
    low, high = int(mine.min()) - int(theirs.max()), int(mine.max()) - int(theirs.min())
    first, last = sorted((low / factor, high / factor))
    found = range(int(np.ceil(first)), int(np.floor(last)) + 1)
    return found if 0 < len(found) <= MOST_ITERATIONS else None


# --------------------------------------------------------------------------------------------------------- number forms
# Terms over numbered things (threads of a block, lanes of a tile) as sums of products, one number for each thing.
#
#     term  =  sum of  monomial * numbers[thing]   modulo 2**64
#
# where monomials are products of what does not hang on the things.  Two addresses are equal for one thing here and one
# there where all numbers are.


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
