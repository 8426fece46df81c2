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
from ...contract.terms import Term, TermKind
from ...verifier.obligations.footprint_overlap import PreparedSite
from .number_forms import FormIndex, NoNumberForm, NumberForm, Numbers, Things, of_bits

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
