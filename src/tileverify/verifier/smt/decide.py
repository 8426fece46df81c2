"""The solver's ladder: linear integers with congruent products and lemmas, bit vectors for questions with bit
operations, then non-linear integers.

Limits count the solver's resources and rounds, never seconds: a slow machine gives the same verdict as a fast one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import lcm
from typing import Final, TypeAlias

import z3

from ...contract import terms as t
from ...contract.terms import ZERO, Term, TermKind
from ...contract.terms.evaluate import Value, evaluate
from ...results.codes import Tier
from ..budgets import GENERALISED_LIMITS, QUESTION, REMAINDER_LIMITS
from ..obligations.answers import Answer, Limits, Merge, Model, Proof, Result, as_merged
from ..obligations.differences import Differences, equations
from ..obligations.lemmas import Lemma
from ..obligations.simplify import expand, mentions_bits, simplify
from .known_launches import Call, Examples
from .remainders import WeakerQuestion, about_remainders
from .tier_solver import BitVectorSolver, ModelNumbers, SolverContext, TierSolver

_Question: TypeAlias = tuple[frozenset[Term], tuple[tuple[Term, Term], ...]]
"""Conditions and twins: under fixed facts they determine the question."""

MERGE_ROUNDS: Final = 6
"""Lemma rounds spent on one candidate equality between twins."""


PATIENCE: Final = 6
"""For a question with twins, the last linear try gets so many times the units of the non-linear tier."""

MANY_MULTIPLES: Final = 4
"""So many new known multiples are worth a translation of all facts."""


@dataclass
class Solver:
    """Answers questions "can these conditions hold together?" under fixed ``facts``.

    ``deadline`` (of `time.monotonic`): the user's ``--timeout``; past it every answer is ``UNKNOWN``.
    ``explain``: an ``UNSATISFIABLE`` comes with its proof.  ``solver_context``: the deciders of one proof share it.
    """

    facts: Sequence[Term]
    limits: Limits = field(default_factory=Limits)
    deadline: float | None = None
    explain: bool = False
    solver_context: SolverContext = field(default_factory=SolverContext)
    _remembers: bool = field(default=False, init=False)
    _tier: TierSolver | None = field(default=None, init=False)
    _answered: dict[_Question, tuple[Result, Limits]] = field(default_factory=dict, init=False)  # under present facts
    _spent_before: int = field(init=False)
    _examples: Examples = field(init=False)
    _differences: Differences = field(init=False)
    _counted: dict[Term, Term] = field(init=False)  # all known multiples
    _counted_memo: dict[Term, Term] = field(default_factory=dict, init=False)
    _multiples: dict[Term, Term] = field(default_factory=dict, init=False)
    _memo: dict[Term, Term] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._spent_before = self.solver_context.spent
        self._examples = Examples(self.facts)
        self._counted = {} if self.explain else multiples(self.facts)
        self._multiples = dict(self._counted)
        self._differences = Differences(() if self.explain else self._with_counts(self.facts))

    @property
    def spent(self) -> int:
        """Resource units used so far."""
        return self.solver_context.spent - self._spent_before

    def decide(
        self,
        conditions: Iterable[Term],
        *,
        twins: Sequence[tuple[Term, Term]] = (),
        limits: Limits | None = None,
        model: bool = False,
    ) -> Result:
        """Satisfiability of ``facts`` and ``conditions``; ``limits`` replace the usual ones.

        An ``UNSATISFIABLE`` is a proof.  A ``SATISFIABLE`` has a model in which products are exact; ``model``: return
        it.  ``twins``: subterms of the two copies of a block that may be equal, innermost first.  Each proved equality
        makes the copies share terms; congruence does the rest.
        """
        conditions, twins = tuple(conditions), tuple(twins)
        if model or self.explain or not self._remembers:
            return self._decide(conditions, twins, limits or self.limits, model=model)
        question, within = (frozenset(conditions), twins), limits or self.limits
        known = self._answered.get(question)
        if known is not None and (known[0].answer is not Answer.UNKNOWN or within.is_within(known[1])):
            return known[0]
        result = self._decide(conditions, twins, within, model=False)
        if not self.solver_context.effort.is_spent:  # a larger budget may give an answer
            self._answered[question] = result, within
        return result

    def _decide(
        self, conditions: tuple[Term, ...], twins: tuple[tuple[Term, Term], ...], limits: Limits, *, model: bool
    ) -> Result:
        if self.solver_context.effort.is_spent:
            return Result(Answer.UNKNOWN, None)
        self.solver_context.effort.charge(QUESTION)
        if self.plainly_refuted(conditions):
            return Result(Answer.UNSATISFIABLE, Tier.AS_WRITTEN)
        if not model and self.known_to_hold(conditions):
            return Result(Answer.SATISFIABLE, Tier.EXAMPLE)
        wanted, twins = self.expanded(conditions), twins if limits.merges else ()
        if not (model or twins) and (result := self._without_remainders(conditions, wanted, limits)) is not None:
            return result
        result, merged = self._with_twins(conditions, wanted, twins, limits, self.tier(), model=model)
        if result.answer is not Answer.UNKNOWN:
            return result
        if limits.bits and not self.solver_context.effort.is_spent and mentions_bits(wanted):
            result = self._on_words(wanted, limits.bits, model=model)
            if result.answer is not Answer.UNKNOWN:
                return self._explained(result, wanted, (), ())
        if not limits.nonlinear:
            return result
        exact = self._new_tier(exact_products=True)
        exact.push(merged.conditions)
        answer = exact.check_exactly(limits.nonlinear)
        found = self._model(exact) if model and answer is Answer.SATISFIABLE else None
        result = self._explained(Result(answer, Tier.NONLINEAR, found), wanted, merged.merges, ())
        if answer is not Answer.UNKNOWN or not twins:
            return result
        # Merging twins, one small question each, finds much of a proof: it is worth larger limits, and a fresh context
        # without the influence of earlier questions.
        most, rounds = PATIENCE * limits.nonlinear, max(limits.rounds, self.limits.rounds)
        patient = replace(limits, linear=most, rounds=rounds, total=most)
        with self.solver_context.another() as solver_context:
            fresh = self._new_tier(exact_products=False, solver_context=solver_context)
            return self._with_twins(conditions, wanted, twins, patient, fresh, model=model)[0]

    def _without_remainders(self, conditions: Sequence[Term], wanted: Sequence[Term], limits: Limits) -> Result | None:
        """The answer "impossible" if the weaker question has it; its lemmas are enough for ``wanted``, too."""
        few = REMAINDER_LIMITS
        worth_it = limits.total > GENERALISED_LIMITS.total  # elsewhere units are scarce
        weaker = WeakerQuestion.of(conditions) if worth_it else None
        if weaker is None:
            return None
        tier = self.tier()
        result, lemmas = self._linear(tier, self.expanded(weaker.conditions), few)
        if result.answer is not Answer.UNSATISFIABLE or not self.explain:
            return result if result.answer is Answer.UNSATISFIABLE else None
        result, lemmas = self._linear(tier, wanted, few, given=weaker.in_full(lemmas))
        return self._explained(result, wanted, (), lemmas) if result.answer is Answer.UNSATISFIABLE else None

    def _with_twins(
        self,
        conditions: tuple[Term, ...],
        wanted: list[Term],
        twins: Sequence[tuple[Term, Term]],
        limits: Limits,
        tier: TierSolver,
        *,
        model: bool,
    ) -> tuple[Result, _Merged]:
        """The answer of linear integers, and ``wanted`` with twins merged."""
        merged = self._merge(tier, wanted, twins, limits)
        # Witnesses and proofs need the solver's own answer, without short cuts.
        quick = not model and not self.explain
        if quick and merged.merges:
            simple = simplify(merged.conditions, frozenset(self.facts))
            if simple is None:
                return Result(Answer.UNSATISFIABLE, Tier.LINEAR), merged
            if simple.joined:  # else ask the unsimplified question: rewording alone may make it harder
                merged, conditions = replace(merged, conditions=list(simple.conditions)), simple.conditions
        satisfied = (lambda: self.at_hand(tier, conditions)) if quick else (lambda: False)
        result, lemmas = self._linear(tier, merged.conditions, limits, model=model, satisfied=satisfied)
        return self._explained(result, wanted, merged.merges, lemmas), merged

    def _on_words(self, wanted: Sequence[Term], limit: int, *, model: bool) -> Result:
        timeout = None if self.deadline is None else int(1000 * (self.deadline - time.monotonic())) + 1
        if timeout is not None and timeout <= 1:
            return Result(Answer.UNKNOWN, Tier.BIT_VECTORS)
        words = BitVectorSolver(self.expanded(self.facts), wanted, self.solver_context.seed)
        answer, found = words.settle(min(limit, self.solver_context.effort.left), timeout)
        self.solver_context.charge(words.spent)
        return Result(answer, Tier.BIT_VECTORS, self._with_multiples(found) if model and found is not None else None)

    def plainly_refuted(self, conditions: Sequence[Term]) -> bool:
        """Whether the conditions contradict each other without a solver; always False with ``explain``."""
        if self.explain:
            return False
        together = t.and_(*self._with_counts(conditions))
        if together is t.FALSE or self._differences.refute((together,)):
            return True
        # Races on raw pointers: once places are known to be equal, their digits are, as those of tiles.
        equal = tuple(equations((together,)))
        return bool(equal) and simplify((together, *equal), frozenset(self.facts)) is None

    def known_to_hold(self, conditions: Sequence[Term]) -> bool:
        """Whether a known launch satisfies the conditions."""
        return self._examples.satisfy(conditions)

    def _explained(
        self, result: Result, wanted: Sequence[Term], merges: Sequence[Merge], lemmas: tuple[Lemma, ...]
    ) -> Result:
        if not self.explain or result.tier is None or result.answer is not Answer.UNSATISFIABLE:
            return result
        own = tuple(lemma for lemma in lemmas if not about_remainders(lemma))  # the tier remembers other questions
        return replace(result, proof=Proof(tuple(wanted), tuple(merges), own, result.tier))

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Inside the block, reuse each answer, unless it was `UNKNOWN` and the limits are wider now.

        Outside, a repeated question goes to the solver again: new lemmas may give it an answer.
        """
        self._remembers = True
        try:
            yield
        finally:
            self._remembers = False

    def limit(self, limits: Limits) -> Limits:
        """Set the limits; return the previous ones."""
        before, self.limits = self.limits, limits
        return before

    @contextmanager
    def within(self, limits: Limits) -> Iterator[None]:
        """Use these limits inside the block; restore the usual ones after it."""
        usual = self.limit(limits)
        try:
            yield
        finally:
            self.limit(usual)

    def fork(self, solver_context: SolverContext) -> Solver:
        """Another solver under the same facts and limits."""
        other = replace(self, facts=(), solver_context=solver_context)
        other.facts, other._examples, other._differences = self.facts, self._examples.copy(), self._differences.copy()
        other._counted, other._multiples = dict(self._counted), dict(self._counted)
        return other

    def _with_counts(self, terms: Iterable[Term]) -> list[Term]:
        return [t.substitute(term, self._counted, self._counted_memo) for term in terms]

    def assume(self, facts: Sequence[Term]) -> None:
        """Add facts for all later questions."""
        self._answered.clear()
        self.facts = (*self.facts, *facts)
        self._examples.assume(facts)
        if not self.explain:
            known, self._counted = self._counted, multiples(self.facts) if multiples(facts) else self._counted
            if self._counted != known:
                self._counted_memo = {}
                self._differences = Differences(self._with_counts(self.facts))
            else:
                self._differences.assume(self._with_counts(facts))
        if self._tier is None or len(self._counted) - len(self._multiples) >= MANY_MULTIPLES:
            self._multiples, self._memo, self._tier = dict(self._counted), {}, None
        if self._tier is not None:
            self._tier.add(self.expanded(facts))

    def _new_tier(self, *, exact_products: bool, solver_context: SolverContext | None = None) -> TierSolver:
        facts = self.expanded(self.facts)
        return TierSolver(facts, self.deadline, solver_context or self.solver_context, exact_products=exact_products)

    def expanded(self, terms: Iterable[Term]) -> list[Term]:
        return [expand(t.substitute(term, self._multiples, self._memo), self.solver_context.expanded) for term in terms]

    def _model(self, tier: TierSolver) -> Model:
        return self._with_multiples(tier.model())

    def at_hand(self, tier: TierSolver, conditions: Sequence[Term]) -> bool:
        """Whether the tier's model, with exact products, satisfies the facts and ``conditions``."""
        return self._examples.learn(_WithMultiples(tier.numbers(), self._multiples), conditions)

    def _with_multiples(self, model: Model) -> Model:
        for variable, multiple in self._multiples.items():
            counts = {count: model.variables.get(count, count.low or 0) for count in multiple.free}
            model.variables[variable] = evaluate(multiple, counts)
        return model

    def _merge(
        self, tier: TierSolver, wanted: list[Term], twins: Sequence[tuple[Term, Term]], limits: Limits
    ) -> _Merged:
        """Replace the second of two twins by the first if ``wanted`` implies that they are equal.

        The equality joins the conditions, so the question does not change.
        """
        merges: list[Merge] = []
        replaced: dict[Term, Term] = {}
        pending = [(number, (a, b)) for number, (a, b) in enumerate(map(self.expanded, twins))]
        few = replace(self.limits if limits.linear < self.limits.linear else limits, rounds=MERGE_ROUNDS)
        while pending:
            tier.push(wanted)
            try:
                merge = self._first_equal(tier, pending, replaced, few)
            finally:
                tier.pop()
            if merge is None:
                break
            merges.append(merge)
            a, b = merge.first, merge.second
            replaced[b] = a
            memo: dict[Term, Term] = {}
            wanted = [t.eq(a, b), *(t.transform(condition, {b: a}.get, memo) for condition in wanted)]
        return _Merged(wanted, merges)

    def _first_equal(
        self,
        tier: TierSolver,
        pending: list[tuple[int, tuple[Term, Term]]],
        replaced: Mapping[Term, Term],
        limits: Limits,
    ) -> Merge | None:
        """The next twins that must be equal under the pushed conditions; removes the tried ones from ``pending``."""
        while pending:
            number, twins = pending.pop(0)
            a, b = as_merged(twins, replaced)
            if a is not b:
                result, lemmas = self._linear(tier, [t.ne(a, b)], limits)
                if result.answer is Answer.UNSATISFIABLE:
                    return Merge(number, a, b, lemmas)
        return None

    @contextmanager
    def selection(
        self, conditions: Sequence[Term], limits: Limits, *, twins: Sequence[tuple[Term, Term]] = ()
    ) -> Iterator[Selection]:
        """The question whether ``conditions`` can hold together, under changing clauses; ask no other inside."""
        selection = Selection(self, conditions, limits, twins)
        try:
            yield selection
        finally:
            selection.close()

    def tier(self) -> TierSolver:
        """The solver of linear integers."""
        if self._tier is None:
            self._tier = self._new_tier(exact_products=False)
        return self._tier

    def _linear(
        self,
        tier: TierSolver,
        wanted: Sequence[Term],
        limits: Limits,
        *,
        model: bool = False,
        satisfied: Callable[[], bool] = lambda: False,
        given: Sequence[Lemma] = (),
    ) -> tuple[Result, tuple[Lemma, ...]]:
        """The answer, and the known lemmas of an ``UNSATISFIABLE`` with ``explain``; see `TierSolver.settle`."""
        tier.push(wanted, given)
        try:
            answer, lemmas = tier.settle(limits, satisfied)
            if answer is Answer.SATISFIABLE:
                return Result(answer, Tier.LINEAR, self._model(tier) if model else None, lemmas), ()
            known = tier.lemmas() if self.explain and answer is Answer.UNSATISFIABLE else ()
            return Result(answer, Tier.LINEAR, lemmas=lemmas), known
        finally:
            tier.pop()


@dataclass(frozen=True, slots=True)
class _Merged:
    """``conditions`` with equal twins merged."""

    conditions: list[Term]
    merges: list[Merge]


@dataclass(frozen=True, slots=True)
class _WithMultiples:
    """A model's numbers, and the variables that the solver sees only as multiples of a count."""

    numbers: ModelNumbers
    multiples: Mapping[Term, Term]

    def variable(self, variable: Term) -> Value | None:
        multiple = self.multiples.get(variable)
        if multiple is None:
            return self.numbers.variable(variable)
        counts = {count: self.numbers.variable(count) for count in multiple.free}
        return evaluate(multiple, {count: (count.low or 0) if n is None else n for count, n in counts.items()})

    def results(self) -> Mapping[Call, Value]:
        return self.numbers.results()


def multiples(facts: Iterable[Term]) -> dict[Term, Term]:
    """``x`` as ``c * n`` if the facts say that c divides x: one more variable, no division.

    x % c = 0  iff  x = c*n for some n; the bounds of n are those of x divided by c.
    """
    factors: dict[Term, int] = {}
    for fact in facts:
        for part in fact.args if fact.kind is TermKind.AND else (fact,):
            if part.kind is TermKind.EQ and ZERO in part.args:
                rest = part.args[0] if part.args[1] is ZERO else part.args[1]
                if (
                    rest.kind is TermKind.MOD
                    and rest.args[0].kind is TermKind.VAR
                    and rest.args[1].kind is TermKind.CONST
                ):
                    variable, divisor = rest.args[0], rest.args[1].value
                    factors[variable] = lcm(factors.get(variable, 1), divisor)
    found = {}
    for variable, factor in factors.items():
        low, high = variable.low, variable.high
        count = t.var(
            f"{variable.symbol.name} / {factor}",
            variable.symbol.scope,
            None if low is None else -(-low // factor),
            None if high is None else high // factor,
        )
        found[variable] = t.scale(factor, count)
    return found


@dataclass(frozen=True, slots=True)
class WithLimits:
    """A solver with other limits."""

    solver: Solver
    limits: Limits

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        return self.solver.decide(conditions, twins=twins, limits=self.limits)


@dataclass(frozen=True, slots=True)
class WithBudget:
    """A solver with other limits; answers `UNKNOWN` once it has spent more than ``units`` in all."""

    units: int
    solver: Solver
    limits: Limits

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        if self.solver.spent > self.units:
            return Result(Answer.UNKNOWN, None)
        return self.solver.decide(conditions, twins=twins, limits=self.limits)


def solver_version() -> str:
    """``z3 5.4.0``."""
    return f"z3 {z3.get_version_string()}"


# ------------------------------------------------------------------------------------------------------------ selection
# One question under changing sets of clauses.


class Selection:
    """Whether ``conditions`` can hold together, for one set of clauses after another.

    The first set that needs the solver pushes the conditions, once for all sets.
    """

    def __init__(
        self, solver: Solver, conditions: Sequence[Term], limits: Limits, twins: Sequence[tuple[Term, Term]]
    ) -> None:
        self._solver, self._conditions, self._limits, self._twins = solver, conditions, limits, twins
        self._bits = bool(limits.bits) and mentions_bits(conditions)
        self._tier: TierSolver | None = None

    def close(self) -> None:
        """End the question."""
        if self._tier is not None:
            self._tier.pop()

    def closes(self, clauses: Sequence[Term]) -> bool:
        """Whether the conditions contradict these clauses and the solver's facts; False: not proved."""
        if self._solver.solver_context.effort.is_spent:
            return False
        self._solver.solver_context.effort.charge(QUESTION)
        if self._solver.plainly_refuted([*self._conditions, *clauses]):
            return True
        asked = [*self._conditions, *clauses]
        if self._solver.known_to_hold(asked):
            return False
        if self._twins or self._bits:  # which twins are equal depends on the clauses; bits may take another tier
            return self._solver.decide(asked, twins=self._twins, limits=self._limits).answer is Answer.UNSATISFIABLE
        if self._tier is None:
            self._tier = self._solver.tier()
            self._tier.push(self._solver.expanded(self._conditions))
        # Clauses behind switches would be asserted once, but lemmas on switched-off clauses would slow the solver.
        self._tier.push(self._solver.expanded(clauses))
        try:
            tier = self._tier
            return tier.settle(self._limits, lambda: self._solver.at_hand(tier, asked))[0] is Answer.UNSATISFIABLE
        finally:
            self._tier.pop()
