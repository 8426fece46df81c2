"""Each attempt at a kernel has a solver context of its own: what another one asked, and when it goes, decides nothing.

Z3 gives the numbers of freed expressions to new ones, and tries first what has a small number.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.written_kernel import unit_at, written

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict
from tileverify.verifier.attempt import Attempt
from tileverify.verifier.budgets import QUESTION
from tileverify.verifier.obligations.answers import Answer, Limits
from tileverify.verifier.prover import Prover
from tileverify.verifier.smt import Solver, SolverContext
from tileverify.verifier.smt.tier_solver import TierSolver

OBSERVED = """
import cuda.tile as ct

@ct.kernel
def pick(x, idx, y):
    ct.store(y, (ct.load(idx, (ct.bid(0),), shape=()),), ct.load(x, (ct.bid(0),), (16,)))
"""
SPEC = """
[[launch]]
kernel = "pick"
grid = [8]
observed = ["range(idx, 0, 8)", "injective(idx)"]
args = { x = "f32[128]", idx = "i32[8]", y = "f32[128]" }
"""


def test_attempts_at_a_recorded_launch_share_no_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = unit_at(written(tmp_path, OBSERVED, SPEC, "k"))
    solver_contexts, begin = list[SolverContext](), Prover.of

    def noted(attempt: Attempt, solver_context: SolverContext) -> Prover:
        prover = begin(attempt, solver_context)
        solver_contexts.append(prover.solver_context)
        return prover

    monkeypatch.setattr(Prover, "of", noted)
    assert check_unit(unit).verdict is Verdict.PROVED
    assert len(solver_contexts) > 2
    assert len({id(solver_context) for solver_context in solver_contexts}) == len(solver_contexts)


def test_the_last_patient_attempt_at_a_question_has_another_context(monkeypatch: pytest.MonkeyPatch) -> None:
    solver_contexts, begin = list[SolverContext](), TierSolver.__init__

    def noted(
        self: TierSolver,
        facts: Sequence[t.Term],
        deadline: float | None,
        solver_context: SolverContext,
        *,
        exact_products: bool,
    ) -> None:
        solver_contexts.append(solver_context)
        begin(self, facts, deadline, solver_context, exact_products=exact_products)

    monkeypatch.setattr(TierSolver, "__init__", noted)
    m, n = (t.var(name, Scope.LAUNCH, 0, 100) for name in "mn")
    little = Limits(linear=1, nonlinear=1, rounds=1, total=1)
    solver = Solver([], little)
    found = solver.decide([t.lt(t.const(7), t.mul(m, n)), t.lt(t.mul(m, n), t.add(m, n))], twins=[(m, n)], model=True)
    assert found.answer is Answer.UNKNOWN
    first, exact, patient = solver_contexts
    assert first is exact is solver.solver_context
    assert patient.context is not solver.solver_context.context


def test_what_a_question_spends_elsewhere_is_spent_here_once() -> None:
    solver_context = SolverContext()
    size = t.var("n", Scope.LAUNCH, 0, 100)
    with solver_context.another() as other:
        assert other.context is not solver_context.context
        found = Solver([t.lt(t.const(5), size)], solver_context=other).decide([t.lt(size, t.const(3))], model=True)
        assert found.answer is Answer.UNSATISFIABLE
        product = t.mul(size, t.var("m", Scope.LAUNCH, 0, 100))
        assert (
            Solver([], solver_context=other).decide([t.lt(t.const(7), product)], model=True).answer
            is Answer.SATISFIABLE
        )
        assert solver_context.spent == 0
    assert solver_context.spent == other.spent > 0
    assert solver_context.effort is other.effort
    assert solver_context.effort.spent == solver_context.spent + 2 * QUESTION


def test_a_model_is_that_of_the_last_check() -> None:
    x = t.var("x", Scope.LAUNCH, 0, 100)
    tier = TierSolver([t.le(x, t.const(50))], None, SolverContext(), exact_products=False)
    seen = []
    for low in (3, 20, 40):
        tier.push([t.lt(t.const(low), x)])
        assert tier.check(100_000) is Answer.SATISFIABLE
        seen.append(tier.model().variables[x])
        assert tier.numbers().variable(x) == seen[-1]
    assert all(low < value <= 50 for low, value in zip((3, 20, 40), seen, strict=True))
    tier.pop()
    assert tier.check(100_000) is Answer.SATISFIABLE
    assert 20 < int(tier.model().variables[x]) <= 50
