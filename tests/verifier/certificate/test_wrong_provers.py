"""Provers that believe too much write certificates that the second solver rejects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from tests.written_kernel import unit_at

from tileverify.contract import terms as t
from tileverify.contract.launch import Apply, KernelUnit, Number
from tileverify.contract.terms import Term
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict
from tileverify.results.codes import Tier
from tileverify.verifier import prover
from tileverify.verifier.certificate.recheck import Rechecking, recheck
from tileverify.verifier.certificate.second_solver import SecondSolver
from tileverify.verifier.obligations import derivation
from tileverify.verifier.obligations.answers import Answer as SolverAnswer
from tileverify.verifier.obligations.answers import Proof, Result
from tileverify.verifier.obligations.lemmas import quotient_lemma
from tileverify.verifier.obligations.simplify import expand
from tileverify.verifier.smt import Solver, tier_solver

RACY = ["racy/permute_swapped.py", "out_of_bounds/grid_too_large.py", "out_of_bounds/negative_index.py"]


def believed(target: str) -> list[tuple[KernelUnit, str]]:
    """The launches of a faulty corpus kernel that the prover under test calls proved, with their certificates."""
    found = []
    for unit in discover([str(ROOT / target)]):
        assert isinstance(unit, KernelUnit)
        result = check_unit(unit, CheckOptions(certificate=True))
        if result.verdict is Verdict.PROVED:
            assert result.certificate is not None
            found.append((unit, result.certificate.text))
    return found


def count_rejected(target: str) -> int:
    rejected = 0
    for unit, text in believed(target):
        found = recheck(text, target, bytecode=unit.bytecode, solver=SecondSolver())
        assert found.derived
        rejected += found.count(Rechecking.REJECTED) > 0
    return rejected


@pytest.mark.parametrize("theory", [Tier.LINEAR, Tier.BIT_VECTORS])
@pytest.mark.parametrize("target", RACY)
def test_a_solver_that_contradicts_everything(target: str, theory: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(believed(target))

    def contradicted(self: Solver, conditions: Iterable[Term], **_: Any) -> Result:
        wanted = tuple(map(expand, conditions))
        proof = Proof(wanted, (), (), theory) if self.explain else None
        answer = SolverAnswer.UNSATISFIABLE if wanted else SolverAnswer.SATISFIABLE
        return Result(answer, theory, proof=proof)

    monkeypatch.setattr(Solver, "decide", contradicted)
    assert len(believed(target)) > before
    assert count_rejected(target) == len(believed(target)) - before


@pytest.mark.parametrize("target", RACY)
def test_a_simplification_that_contradicts_everything(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(believed(target))
    for module in (prover, derivation):
        monkeypatch.setattr(module, "simplify", lambda conditions, facts=frozenset(): None)
    assert len(believed(target)) > before
    assert count_rejected(target) == len(believed(target)) - before


def test_a_lemma_that_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate states its schema instead, so that the proof does not go through."""
    unit = unit_at(ROOT / "showcase/matmul_swizzled.py")
    assert unit.launch.grid is not None
    x, y, z = unit.launch.grid
    one_more = replace(unit, launch=replace(unit.launch, grid=(Apply("+", (x, Number(1))), y, z)))
    assert check_unit(one_more).verdict is Verdict.REFUTED

    honest = quotient_lemma
    monkeypatch.setattr(tier_solver, "quotient_lemma", lambda quotient: replace(honest(quotient), formula=t.FALSE))
    result = check_unit(one_more, CheckOptions(certificate=True))
    assert result.verdict is Verdict.PROVED
    assert result.certificate is not None
    found = recheck(result.certificate.text, "", bytecode=unit.bytecode, solver=SecondSolver(limit=20_000))
    assert found.count(Rechecking.CONFIRMED) < len(found.answers)
