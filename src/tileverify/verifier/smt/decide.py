"""The ladder of the solver: linear integers with congruent products and lemmas, then non-linear integers.

Limits are the solver's resource counts and numbers of rounds, never seconds, so that a slow machine gives the same
verdict as a fast one.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import z3

from ...frontend.symbolic import terms as t
from ...frontend.symbolic.terms import Function, Kind, Term
from ..arithmetic import expand, is_opaque_quotient, split_product
from ..evaluate import Value
from ..examples import Examples
from .encode import Encoder
from .lemmas import (
    Lemma,
    coefficients_of_products,
    distribution_lemmas,
    eager_lemmas,
    point_lemmas,
    quotient_lemma,
    violated_lemmas,
)
from .session import Session


class Answer(enum.Enum):
    UNSATISFIABLE = "unsatisfiable"
    SATISFIABLE = "satisfiable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Limits:
    """Z3 resource units: ``linear`` for one check of the linear rung and ``rounds`` checks of a question, which may
    take ``total`` together; ``nonlinear`` for the one check of the non-linear rung."""

    linear: int = 400_000
    nonlinear: int = 2_000_000
    rounds: int = 60
    total: int = 1_500_000


@dataclass(frozen=True, slots=True)
class Model:
    """Values of the variables and of every function application that the question contains."""

    variables: dict[Term, Value]
    applications: dict[tuple[Function, tuple[Value, ...]], Value]


@dataclass(frozen=True, slots=True)
class Merge:
    """``first`` equals ``second`` by ``lemmas``, under the question and the equalities before; ``twin`` says which of
    the question's twins they are."""

    twin: int
    first: Term
    second: Term
    lemmas: tuple[Lemma, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """Why ``conditions`` (as the solver saw them, twins not merged) and the facts contradict each other.

    ``lemmas``: all that were at hand when the contradiction showed, more than it takes.  ``linear``: products and
    quotients were congruent functions; otherwise they were the solver's own.
    """

    conditions: tuple[Term, ...]
    merges: tuple[Merge, ...]
    lemmas: tuple[Lemma, ...]
    linear: bool


@dataclass(frozen=True, slots=True)
class Result:
    answer: Answer
    rung: str
    model: Model | None = None
    lemmas: int = 0
    proof: Proof | None = None


class Decides(Protocol):
    """Whoever answers questions: the solver, or a certificate of what it answered."""

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result: ...


@dataclass
class Decider:
    """Answers questions "can these conditions hold together?" under fixed ``facts``.

    ``deadline`` (of `time.monotonic`) is for people who asked for one: past it every answer is ``UNKNOWN``.
    ``explain``: an ``UNSATISFIABLE`` comes with its proof.  ``session``: to be shared by the deciders of one kernel.
    """

    facts: Sequence[Term]
    limits: Limits = Limits()
    deadline: float | None = None
    explain: bool = False
    session: Session = field(default_factory=Session)
    _rung: _Rung | None = field(default=None, init=False)
    _spent_before: int = field(init=False)
    _examples: Examples = field(init=False)

    def __post_init__(self) -> None:
        self._spent_before = self.session.spent
        self._examples = Examples(self.facts)

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
        limits, conditions = limits or self.limits, tuple(conditions)
        if not self.explain and t.and_(*conditions) is t.FALSE:
            return Result(Answer.UNSATISFIABLE, AS_WRITTEN)
        if not model and self._examples.satisfy(conditions):
            return Result(Answer.SATISFIABLE, EXAMPLE)
        wanted = self._expanded(conditions)
        if self._rung is None:
            self._rung = self._new_rung(exact_products=False)
        merges: list[Merge] = []
        merged = self._merge(self._rung, wanted, twins, merges)
        result, lemmas = self._linear(self._rung, merged, limits, limits.rounds, model=model)
        if result.answer is not Answer.UNKNOWN:
            return self._explained(result, wanted, merges, lemmas)
        exact = self._new_rung(exact_products=True)
        exact.push(merged)
        answer = exact.check(limits.nonlinear)
        found = exact.model() if model and answer is Answer.SATISFIABLE else None
        return self._explained(Result(answer, NONLINEAR, found), wanted, merges, ())

    def _explained(
        self, result: Result, wanted: Sequence[Term], merges: Sequence[Merge], lemmas: tuple[Lemma, ...]
    ) -> Result:
        if not self.explain or result.answer is not Answer.UNSATISFIABLE:
            return result
        return replace(result, proof=Proof(tuple(wanted), tuple(merges), lemmas, linear=result.rung == LINEAR))

    def assume(self, facts: Sequence[Term]) -> None:
        """Further facts, which hold for all questions from now on."""
        self.facts = (*self.facts, *facts)
        self._examples.assume(facts)
        if self._rung is not None:
            self._rung.add(self._expanded(facts))

    def _new_rung(self, *, exact_products: bool) -> _Rung:
        return _Rung(self._expanded(self.facts), self.deadline, self.session, exact_products=exact_products)

    def _expanded(self, terms: Iterable[Term]) -> list[Term]:
        return [expand(term, self.session.expanded) for term in terms]

    def _merge(
        self, rung: _Rung, wanted: list[Term], twins: Sequence[tuple[Term, Term]], merges: list[Merge]
    ) -> list[Term]:
        """Replace the second of two twins by the first where ``wanted`` forces them to be equal.

        The equality itself stays among the conditions, so the question does not change.
        """
        replaced: dict[Term, Term] = {}
        pending = list(enumerate(twins))
        while pending:
            rung.push(wanted)
            try:
                merge = self._first_equal(rung, pending, replaced)
            finally:
                rung.pop()
            if merge is None:
                break
            merges.append(merge)
            a, b = merge.first, merge.second
            replaced[b] = a
            memo: dict[Term, Term] = {}
            wanted = [t.eq(a, b), *(t.transform(condition, {b: a}.get, memo) for condition in wanted)]
        return wanted

    def _first_equal(
        self, rung: _Rung, pending: list[tuple[int, tuple[Term, Term]]], replaced: Mapping[Term, Term]
    ) -> Merge | None:
        """The next twins that must be equal under what is pushed; those tried are taken from ``pending``."""
        while pending:
            number, twins = pending.pop(0)
            a, b = as_merged(twins, replaced)
            if a is not b:
                result, lemmas = self._linear(rung, [t.ne(a, b)], self.limits, MERGE_ROUNDS)
                if result.answer is Answer.UNSATISFIABLE:
                    return Merge(number, a, b, lemmas)
        return None

    def _linear(
        self, rung: _Rung, wanted: Sequence[Term], limits: Limits, rounds: int, *, model: bool = False
    ) -> tuple[Result, tuple[Lemma, ...]]:
        """The answer, and with ``explain`` the lemmas at hand if it is ``UNSATISFIABLE``."""
        rung.push(wanted)
        lemmas = 0
        end = self.session.spent + limits.total
        try:
            for _ in range(rounds):
                answer = rung.check(min(limits.linear, max(1, end - self.session.spent)))
                if answer is not Answer.SATISFIABLE:
                    known = rung.lemmas() if self.explain and answer is Answer.UNSATISFIABLE else ()
                    return Result(answer, LINEAR, lemmas=lemmas), known
                new = rung.refine()
                if not new:
                    return Result(answer, LINEAR, rung.model() if model else None, lemmas), ()
                lemmas += new
            return Result(Answer.UNKNOWN, LINEAR, lemmas=lemmas), ()
        finally:
            rung.pop()


def as_merged(twins: tuple[Term, Term], replaced: Mapping[Term, Term]) -> tuple[Term, Term]:
    """Twins as the solver sees them after earlier ones were ``replaced``."""
    a, b = (_replace(expand(term), replaced) for term in twins)
    return a, b


AS_WRITTEN = "as written"
EXAMPLE = "example"
LINEAR = "linear integers"
NONLINEAR = "non-linear integers"

MERGE_ROUNDS = 6
"""Lemma rounds spent on one candidate equality between twins."""

MAX_LEARNED = 64
"""General lemmas kept from one question to the next."""

EAGER_PRODUCTS = 10
"""Up to so many products, all order lemmas are given at once: cheaper than finding them one model at a time."""


def _replace(term: Term, replacements: Mapping[Term, Term]) -> Term:
    if not replacements:
        return term
    return t.transform(term, replacements.get)


class _Rung:
    """One Z3 solver with its encoder; questions are pushed onto the facts and popped again."""

    def __init__(
        self, facts: Sequence[Term], deadline: float | None, session: Session, *, exact_products: bool
    ) -> None:
        self.deadline = deadline
        self.session = session
        self.encoder = session.exact if exact_products else session.congruent
        self.solver = session.solver()
        if not exact_products:
            self.solver.set("arith.nl", False)
        self._asserted: dict[Term, None] = {}
        self._carriers: dict[Term, None] = {}
        self._marks: list[tuple[int, int]] = []
        # Lemmas that earlier questions needed: questions of one kernel are about the same products.
        self._learned: dict[Lemma, None] = {}
        self._known_lemmas: dict[Term, Lemma] = {}
        self._assert(facts)

    def add(self, facts: Sequence[Term]) -> None:
        """Assert ``facts`` below all questions."""
        assert not self._marks, "a question is open"
        self._assert(facts)

    def push(self, conditions: Sequence[Term]) -> None:
        self.solver.push()
        self._marks.append((len(self._asserted), len(self._carriers)))
        self._assert(conditions)
        if not self.encoder.exact_products:
            products = self._products()
            if 0 < len(products) <= EAGER_PRODUCTS:
                self._give([*eager_lemmas(products, self._coefficients()), *distribution_lemmas(products)])
            if products:
                self._give([lemma for lemma in self._learned if self._speaks_of_present_terms(lemma)])

    def _speaks_of_present_terms(self, lemma: Lemma) -> bool:
        return all(carrier in self._carriers for carrier in self.encoder.carriers(lemma.formula))

    def lemmas(self) -> tuple[Lemma, ...]:
        """The lemmas that are asserted now."""
        return tuple(self._known_lemmas[term] for term in self._asserted if term in self._known_lemmas)

    def pop(self) -> None:
        self.solver.pop()
        for table, mark in zip((self._asserted, self._carriers), self._marks.pop(), strict=True):
            for term in list(table)[mark:]:
                del table[term]

    def _give(self, lemmas: Sequence[Lemma]) -> None:
        self._known_lemmas.update((lemma.formula, lemma) for lemma in lemmas)
        self._assert([lemma.formula for lemma in lemmas])

    def _assert(self, conditions: Iterable[Term]) -> None:
        queue = list(conditions)
        while queue:
            condition = queue.pop()
            if condition in self._asserted:
                continue
            self._asserted[condition] = None
            expressions = [self.encoder(condition)]
            for carrier in self.encoder.carriers(condition):
                if carrier not in self._carriers:
                    self._carriers[carrier] = None
                    expressions += self.encoder.facts(carrier)
                    if carrier.kind is Kind.DIV and is_opaque_quotient(carrier):
                        definition = quotient_lemma(carrier)
                        self._known_lemmas[definition.formula] = definition
                        queue.append(definition.formula)
            self.solver.add(*expressions)

    def _products(self) -> dict[Term, tuple[Term, Term]]:
        return {term: split_product(term) for term in self._carriers if term.kind is Kind.PRODUCT}

    def _coefficients(self) -> dict[Term, set[int]]:
        return coefficients_of_products(sub for condition in self._asserted for sub in self.encoder.sums(condition))

    def check(self, limit: int) -> Answer:
        if self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                return Answer.UNKNOWN
            self.solver.set("timeout", int(1000 * left) + 1)
        self.solver.set("rlimit", limit)
        outcome = self.session.check(self.solver)
        if outcome == z3.unsat:
            return Answer.UNSATISFIABLE
        return Answer.SATISFIABLE if outcome == z3.sat else Answer.UNKNOWN

    def refine(self) -> int:
        """Add the lemmas that the current model breaks; the number added."""
        products = self._products()
        if not products:
            return 0
        value = _Valuation(self.solver.model(), self.encoder)
        lemmas = list(dict.fromkeys(violated_lemmas(products, self._coefficients(), value)))
        if len(self._learned) < MAX_LEARNED:
            self._learned.update(dict.fromkeys(lemmas))
        if not lemmas:
            lemmas = list(point_lemmas(products, value))
        self._give(lemmas)
        return len(lemmas)

    def model(self) -> Model:
        model = self.solver.model()

        def read(term: Term) -> Value:
            result = model.eval(self.encoder(term), model_completion=True)
            return bool(z3.is_true(result)) if z3.is_bool(result) else int(result.as_long())

        return Model(
            {term: read(term) for term in self._carriers if term.kind is Kind.VAR},
            {
                (term.function, tuple(read(a) for a in term.args)): read(term)
                for term in self._carriers
                if term.kind is Kind.APPLY
            },
        )


def solver_version() -> str:
    """``z3 5.4.0``."""
    return f"z3 {z3.get_version_string()}"


class _Valuation:
    """Values of integer terms in one model.

    No closure over itself: that would be a cycle, and the model in it would be freed whenever the garbage collector
    runs.  Z3 gives the numbers of freed expressions to new ones and decides by them, so verdicts would depend on it.
    """

    def __init__(self, model: z3.ModelRef, encoder: Encoder) -> None:
        self._model = model
        self._encoder = encoder
        self._known: dict[Term, int] = {}

    def __call__(self, term: Term) -> int:
        if term not in self._known:
            self._known[term] = self._computed(term)
        return self._known[term]

    def _computed(self, term: Term) -> int:
        if term.kind is Kind.SUM:
            constant, parts = t.linear_parts(term)
            return constant + sum(c * self(s) for c, s in parts)
        return int(self._model.eval(self._encoder(term), model_completion=True).as_long())
