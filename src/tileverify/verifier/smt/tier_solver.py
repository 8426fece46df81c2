"""One tier of the ladder: a solver with its translation of terms, and lemmas where products are congruent functions."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import z3

from ...contract import terms as t
from ...contract.terms import Function, Sort, Term, TermKind
from ...contract.terms.bits import OPERATIONS, number_of
from ...contract.terms.evaluate import Value
from ..obligations.answers import Answer, Limits, Model
from ..obligations.lemmas import (
    Lemma,
    bit_lemmas,
    coefficients_of_products,
    distribution_lemmas,
    eager_lemmas,
    point_lemmas,
    quotient_lemma,
    violated_lemmas,
)
from ..obligations.simplify import is_opaque_quotient, split_product
from .encode import Encoder
from .shared_context import Session

MAX_LEARNED: Final = 64
"""General lemmas kept from one question to the next."""

EAGER_PRODUCTS: Final = 10
"""Up to so many products, all order lemmas are given at once: cheaper than finding them one model at a time."""


class TierSolver:
    """One Z3 solver with its encoder; questions are pushed onto the facts and popped again."""

    def __init__(
        self, facts: Sequence[Term], deadline: float | None, session: Session, *, exact_products: bool
    ) -> None:
        self.deadline = deadline
        self.session = session
        self.encoder = session.exact if exact_products else session.congruent
        self.solver = session.solver(linear=not exact_products)
        self._asserted: dict[Term, None] = {}
        self._carriers: dict[Term, None] = {}
        self._marks: list[tuple[int, int]] = []
        # Lemmas that earlier questions needed: questions of one kernel are about the same products.
        self._learned: dict[Lemma, None] = {}
        self._known_lemmas: dict[Term, Lemma] = {}
        self._model: z3.ModelRef | None = None  # of the last check, once somebody read it
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

    def settle(self, limits: Limits, satisfied: Callable[[], bool] = lambda: False) -> tuple[Answer, int]:
        """The answer to what is pushed, once lemmas have made products exact, and the number of those lemmas.

        ``satisfied``: whether the numbers of the current model are an answer already, its products aside.
        """
        lemmas, end = 0, self.session.spent + limits.total
        for _ in range(limits.rounds):
            answer = self.check(min(limits.linear, max(1, end - self.session.spent)))
            if answer is not Answer.SATISFIABLE or satisfied():
                return answer, lemmas
            new = self.refine()
            if not new:
                return (answer if self._bits_are_right() else Answer.UNKNOWN), lemmas
            lemmas += new
        return Answer.UNKNOWN, lemmas

    def _speaks_of_present_terms(self, lemma: Lemma) -> bool:
        return all(carrier in self._carriers for carrier in self.encoder.carriers(lemma.formula))

    def lemmas(self) -> tuple[Lemma, ...]:
        """The lemmas that are asserted now."""
        return tuple(self._known_lemmas[term] for term in self._asserted if term in self._known_lemmas)

    def pop(self) -> None:
        self._model = None
        self.solver.pop()
        for table, mark in zip((self._asserted, self._carriers), self._marks.pop(), strict=True):
            for term in list(table)[mark:]:
                del table[term]

    def _give(self, lemmas: Sequence[Lemma]) -> None:
        self._known_lemmas.update((lemma.formula, lemma) for lemma in lemmas)
        self._assert([lemma.formula for lemma in lemmas])

    def _assert(self, conditions: Iterable[Term]) -> None:
        queue, encoder = list(conditions), self.encoder
        while queue:
            condition = queue.pop()
            if condition in self._asserted:
                continue
            self._asserted[condition] = None
            expressions = [encoder(condition)]
            for carrier in encoder.carriers(condition):
                if carrier not in self._carriers:
                    self._carriers[carrier] = None
                    expressions += encoder.facts(carrier)
                    if carrier.kind is TermKind.DIV and is_opaque_quotient(carrier):
                        definition = quotient_lemma(carrier)
                        self._known_lemmas[definition.formula] = definition
                        queue.append(definition.formula)
                    elif carrier.kind in OPERATIONS and not encoder.exact_products:
                        known = {lemma.formula: lemma for lemma in bit_lemmas(carrier, self._operations())}
                        self._known_lemmas.update(known)
                        queue += known
            for expression in expressions:
                encoder.made.constrain(self.solver, expression)

    def _products(self) -> dict[Term, tuple[Term, Term]]:
        return {term: split_product(term) for term in self._carriers if term.kind is TermKind.PRODUCT}

    def _operations(self) -> list[Term]:
        return [term for term in self._carriers if term.kind in OPERATIONS]

    def _bits_are_right(self) -> bool:
        """Whether operations on bits have their values in the current model: nothing but lemmas speaks of them."""
        operations = self._operations()
        if not operations:
            return True
        value = _Valuation(self._current_model(), self.encoder)
        return all(value(term) == number_of(term.kind, value(term.args[0]), value(term.args[1])) for term in operations)

    def _coefficients(self) -> dict[Term, set[int]]:
        encoder = self.encoder
        return coefficients_of_products(
            each for condition in self._asserted for each in encoder.coefficients(condition)
        )

    def check(self, limit: int) -> Answer:
        if self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                return Answer.UNKNOWN
            self.solver.set("timeout", int(1000 * left) + 1)
        if self.session.effort.is_spent:
            return Answer.UNKNOWN
        self._model = None
        self.solver.set("rlimit", min(limit, self.session.effort.left))
        outcome = self.session.check(self.solver)
        if outcome == z3.unsat:
            return Answer.UNSATISFIABLE
        return Answer.SATISFIABLE if outcome == z3.sat else Answer.UNKNOWN

    def check_exactly(self, limit: int) -> Answer:
        """`check`, where products are the solver's own: a model must have the operations on bits right, too."""
        answer = self.check(limit)
        return Answer.UNKNOWN if answer is Answer.SATISFIABLE and not self._bits_are_right() else answer

    def refine(self) -> int:
        """Add the lemmas that the current model breaks; the number added."""
        products = self._products()
        if not products:
            return 0
        value = _Valuation(self._current_model(), self.encoder)
        lemmas = list(dict.fromkeys(violated_lemmas(products, self._coefficients(), value)))
        if len(self._learned) < MAX_LEARNED:
            self._learned.update(dict.fromkeys(lemmas))
        if not lemmas:
            lemmas = list(point_lemmas(products, value))
        self._give(lemmas)
        return len(lemmas)

    def _current_model(self) -> z3.ModelRef:
        """What the last check found, which takes the solver as long as an easy check."""
        if self._model is None:
            self._model = self.solver.model()
        return self._model

    def numbers(self) -> ModelNumbers:
        """What the current model says of symbols; readable until the next check."""
        return ModelNumbers(self._current_model(), self.encoder, self._carriers)

    def model(self) -> Model:
        numbers = self.numbers()
        variables = {term: numbers.read(term) for term in self._carriers if term.kind is TermKind.VAR}
        return Model(variables, numbers.results())


class ModelNumbers:
    """The values of variables and applications in one model, each read when it is asked for."""

    def __init__(self, model: z3.ModelRef, encoder: Encoder, symbols: Collection[Term]) -> None:
        self._model, self._encoder, self._symbols = model, encoder, symbols

    def read(self, term: Term) -> Value:
        made = self._encoder.made
        value = made.truth_in if term.sort is Sort.BOOL else made.number_in
        return value(self._model, self._encoder(term))

    def variable(self, variable: Term) -> Value | None:
        """The value of a variable that the question speaks of."""
        return self.read(variable) if variable in self._symbols else None

    def results(self) -> dict[tuple[Function, tuple[Value, ...]], Value]:
        """What functions give for the arguments in the question."""
        applications = (term for term in self._symbols if term.kind is TermKind.APPLY)
        return {(term.function, tuple(map(self.read, term.args))): self.read(term) for term in applications}


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
        if term.kind is TermKind.SUM:
            constant, parts = t.linear_parts(term)
            return constant + sum(c * self(s) for c, s in parts)
        return self._encoder.made.number_in(self._model, self._encoder(term))
