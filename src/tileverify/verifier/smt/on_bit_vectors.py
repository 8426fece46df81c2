"""The last tier: the whole question on words of bits (`..bit_vectors`).

A contradiction on words is one of integers.  A model is a model if facts and conditions hold in it as `evaluate` reads
them; that also settles what was left out because it has no word.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import z3

from ...contract import terms as t
from ...contract.terms import Function, Sort, Symbol, Term, TermKind
from ...contract.terms.evaluate import Value, evaluate
from ..obligations.answers import Answer, Model
from ..obligations.bit_vectors import bit_question
from ..obligations.smtlib import Vocabulary


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
