"""A look without facts does not wait for how questions on data stay open, and no verdict hangs on that."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from tests.written_kernel import unit_at, written

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict
from tileverify.verifier.abduction.generalised_proof import GeneralisedProof
from tileverify.verifier.attempt import Closed, Open
from tileverify.verifier.budgets import FIRST_LIMITS, LAST_LIMITS, QUICK_REST
from tileverify.verifier.obligations.answers import Limits, Merge
from tileverify.verifier.obligations.fact_use import loaded_values
from tileverify.verifier.obligations.obligations import Obligation
from tileverify.verifier.obligations.prepare import Preparer
from tileverify.verifier.prover import AdaptiveBudget, Prover
from tileverify.verifier.smt import Solver
from tileverify.verifier.smt.tier_solver import TierSolver

Pending: TypeAlias = tuple[int, tuple[Term, Term]]

TWO_SCATTERED: Final = """
import cuda.tile as ct

@ct.kernel
def move(x, idx, y, z, TILE: ct.Constant[int]):
    row = ct.load(idx, (ct.bid(0),), shape=())
    tile = ct.load(x, (ct.bid(0), 0), (1, TILE))
    ct.store(y, (row, 0), tile)
    ct.store(z, (row, 0), tile)
    ct.store(x, (ct.bid(0), 0), tile)
"""

LAUNCH: Final = """
[[launch]]
kernel = "move"
grid = [8]
OBSERVED
args = { x = "f32[8, 32]", idx = "i32[8]", y = "f32[64, 32]", z = "f32[64, 32]", TILE = 32 }
"""


def _checked(folder: Path, observed: str) -> KernelResult:
    unit = unit_at(written(folder, TWO_SCATTERED, LAUNCH.replace("OBSERVED", observed), "made"))
    return check_unit(unit)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Obligation, Limits | None, Closed | Open]]:
    """What quick looks ask, within which limits, and what comes of it."""
    found: list[tuple[Obligation, Limits | None, Closed | Open]] = []
    answer = Prover.answer

    def noted(self: Prover, obligation: Obligation, limits: Limits | None = None) -> Closed | Open:
        answered = answer(self, obligation, limits)
        if self.options.quick and not self.contract.data:
            found.append((obligation, limits, answered))
        return answered

    monkeypatch.setattr(Prover, "answer", noted)
    return found


def test_questions_on_data_are_given_little_once_one_stays_open(
    tmp_path: Path, asked: list[tuple[Obligation, Limits | None, Closed | Open]]
) -> None:
    result = _checked(tmp_path, 'observed = ["range(idx, 1, 63)", "injective(idx)"]')
    assert result.verdict is Verdict.PROVED
    assert result.observed
    limits = [(bool(loaded_values(each.conditions)), within, isinstance(it, Open)) for each, within, it in asked]
    first_open = limits.index((True, None, True))
    assert {within for _, within, _ in limits[: first_open + 1]} == {None}
    behind = limits[first_open + 1 :]
    assert {within for of_data, within, _ in behind if of_data} == {QUICK_REST}
    assert {within for of_data, within, _ in behind if not of_data} == {None}


def test_without_a_recording_everything_is_asked_thoroughly(
    tmp_path: Path, asked: list[tuple[Obligation, Limits | None, Closed | Open]]
) -> None:
    assert _checked(tmp_path, "").verdict is Verdict.UNDECIDED
    assert not asked


def test_integers_are_asked_about_with_patience_in_hasty_looks_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks: set[tuple[bool, type]] = set()
    prepare = Prover.prepare

    def noted(self: Prover, preparer: Preparer | None = None) -> None:
        prepare(self, preparer)
        if preparer is None:
            asks.add((self.options.quick, type(self.kernel.preparer.solver)))

    monkeypatch.setattr(Prover, "prepare", noted)
    _checked(tmp_path, 'observed = ["range(idx, 0, 8)"]')  # rows may be alike: no facts do, and all is looked at
    assert asks == {(True, AdaptiveBudget), (False, Solver)}


def test_products_have_no_last_word_in_a_contract_for_any_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str | None, Limits | None]] = []
    prove = Prover.prove

    def noted(self: Prover, obligation: Obligation, limits: Limits | None = None) -> Closed | Open:
        asked.append((self.attempt.holds_for, limits))
        return Open(obligation, (), unknown=True) if limits is FIRST_LIMITS else prove(self, obligation, limits)

    monkeypatch.setattr(Prover, "prove", noted)
    monkeypatch.setattr(GeneralisedProof, "_close", lambda self, opened, miner: False)
    _checked(tmp_path, 'data = ["injective(idx)", "range(idx, 0, 64)"]')
    assert any(limits is FIRST_LIMITS for holds_for, limits in asked if holds_for == "any")
    assert {holds_for for holds_for, limits in asked if limits is LAST_LIMITS} == {"sizes"}


def test_limits_may_leave_twins_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_for: list[int] = []
    first_equal = Solver._first_equal

    def noted(self: Solver, tier: TierSolver, pending: list[Pending], *rest: Any) -> Merge | None:
        looked_for.append(len(pending))
        return first_equal(self, tier, pending, *rest)

    monkeypatch.setattr(Solver, "_first_equal", noted)
    m, n, k = (t.var(name, Scope.LAUNCH, 0) for name in ("m", "n", "k"))
    asked = [t.lt(t.mul(m, n), t.mul(m, k)), t.lt(t.ONE, m)]
    for merges, expected in ((True, 1), (False, 0)):
        looked_for.clear()
        Solver([]).decide(asked, twins=[(n, k)], limits=Limits(nonlinear=0, bits=0, merges=merges))
        assert len(looked_for) == expected
