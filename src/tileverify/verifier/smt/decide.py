"""The ladder of the solver: linear integers with congruent products and lemmas, words of bits where a question speaks
of bits, then non-linear integers.

Limits are the solver's resource counts and numbers of rounds, never seconds, so that a slow machine gives the same
verdict as a fast one.
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
from ..budgets import QUESTION
from ..obligations.answers import Answer, Limits, Merge, Model, Proof, Result, as_merged
from ..obligations.arithmetic import expand, mentions_bits
from ..obligations.differences import Differences
from ..obligations.lemmas import Lemma
from ..obligations.simplify import simplify
from .known_launches import Call, Examples
from .on_bit_vectors import Words
from .selection import Selection
from .shared_context import Session
from .tier_solver import ModelNumbers, TierSolver

_Question: TypeAlias = tuple[frozenset[Term], tuple[tuple[Term, Term], ...]]
"""Conditions and twins: with the facts all that an answer says something about."""

MERGE_ROUNDS: Final = 6
"""Lemma rounds spent on one candidate equality between twins."""


PATIENCE: Final = 6
"""How much more than the non-linear tier the linear one is given at last, where a question has twins."""

MANY_MULTIPLES: Final = 4
"""Known multiples that make it worth to translate everything again."""


@dataclass
class Decider:
    """Answers questions "can these conditions hold together?" under fixed ``facts``.

    ``deadline`` (of `time.monotonic`) is for people who asked for one: past it every answer is ``UNKNOWN``.
    ``remembers``: a question is asked once, or again within wider limits; asked again, one without an answer may have
    one, as lemmas were made since.
    ``explain``: an ``UNSATISFIABLE`` comes with its proof.  ``session``: to be shared by the deciders of one kernel.
    """

    facts: Sequence[Term]
    limits: Limits = field(default_factory=Limits)
    deadline: float | None = None
    explain: bool = False
    session: Session = field(default_factory=Session)
    remembers: bool = False
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
        self._spent_before = self.session.spent
        self._examples = Examples(self.facts)
        self._counted = {} if self.explain else multiples(self.facts)
        self._multiples = dict(self._counted)
        self._differences = Differences(() if self.explain else self._with_counts(self.facts))

    @property
    def spent(self) -> int:
        """Resource units used so far."""
        return self.session.spent - self._spent_before

    def decide(
        self,
        conditions: Iterable[Term],
        *,
        twins: Sequence[tuple[Term, Term]] = (),
        limits: Limits | None = None,
        model: bool = False,
    ) -> Result:
        """Satisfiability of ``facts`` and ``conditions``, under other ``limits`` than usual where they are given.

        An ``UNSATISFIABLE`` is a proof.  A ``SATISFIABLE`` stands for a model that satisfies the products exactly, and
        carries it if ``model`` asks for it.
        ``twins``: subterms of the two copies of a block that may turn out equal, innermost first; each equality
        that follows is used to make the copies share terms, from which congruence does the rest.
        """
        conditions, twins = tuple(conditions), tuple(twins)
        if model or self.explain or not self.remembers:
            return self._decide(conditions, twins, limits or self.limits, model=model)
        question, within = (frozenset(conditions), twins), limits or self.limits
        known = self._answered.get(question)
        if known is not None and (known[0].answer is not Answer.UNKNOWN or within.is_within(known[1])):
            return known[0]
        result = self._decide(conditions, twins, within, model=False)
        if not self.session.effort.is_spent:  # with more to spend there may be an answer
            self._answered[question] = result, within
        return result

    def _decide(
        self, conditions: tuple[Term, ...], twins: tuple[tuple[Term, Term], ...], limits: Limits, *, model: bool
    ) -> Result:
        if self.session.effort.is_spent:
            return Result(Answer.UNKNOWN, None)
        self.session.effort.charge(QUESTION)
        if self.plainly_refuted(conditions):
            return Result(Answer.UNSATISFIABLE, Tier.AS_WRITTEN)
        if not model and self.known_to_hold(conditions):
            return Result(Answer.SATISFIABLE, Tier.EXAMPLE)
        wanted, twins = self.expanded(conditions), twins if limits.merges else ()
        result, merged = self._with_twins(conditions, wanted, twins, limits, self.tier(), model=model)
        if result.answer is not Answer.UNKNOWN:
            return result
        if limits.bits and not self.session.effort.is_spent and mentions_bits(wanted):
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
        # Much of a proof is found by merging twins, one small question each: those are worth more patience, and another
        # context, which no earlier question has led astray.
        most, rounds = PATIENCE * limits.nonlinear, max(limits.rounds, self.limits.rounds)
        patient = replace(limits, linear=most, rounds=rounds, total=most)
        with self.session.another() as session:
            fresh = self._new_tier(exact_products=False, session=session)
            return self._with_twins(conditions, wanted, twins, patient, fresh, model=model)[0]

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
        """The answer of linear integers, and what is ``wanted`` with twins merged."""
        merged = self._merge(tier, wanted, twins, limits)
        # Witnesses and proofs are made from what the solver itself says.
        quick = not model and not self.explain
        if quick and merged.merges:
            simple = simplify(merged.conditions, frozenset(self.facts))
            if simple is None:
                return Result(Answer.UNSATISFIABLE, Tier.LINEAR), merged
            if simple.joined:  # else it is asked as it always was: what is easy for a solver is its luck
                merged, conditions = replace(merged, conditions=list(simple.conditions)), simple.conditions
        satisfied = (lambda: self.at_hand(tier, conditions)) if quick else (lambda: False)
        result, lemmas = self._linear(tier, merged.conditions, limits, model=model, satisfied=satisfied)
        return self._explained(result, wanted, merged.merges, lemmas), merged

    def _on_words(self, wanted: Sequence[Term], limit: int, *, model: bool) -> Result:
        timeout = None if self.deadline is None else int(1000 * (self.deadline - time.monotonic())) + 1
        if timeout is not None and timeout <= 1:
            return Result(Answer.UNKNOWN, Tier.BIT_VECTORS)
        words = Words(self.expanded(self.facts), wanted, self.session.seed)
        answer, found = words.settle(min(limit, self.session.effort.left), timeout)
        self.session.charge(words.spent)
        return Result(answer, Tier.BIT_VECTORS, self._with_multiples(found) if model and found is not None else None)

    def plainly_refuted(self, conditions: Sequence[Term]) -> bool:
        """Whether the conditions cannot hold together for reasons that take no solver; never with ``explain``."""
        if self.explain:
            return False
        together = t.and_(*self._with_counts(conditions))
        return together is t.FALSE or self._differences.refute((together,))

    def known_to_hold(self, conditions: Sequence[Term]) -> bool:
        """Whether a launch at hand satisfies the conditions."""
        return self._examples.satisfy(conditions)

    def _explained(
        self, result: Result, wanted: Sequence[Term], merges: Sequence[Merge], lemmas: tuple[Lemma, ...]
    ) -> Result:
        if not self.explain or result.tier is None or result.answer is not Answer.UNSATISFIABLE:
            return result
        return replace(result, proof=Proof(tuple(wanted), tuple(merges), lemmas, result.tier))

    def aside(self, session: Session) -> Decider:
        """Another one under the same facts and limits."""
        other = replace(self, facts=(), session=session)
        other.facts, other._examples, other._differences = self.facts, self._examples.copy(), self._differences.copy()
        other._counted, other._multiples = dict(self._counted), dict(self._counted)
        return other

    def _with_counts(self, terms: Iterable[Term]) -> list[Term]:
        return [t.substitute(term, self._counted, self._counted_memo) for term in terms]

    def assume(self, facts: Sequence[Term]) -> None:
        """Further facts, which hold for all questions from now on."""
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

    def _new_tier(self, *, exact_products: bool, session: Session | None = None) -> TierSolver:
        facts = self.expanded(self.facts)
        return TierSolver(facts, self.deadline, session or self.session, exact_products=exact_products)

    def expanded(self, terms: Iterable[Term]) -> list[Term]:
        return [expand(t.substitute(term, self._multiples, self._memo), self.session.expanded) for term in terms]

    def _model(self, tier: TierSolver) -> Model:
        return self._with_multiples(tier.model())

    def at_hand(self, tier: TierSolver, conditions: Sequence[Term]) -> bool:
        """Whether the numbers of the tier's model satisfy the facts and ``conditions`` once products are worked out."""
        return self._examples.learn(_WithMultiples(tier.numbers(), self._multiples), conditions)

    def _with_multiples(self, model: Model) -> Model:
        for variable, multiple in self._multiples.items():
            counts = {count: model.variables.get(count, count.low or 0) for count in multiple.free}
            model.variables[variable] = evaluate(multiple, counts)
        return model

    def _merge(
        self, tier: TierSolver, wanted: list[Term], twins: Sequence[tuple[Term, Term]], limits: Limits
    ) -> _Merged:
        """Replace the second of two twins by the first where ``wanted`` forces them to be equal.

        The equality itself stays among the conditions, so the question does not change.
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
        """The next twins that must be equal under what is pushed; those tried are taken from ``pending``."""
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
        """The question whether ``conditions`` can hold together, for changing clauses; meanwhile no other is asked."""
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
    ) -> tuple[Result, tuple[Lemma, ...]]:
        """The answer, and with ``explain`` the lemmas at hand if it is ``UNSATISFIABLE``; see `TierSolver.settle`."""
        tier.push(wanted)
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
    """``conditions`` in which twins that must be equal are merged."""

    conditions: list[Term]
    merges: list[Merge]


@dataclass(frozen=True, slots=True)
class _WithMultiples:
    """Numbers of a model, with the variables that it knows by what they are multiples of."""

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
    """``x`` as ``c * n`` where the facts say that c divides it: a variable more, and nothing left of the division.

    x % c = 0  iff  x = c*n for some n, which lies between the bounds of x divided by c.
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
class Limited:
    """A decider under other limits than its own."""

    decider: Decider
    limits: Limits

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        return self.decider.decide(conditions, twins=twins, limits=self.limits)


@dataclass(frozen=True, slots=True)
class UpTo:
    """A decider under other limits than its own, which is asked no more once it has spent ``units`` in all."""

    units: int
    decider: Decider
    limits: Limits

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        if self.decider.spent > self.units:
            return Result(Answer.UNKNOWN, None)
        return self.decider.decide(conditions, twins=twins, limits=self.limits)


def solver_version() -> str:
    """``z3 5.4.0``."""
    return f"z3 {z3.get_version_string()}"
