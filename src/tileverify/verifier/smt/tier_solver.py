"""The tiers of the ladder: solvers in one context, with lemmas for products, and questions on words of bits."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import Final

import z3
from z3 import z3core

from ...contract import terms as t
from ...contract.terms import Function, Sort, Symbol, Term, TermKind
from ...contract.terms.bits import OPERATIONS, number_of
from ...contract.terms.evaluate import Value, evaluate
from ..effort import ResourceBudget
from ..obligations.answers import Answer, Limits, Model
from ..obligations.bit_vectors import bit_question
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
from ..obligations.simplify import is_opaque_quotient, known_ranges, split_product
from ..obligations.smtlib import Vocabulary
from .encode import Encoder

MAX_LEARNED: Final = 64
"""General lemmas kept from one question to the next."""

EAGER_PRODUCTS: Final = 10
"""Up to so many products, all order lemmas are given at once: cheaper than finding them one model at a time."""


class TierSolver:
    """One Z3 solver with its encoder; questions are pushed onto the facts and popped again."""

    def __init__(
        self, facts: Sequence[Term], deadline: float | None, solver_context: SolverContext, *, exact_products: bool
    ) -> None:
        self.deadline = deadline
        self.solver_context = solver_context
        self.encoder = solver_context.exact if exact_products else solver_context.congruent
        self.solver = solver_context.solver(linear=not exact_products)
        self._asserted: dict[Term, None] = {}
        self._carriers: dict[Term, None] = {}
        self._marks: list[tuple[int, int]] = []
        # Lemmas that earlier questions needed: questions of one kernel are about the same products.
        self._learned: dict[Lemma, None] = {}
        self._known_lemmas: dict[Term, Lemma] = {}
        self._model: z3.ModelRef | None = None  # of the last check, once somebody read it
        self._ranges = known_ranges(frozenset(t.conjuncts(*facts)))
        self._assert(facts)

    def add(self, facts: Sequence[Term]) -> None:
        """Assert ``facts`` below all questions."""
        assert not self._marks, "a question is open"
        self._ranges = known_ranges(frozenset(t.conjuncts(*self._asserted, *facts)))
        self._assert(facts)

    def push(self, conditions: Sequence[Term], lemmas: Sequence[Lemma] = ()) -> None:
        self.solver.push()
        self._marks.append((len(self._asserted), len(self._carriers)))
        self._assert(conditions)
        self._give(lemmas)
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
        lemmas, end = 0, self.solver_context.spent + limits.total
        for _ in range(limits.rounds):
            answer = self.check(min(limits.linear, max(1, end - self.solver_context.spent)))
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
        if self.solver_context.effort.is_spent:
            return Answer.UNKNOWN
        self._model = None
        self.solver.set("rlimit", min(limit, self.solver_context.effort.left))
        outcome = self.solver_context.check(self.solver)
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
        lemmas = list(dict.fromkeys(violated_lemmas(products, self._coefficients(), value, self._ranges)))
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


# ------------------------------------------------------------------------------------------------------- shared context
# The solver context that questions about one kernel share, with its translated terms.


class SolverContext:
    """One context, created by the first question, with a translation for each reading of products.

    A context belongs to one kernel: earlier questions influence the solver, so another kernel's could change a verdict.
    It costs as much as a dozen easy questions.  ``seed``: tests vary it to show that no verdict depends on luck.
    ``models``: for small models, not quick answers.  ``effort``: the budget that all contexts of one kernel share.
    """

    def __init__(self, seed: int = 0, *, models: bool = False, effort: ResourceBudget | None = None) -> None:
        self.seed = seed
        self.models = models
        self.effort = effort or ResourceBudget()
        self._spent_here = 0
        self._spent_elsewhere = 0
        self.expanded: dict[Term, Term] = {}  # the memo of `obligations.arithmetic.expand`

    def fresh(self, *, models: bool = False) -> SolverContext:
        """A fresh context for the same kernel, without influence of earlier questions."""
        other = SolverContext(self.seed, models=models, effort=self.effort)
        other.expanded = self.expanded  # depends on terms alone
        return other

    @contextmanager
    def another(self) -> Iterator[SolverContext]:
        """`anew`, for a question of this solver_context: its spending counts here, too."""
        other = self.fresh(models=self.models)
        try:
            yield other
        finally:
            self._spent_elsewhere += other.spent

    @cached_property
    def context(self) -> z3.Context:
        return z3.Context()

    @cached_property
    def congruent(self) -> Encoder:
        """Products and quotients are congruent functions."""
        return Encoder(self.context)

    @cached_property
    def exact(self) -> Encoder:
        """Products and quotients are the solver's own."""
        return Encoder(self.context, exact_products=True)

    def solver(self, *, linear: bool) -> z3.Solver:
        """A solver, of linear integers only or with its own non-linear arithmetic."""
        solver = z3.SimpleSolver(ctx=self.context)
        solver.set("random_seed", self.seed)
        if linear:
            solver.set("arith.nl", False)
            if not self.models:
                # The older of Z3's two simplex solvers: four times as fast on linear integers, and fewer unknowns.
                # The newer one finds smaller models, which replay faster.
                solver.set("arith.solver", 2)
        return solver

    @property
    def spent(self) -> int:
        """Resource units that all solvers of this solver_context have used."""
        return self._spent_here + self._spent_elsewhere

    def charge(self, units: int) -> None:
        """Add resource units that another context used for this solver_context."""
        self._spent_elsewhere += units
        self.effort.charge(units)

    def check(self, solver: z3.Solver) -> z3.CheckSatResult:
        """``solver.check``, counted in ``spent``."""
        outcome = solver.check()
        before = self._spent_here
        self._spent_here = _resource_count(solver) or before
        self.effort.charge(self._spent_here - before)
        return outcome


def _resource_count(solver: z3.Solver) -> int | None:
    """The resource count after the last check.

    Through the C interface: the Python wrapper would copy all statistics first.
    """
    context = solver.ctx.ref()
    statistics = z3core.Z3_solver_get_statistics(context, solver.solver)
    z3core.Z3_stats_inc_ref(context, statistics)
    try:
        for place in reversed(range(z3core.Z3_stats_size(context, statistics))):  # the counter stands near the end
            if z3core.Z3_stats_get_key(context, statistics, place) == "rlimit count":
                return int(z3core.Z3_stats_get_uint_value(context, statistics, place))
        return None
    finally:
        z3core.Z3_stats_dec_ref(context, statistics)


# ---------------------------------------------------------------------------------------------------------- put scripts
# SMT-LIB scripts for Z3: whether a certificate's facts and lemmas suffice, and which of them are needed.


def core_of_last(script: str, count: int, *, linear: bool, limit: int) -> tuple[int, ...] | None:
    """The positions, from 0, of the last ``count`` assertions that a contradiction needs; ``None`` without one.

    ``limit``: in Z3's resource units.  ``linear``: without the solver's own reasoning about products.
    """
    context = z3.Context()
    assertions = list(z3.parse_smt2_string(script, ctx=context))
    solver = z3.SimpleSolver(ctx=context)
    solver.set("random_seed", 0)
    solver.set("unsat_core", True)
    solver.set("rlimit", limit)
    if linear:
        solver.set("arith.nl", False)
    given = len(assertions) - count
    solver.add(*assertions[:given])
    for position, assertion in enumerate(assertions[given:]):
        solver.assert_and_track(assertion, z3.Bool(f"last{position}", context))
    if solver.check() != z3.unsat:
        return None
    needed = {str(label) for label in solver.unsat_core()}
    return tuple(position for position in range(count) if f"last{position}" in needed)


# ------------------------------------------------------------------------------------------------------- on bit vectors
# The last tier: the whole question on words of bits (`..bit_vectors`).
#
# A contradiction on words is one of integers.  A model is a model if facts and conditions hold in it as `evaluate`
# reads them; that also settles what was left out because it has no word.


class BitVectorSolver:
    """One question of ``facts`` and ``conditions``, in a context of its own."""

    def __init__(self, facts: Sequence[Term], conditions: Sequence[Term], seed: int) -> None:
        self._asked = (*facts, *conditions)
        self._vocabulary = Vocabulary()
        texts = [self._vocabulary.write(term) for term in self._asked]
        question = bit_question(self._vocabulary.symbols, self._vocabulary.definitions, texts)
        self.context = z3.Context()
        self._solver = z3.SimpleSolver(ctx=self.context)
        self._solver.set("random_seed", seed)
        self._solver.add(*z3.parse_smt2_string(question.script, ctx=self.context))
        self.spent = 0

    def settle(self, limit: int, timeout: int | None) -> tuple[Answer, Model | None]:
        """The answer within ``limit`` of Z3's resource units (and ``timeout`` milliseconds), with a model if there is
        one."""
        self._solver.set("rlimit", limit)
        if timeout is not None:
            self._solver.set("timeout", timeout)
        outcome = self._solver.check()
        statistics = self._solver.statistics()
        self.spent = next((int(value) for key, value in statistics if key == "rlimit count"), 0)
        if outcome == z3.unsat:
            return Answer.UNSATISFIABLE, None
        model = self._checked(self._solver.model()) if outcome == z3.sat else None
        return (Answer.UNKNOWN if model is None else Answer.SATISFIABLE), model

    def _checked(self, found: z3.ModelRef) -> Model | None:
        """``found`` as a model of the question, if it is one."""
        reading = _Reading(found, self._vocabulary)
        leaves = dict.fromkeys(chain.from_iterable(t.postorder(term) for term in self._asked))
        variables = {leaf: reading.variable(leaf) for leaf in leaves if leaf.kind is TermKind.VAR}
        memo: dict[Term, Value] = {}
        try:
            holds = all(evaluate(term, variables, reading.application, memo) for term in self._asked)
        except ZeroDivisionError:
            return None
        return Model(variables, reading.applications) if holds else None


class _Reading:
    def __init__(self, model: z3.ModelRef, vocabulary: Vocabulary) -> None:
        self._model, self._vocabulary = model, vocabulary
        self._declared = {each.name(): each for each in model.decls()}
        self.applications: dict[tuple[Function, tuple[Value, ...]], Value] = {}

    def variable(self, term: Term) -> Value:
        return self._value(term.symbol, ())

    def application(self, function: Function, args: tuple[Value, ...]) -> Value:
        key = function, args
        if key not in self.applications:
            self.applications[key] = self._value(function, args)
        return self.applications[key]

    def _value(self, symbol: Symbol | Function, args: tuple[Value, ...]) -> Value:
        declared = self._declared.get(self._vocabulary.symbol(symbol, len(args)).strip("|"))
        if declared is None:  # it does not matter, or has no word
            return False if symbol.sort is Sort.BOOL else _nearest_to_zero(symbol)
        words = [z3.BitVecVal(int(arg), declared.domain(i)) for i, arg in enumerate(args)]
        found = self._model.eval(declared(*words), model_completion=True)
        return z3.is_true(found) if symbol.sort is Sort.BOOL else int(found.as_signed_long())


def _nearest_to_zero(symbol: Symbol | Function) -> int:
    if symbol.low is not None and symbol.low > 0:
        return symbol.low
    return symbol.high if symbol.high is not None and symbol.high < 0 else 0
