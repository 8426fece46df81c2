"""TV304: 32-bit arithmetic that wraps in arrays of 2**31 elements or more, although every size alone is usual.

    an obligation took a limit that the limits of single sizes do not imply: a scalar that a person wrote as one of any
    value, and that is no size, has no limit of its own here
    an index or a mask wraps, in an access that is proved all the same:

        F and alone and |index| >= 2**31     has a launch,      F and alone and spans and |index| >= 2**31     has none

F: also what is known of contents, and where the access is reached, as far as that does not wrap itself.  The second is
a mask or a bounds check that hides the wrapped index: what the lane should have touched is left out.  It changes no
verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

from ..contract import terms as t
from ..contract.terms import Sort, Term, TermKind
from ..results import Finding
from ..results.codes import BETWEEN_BLOCKS, INSIDE_BLOCK, TV
from . import messages
from .abduction.narrow_proof import Needed
from .budgets import CLAUSE_LIMITS
from .obligations.answers import Answer, Model
from .obligations.fact_use import data_facts
from .obligations.footprint_overlap import PreparedSite, place_terms
from .obligations.obligations import Obligation
from .obligations.prepare import launch_facts, outside
from .prover import Prover
from .refute.described import DescribedNumbers
from .smt import Solver

EXAMPLE_LIMITS: Final = replace(CLAUSE_LIMITS, nonlinear=300_000)
"""For sizes at which arithmetic wraps: they only help people."""

LEAST_BITS: Final = 4
MOST_BITS: Final = 31
"""Numbers of an example are at most 2**4 to 2**31."""

NOT_FOUND_OUT: Final = "whether 32-bit arithmetic wraps in arrays of 2**31 elements was not found out"
"""A note: what is told, or not told, of large arrays is not all."""


class _Wrap(NamedTuple):
    """Arithmetic that wraps under ``conditions``; ``where`` and ``then`` say in which launches, and what happens; not
    ``wraps``: the numbers themselves are too large."""

    obligation: Obligation
    where: str
    then: str
    conditions: tuple[Term, ...]
    wraps: bool


@dataclass
class LargeArrays:
    """What becomes of a proved kernel in arrays beyond the limits."""

    prover: Prover

    def findings(self, needed: Sequence[Needed]) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
        """One for each place, and notes; ``needed``: the limits that the proof took."""
        parts = self.prover.parts
        wrapped = any(next(_wraps(_terms(each)), None) is not None for each in self.prover.kernel.sites)
        if not (needed or wrapped) or parts.is_literal or not parts.has_limits:
            return (), ()
        found: dict[tuple[str | None, int | None, str], _Wrap] = {}
        for wrap in (*self._beyond(needed), *self._hidden()):
            site = messages.sites(wrap.obligation)[0]
            found.setdefault((site.file, site.line, site.array), wrap)
        told = tuple(map(self._finding, found.values()))
        return told, ((NOT_FOUND_OUT,) if self.prover.at_its_end() else ())

    def _beyond(self, needed: Iterable[Needed]) -> Iterator[_Wrap]:
        for clause, obligation, conditions in needed:
            if not self.prover.parts.is_implied_by(self._usual, clause.condition):
                if not self._is_possible(t.not_(clause.condition), self._usual):
                    continue
                wrapped = [outside(each) for each in _wraps(conditions)]
                asked = [each for each in conditions if not wrapped or next(_wraps([each]), None) is None]
                some = (t.or_(*wrapped),) if wrapped else ()
                broken = (t.not_(clause.condition), *some, *asked)
                where, then = f"beyond `{clause.text}`", _consequence(obligation)
                yield _Wrap(obligation, where, then, broken, bool(wrapped))

    def _hidden(self) -> Iterator[_Wrap]:
        """Of the accesses: promises say themselves what they ask of integers."""
        for each in self.prover.kernel.sites:
            reached = [part for part in _parts(each.guard) if next(_wraps([part]), None) is None]
            for wrapped in _wraps(_terms(each)):
                asked = (outside(wrapped), *reached)
                facts = data_facts(asked, self.prover.contract, self.prover.kernel.origins)
                beyond = t.and_(*asked, *facts)
                if self._is_possible(beyond, self.prover.parts.alone) and self._is_impossible(beyond):
                    lost = "the mask hides the wrapped index, and elements are silently left out"
                    obligation = Obligation(TV.INDEX_WRAPS, (), each.site)
                    yield _Wrap(obligation, "in arrays of 2**31 elements or more", lost, (beyond,), True)
                    break

    def _finding(self, wrap: _Wrap) -> Finding:
        obligation, where, then, conditions, wraps = wrap
        sizes = self._sizes(conditions)
        numbers = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        first = f", for example where {numbers}" if numbers else ""
        sites = messages.sites(obligation)
        what = "32-bit arithmetic wraps in an index of" if wraps else "an index leaves what is meant of"
        text = f"{where} {what} `{sites[0].array}`: {then}{first}"
        return Finding(TV.INDEX_WRAPS, text, sites, hints=(messages.WIDEN,) if wraps else ())

    # ---------------------------------------------------------------------------------------- questions
    @cached_property
    def _usual(self) -> tuple[Term, ...]:
        """Single sizes are usual.  A scalar that somebody wrote as one of any value may be large."""
        parts = self.prover.parts
        return parts.of_sizes if self.prover.launch.origin == "written" else parts.alone

    @cached_property
    def _solver(self) -> Solver:
        """Of the contract alone: the proof's own knows the limits."""
        solver_context = self.prover.solver_context.fresh(models=True)
        return Solver(
            launch_facts(self.prover.contract),
            EXAMPLE_LIMITS,
            self.prover.solver.deadline,
            solver_context=solver_context,
        )

    def _is_possible(self, condition: Term, usual: Sequence[Term]) -> bool:
        """In arrays that a card can hold."""
        return self._solver.decide([condition, *usual, *self.prover.parts.on_cards]).answer is Answer.SATISFIABLE

    def _is_impossible(self, condition: Term) -> bool:
        return self._solver.decide([condition, *self.prover.parts.limits]).answer is Answer.UNSATISFIABLE

    def _sizes(self, conditions: Sequence[Term]) -> dict[str, int]:
        """The least sizes of a launch that satisfies ``conditions``: below the least power of two, and none of them
        less beside the others; none where none were found."""
        variables = [size for size in self.prover.contract.variables if size.sort is Sort.INT]
        asked = [*conditions, *self._usual, *self.prover.parts.on_cards]
        found: Model | None = None
        low, high = LEAST_BITS, MOST_BITS
        while low <= high:
            bits = (low + high) // 2
            model = self._model([*asked, *(t.le(size, t.const(1 << bits)) for size in variables)])
            found, low, high = (found, bits + 1, high) if model is None else (model, low, bits - 1)
        if found is None:
            return {}
        number = DescribedNumbers(found)
        sizes = {size: number(size) for size in variables}
        for size in sorted(variables, key=lambda size: (-sizes[size], size.symbol.name)):
            sizes[size] = self._least(size, sizes, asked)
        return {size.symbol.name: value for size, value in sizes.items()}

    def _least(self, size: Term, sizes: Mapping[Term, int], asked: Sequence[Term]) -> int:
        """The least value of ``size`` beside the others' values, with which all that is ``asked`` is possible."""
        others = [t.eq(other, t.const(value)) for other, value in sizes.items() if other is not size]
        low, high = min(0, sizes[size]), sizes[size]
        while low < high:
            middle = (low + high) // 2
            model = self._model([*asked, *others, t.le(size, t.const(middle))])
            low, high = (middle + 1, high) if model is None else (low, min(middle, DescribedNumbers(model)(size)))
        return high

    def _model(self, conditions: Sequence[Term]) -> Model | None:
        result = self._solver.decide(conditions, model=True)
        return result.model if result.answer is Answer.SATISFIABLE else None


def _terms(site: PreparedSite) -> list[Term]:
    return [site.guard, *place_terms(site.place)]


def _parts(condition: Term) -> Sequence[Term]:
    return condition.args if condition.kind is TermKind.AND else (condition,)


def _wraps(terms: Iterable[Term]) -> Iterator[Term]:
    found = (part for term in terms for part in t.postorder(term) if part.kind is TermKind.WRAP and part.payload == 32)
    return iter(dict.fromkeys(found))


def _consequence(obligation: Obligation) -> str:
    if obligation.code in BETWEEN_BLOCKS:
        return "tile blocks touch each other's elements"
    if obligation.code in INSIDE_BLOCK:
        return "accesses of one block meet in an element"
    if obligation.promise is not None:
        return "a promise to the compiler is broken"
    return "the access leaves the array"
