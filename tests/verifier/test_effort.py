"""The account that pays for a whole proof: what it buys, what is said when it is spent, and who may spend it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tileverify.contract.launch import KernelUnit
from tileverify.contract.terms import Scope, const, lt, var
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.options import UnderWay
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict
from tileverify.verifier.abduction.generalised_proof import GeneralisedProof
from tileverify.verifier.abduction.generalising import Level
from tileverify.verifier.budgets import KERNEL_EFFORT, QUESTION, SOON_SHARE, WIDER_SHARE
from tileverify.verifier.effort import ResourceBudget
from tileverify.verifier.obligations.answers import Answer
from tileverify.verifier.smt import Solver, SolverContext

N = var("n", Scope.LAUNCH, 0, 100)


def test_what_is_spent_is_told_by_stage() -> None:
    effort = ResourceBudget(100)
    with effort.at("clauses"):
        effort.charge(30)
    with effort.at("a witness"):
        effort.charge(50)
    assert (effort.spent, effort.left, effort.is_spent) == (80, 20, False)
    assert effort.most_expensive() == ("a witness", None, 50)
    effort.charge(20)
    assert effort.is_spent


def test_a_share_ends_before_the_account_does() -> None:
    effort = ResourceBudget(800)
    effort.charge(100)
    with effort.share(8):
        effort.charge(99)
        assert (effort.left, effort.is_spent) == (1, False)
        with effort.share(2):  # a part of it is no more than what is left of it
            assert effort.left == 1
        effort.charge(1)
        assert effort.is_spent
    assert (effort.left, effort.is_spent) == (600, False)


def test_a_spent_account_has_no_answers() -> None:
    effort = ResourceBudget(QUESTION)
    solver = Solver([], solver_context=SolverContext(effort=effort))
    assert solver.decide([lt(N, const(0))]).answer is Answer.UNSATISFIABLE
    assert effort.is_spent
    assert solver.decide([lt(N, const(-1))]).answer is Answer.UNKNOWN


def test_what_the_account_could_not_pay_for_is_asked_again() -> None:
    effort = ResourceBudget(1_000_000)
    solver = Solver([], solver_context=SolverContext(effort=effort))
    question = [lt(N, const(0))]
    with solver.remembering():
        with effort.share(1_000_000):
            effort.charge(1)
            assert solver.decide(question).answer is Answer.UNKNOWN
        assert solver.decide(question).answer is Answer.UNSATISFIABLE


def test_an_answer_is_known_until_there_are_more_facts() -> None:
    solver = Solver([])
    question = [lt(N, const(50))]
    with solver.remembering():
        assert solver.decide(question).answer is Answer.SATISFIABLE
        paid = solver.solver_context.effort.spent
        assert solver.decide(question).answer is Answer.SATISFIABLE
        assert solver.solver_context.effort.spent == paid  # not asked again
        solver.assume([lt(const(60), N)])
        assert solver.decide(question).answer is Answer.UNSATISFIABLE


def launch(folder: str, kernel: str) -> KernelUnit:
    """The first launch of a corpus kernel."""
    (path,) = Path(ROOT, folder).glob(f"{kernel}.py")
    return next(unit for unit in discover([str(path)]) if isinstance(unit, KernelUnit))


@pytest.fixture(scope="module")
def unit() -> KernelUnit:
    return launch("race_free", "persistent_matmul")


def units_spent(unit: KernelUnit, effort: float = 1) -> tuple[KernelResult, ResourceBudget]:
    under_way = UnderWay()
    result = check_unit(unit, CheckOptions(effort=effort, under_way=under_way))
    assert under_way.effort is not None
    assert under_way.words() == ""  # nothing is under way any more
    return result, under_way.effort


def test_a_small_account_ends_undecided_and_says_where_it_went(unit: KernelUnit) -> None:
    whole, paid = units_spent(unit)
    assert whole.verdict is Verdict.PROVED
    assert paid.spent < paid.most // 10
    few = paid.spent // 4 / KERNEL_EFFORT
    result, effort = units_spent(unit, few)
    assert result.verdict is Verdict.UNDECIDED
    told = [finding for finding in result.findings if finding.code == "TV903"]
    assert told
    assert all(finding.obligation for finding in told)
    assert f"the effort of {effort.most:,} units for this kernel's proof is spent" in told[0].message
    stage, _, units = effort.most_expensive()
    assert f"{units:,} of it on {stage}" in told[0].message
    assert f"(--effort {2 * few:.3g} allows twice as much)" in told[0].message
    again, _ = units_spent(unit, few)
    assert replace(again, time_ms=result.time_ms) == result  # the same on every machine


@pytest.fixture(scope="module")
def of_numbers(tmp_path_factory: pytest.TempPathFactory) -> KernelUnit:
    """A launch of numbers, which is proved for any sizes."""
    folder = tmp_path_factory.mktemp("numbers")
    (folder / "k.py").write_text(
        "import cuda.tile as ct\n\n@ct.kernel\ndef copy(x, out):\n"
        "    i = ct.bid(0) * 128 + ct.arange(128, dtype=ct.int32)\n"
        "    ct.scatter(out, (i * 3 % 1280,), ct.gather(x, (i,), padding_value=0))\n"
    )
    (folder / "k.tileverify.toml").write_text(
        '[[launch]]\nkernel = "copy"\ngrid = [10]\nargs = { x = "f32[1200]", out = "f32[1200]" }\n'
    )
    return next(unit for unit in discover([str(folder / "k.py")]) if isinstance(unit, KernelUnit))


def test_a_wider_contract_takes_no_more_than_its_part(of_numbers: KernelUnit, monkeypatch: pytest.MonkeyPatch) -> None:
    """However greedy it is, the launch's own proof is left what it takes."""
    plain, _ = units_spent(of_numbers)
    assert plain.holds_for == "any"
    left: list[int] = []

    def greedy(self: GeneralisedProof, level: Level) -> None:
        effort = self.prover.effort
        left.append(effort.left)
        effort.charge(effort.left)

    monkeypatch.setattr(GeneralisedProof, "attempt", greedy)
    result, effort = units_spent(of_numbers)
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, "launch")
    # The second is tried before the launch's own proof, for a short while, and once more when that has worked out.
    assert left == [effort.most // share for share in (WIDER_SHARE, SOON_SHARE, WIDER_SHARE)]


def test_wider_contracts_leave_a_recorded_launch_what_its_own_proof_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are tried first once facts are chosen: these say that the launch's own proof works out."""
    (tmp_path / "k.py").write_text(
        "import cuda.tile as ct\n\n@ct.kernel\ndef pick(x, idx, y):\n"
        "    ct.store(y, (ct.load(idx, (ct.bid(0),), shape=()),), ct.load(x, (ct.bid(0),), (16,)))\n"
    )
    (tmp_path / "k.tileverify.toml").write_text(
        '[[launch]]\nkernel = "pick"\ngrid = [8]\nobserved = ["range(idx, 0, 8)", "injective(idx)"]\n'
        'args = { x = "f32[128]", idx = "i32[8]", y = "f32[128]" }\n'
    )
    unit = next(unit for unit in discover([str(tmp_path / "k.py")]) if isinstance(unit, KernelUnit))
    plain, _ = units_spent(unit)
    assert (plain.verdict, plain.holds_for) == (Verdict.PROVED, "any")
    left: list[tuple[str, int]] = []

    def greedy(self: GeneralisedProof, level: Level) -> None:
        effort = self.prover.effort
        left.append((level.holds_for, effort.left))
        effort.charge(effort.left)

    monkeypatch.setattr(GeneralisedProof, "attempt", greedy)
    result, effort = units_spent(unit)
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, "launch")
    assert left == [("any", effort.most // WIDER_SHARE), ("sizes", effort.most // WIDER_SHARE)]


def test_no_wider_contract_is_tried_after_a_proof_that_ended_without_an_answer(
    of_numbers: KernelUnit, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(GeneralisedProof, "attempt", lambda self, level: tried.append(level.holds_for))
    result, _ = units_spent(of_numbers)
    assert (result.verdict, tried) == (Verdict.PROVED, ["any", "sizes"])
    tried.clear()
    result, effort = units_spent(of_numbers, effort=1 / KERNEL_EFFORT)
    assert (result.verdict, tried) == (Verdict.UNDECIDED, ["any", "sizes"])  # which hold the launch, so they come first
    assert effort.is_spent


def test_people_are_told_what_a_kernel_is_at(unit: KernelUnit, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, seen = UnderWay(), list[str]()
    charge = ResourceBudget.charge

    def told(self: ResourceBudget, units: int) -> None:
        charge(self, units)
        seen.append(under_way.words())

    monkeypatch.setattr(ResourceBudget, "charge", told)
    assert check_unit(unit, CheckOptions(under_way=under_way)).verdict is Verdict.PROVED
    assert (under_way.words(), under_way.seconds) == ("", 0)
    about_stores = [words for words in seen if "TV101, the store of" in words]
    assert any(re.search(r"\w+\.py::\w+ \[.*\]: \d s, the proof, TV101, the store of `\w+` at line \d+$", words)
               for words in about_stores)  # fmt: skip
