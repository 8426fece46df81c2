"""Launches near the recorded one that show a search for clauses to be in vain.

A clause of a contract for any launch must hold of the recorded launch, and the search draws it from a known list.  A
launch that satisfies the *whole* list, and in which the obligation fails, fails under every choice from it.  So one
question about numbers answers for all choices.  It proves nothing: it only ends a search that could not succeed.

Example: a kernel was compiled for 3 heads.  No clause of the list says ``x.shape[2] == 3``, so the launch with one
head in each array, strides to match, satisfies the list, and the kernel leaves the array in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from ...contract import terms as t
from ...contract.terms import Term, TermKind
from ...contract.terms.evaluate import Value, evaluate
from ...contract.variables import GRID
from ..budgets import NEAR_LIMITS
from ..obligations.answers import Answer
from ..prover import Prover
from ..smt import Solver, SolverContext
from .generalising import array_part

Numbers: TypeAlias = Mapping[Term, int]

DIVISORS: Final = (1, 2, 5)
"""Beside a size of 1, sizes that are also arguments shrink by these: some clauses ask for a tile that is not full, and
then fewer blocks allow fewer elements only."""


@dataclass(frozen=True)
class NearLaunches:
    """``own``: the numbers of the recorded launch."""

    prover: Prover
    own: Numbers

    def refute(self, conditions: Sequence[Term], clauses: Sequence[Term]) -> bool:
        """Whether one of these launches satisfies the prover's facts, all ``clauses`` and ``conditions``.

        The recorded launch satisfies ``clauses``.
        """
        limits = [[each.args[1] for each in clauses if _limits(each, axis)] for axis in GRID]
        for sizes in self._sizes(frozenset().union(*(condition.free for condition in conditions))):
            memo: dict[Term, Value] = {}
            grid = {
                axis: min((int(evaluate(limit, sizes, None, memo)) for limit in found), default=sizes[axis])
                for axis, found in zip(GRID, limits, strict=True)
            }
            launch = {**sizes, **grid}
            memo.update(launch)
            if all(_holds(each, launch, memo) for each in clauses) and self._is_faulty(launch, conditions, memo):
                return True
        return False

    def _sizes(self, mentioned: Collection[Term]) -> Iterator[Numbers]:
        """The recorded numbers with every size of one value set to 1, and the strides that follow; without the grid.

        All numbers of one value change together: clauses say that they are equal.  One of them is ``mentioned``, or
        the launch is no other one to the question.  Sizes of inner dimensions come first: they are compiled in.
        """
        parts = [(*array_part(variable)[1:], number) for variable, number in self.own.items()]
        dims = {number: dim for part, dim, number in parts if part == "shape" and number > 1}
        passed = {number for part, _, number in parts if not part} & dims.keys()
        for value in sorted(dims.keys() & {self.own.get(each) for each in mentioned}, key=lambda size: -dims[size]):
            for divisor in DIVISORS:
                fewer = {size: size // divisor for size in passed if size >= 2 * divisor}
                changed = self._with_strides({**fewer, value: 1})
                if changed is not None:
                    yield changed

    def _with_strides(self, changed: dict[int, int]) -> Numbers | None:
        """The recorded numbers with others in place of those that ``changed``, and with strides to match; ``None`` if
        two strides of one value would differ then."""
        for stride, size, inner in self._contiguous:
            before, count, step = self.own[stride], self.own[size], self.own[inner]
            after = changed.get(count, count) * changed.get(step, step)
            if changed.setdefault(before, after) != after:
                return None
        return {variable: changed.get(number, number) for variable, number in self.own.items()}

    @cached_property
    def _contiguous(self) -> list[tuple[Term, Term, Term]]:
        """Strides that are the product of a size and the next stride, with these; the innermost first."""
        by_name = {variable.symbol.name: variable for variable in self.own}
        found = []
        for stride in sorted(self.own, key=lambda each: each.symbol.name, reverse=True):
            array, part, dim = array_part(stride)
            size, inner = (by_name.get(f"{array}.{each}[{dim + 1}]") for each in ("shape", "strides"))
            if part != "strides" or size is None or inner is None:
                continue
            if 1 < self.own[stride] == self.own[size] * self.own[inner]:
                found.append((stride, size, inner))
        return found

    @cached_property
    def _solver_context(self) -> SolverContext:
        """Of all these questions: the proof's own answers must not depend on them."""
        return self.prover.solver_context.fresh()

    def _is_faulty(self, launch: Numbers, conditions: Sequence[Term], memo: dict[Term, Value]) -> bool:
        known, others = self._facts
        if not all(_holds(fact, launch, memo) for fact in known):
            return False
        numbers = {variable: t.const(value) for variable, value in launch.items()}
        facts = [t.substitute(fact, numbers) for fact in others]
        asked = [t.substitute(each, numbers) for each in conditions]
        solver = Solver(facts, NEAR_LIMITS, self.prover.solver.deadline, solver_context=self._solver_context)
        return solver.decide(asked).answer is Answer.SATISFIABLE

    @property
    def _facts(self) -> tuple[list[Term], list[Term]]:
        """Those that numbers decide, and those on blocks and contents."""
        known = [fact for fact in self.prover.facts if fact.free <= self.own.keys()]
        return known, [fact for fact in self.prover.facts if not fact.free <= self.own.keys()]


def _limits(clause: Term, axis: Term) -> bool:
    return clause.kind is TermKind.LE and clause.args[0] is axis


def _holds(condition: Term, launch: Numbers, memo: dict[Term, Value]) -> bool:
    try:
        return bool(evaluate(condition, launch, None, memo))
    except ZeroDivisionError:
        return False
