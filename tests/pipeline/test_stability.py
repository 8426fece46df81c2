"""Verdicts under several seeds and limits: what counts as a change, and that a sample of the corpus has none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import CommandLine
from tests.written_kernel import unit_at

from tileverify.corpus import ROOT
from tileverify.pipeline import CheckOptions, stability
from tileverify.pipeline.stability import OneRun, OneVerdict, Stability, stability_of
from tileverify.results import Finding, KernelResult, Verdict
from tileverify.results.codes import TV
from tileverify.verifier import verify as verifying
from tileverify.verifier.obligations.answers import Limits

SAMPLE = ("showcase/softmax.py", "showcase/permute.py", "race_free/reverse_tiles.py", "racy/half_block.py")
PROVED = OneVerdict(Verdict.PROVED, "any", (), ())
NARROWER = replace(PROVED, holds_for="sizes")
CLAUSED = replace(PROVED, requires=("N >= 1",))
UNDECIDED = OneVerdict(Verdict.UNDECIDED, "", (), ())
REFUTED = OneVerdict(Verdict.REFUTED, "", (), ("TV101",))


def runs(*told: tuple[int, float, OneVerdict]) -> Stability:
    return Stability("kernel.py", "k", "0", tuple(OneRun(*each) for each in told))


def test_one_verdict_is_stable() -> None:
    found = runs((0, 0.1, PROVED), (1, 0.1, PROVED), (0, 1, PROVED), (1, 1, PROVED))
    assert not found.changes
    assert found.undecided_below is None


@pytest.mark.parametrize("other", [UNDECIDED, REFUTED, NARROWER, CLAUSED])
def test_seeds_that_say_something_else_are_named(other: OneVerdict) -> None:
    (words,) = runs((0, 1, PROVED), (1, 1, other), (2, 1, PROVED)).changes
    assert "proved for any with seeds 0, 2" in words
    assert words.endswith(f"{other} with seed 1")


def test_the_order_of_clauses_says_nothing() -> None:
    one = KernelResult("kernel.py", "k", "0", Verdict.PROVED, holds_for="any", requires=("N >= 1", "M >= 1"))
    assert stability.told_of(one) == stability.told_of(replace(one, requires=("M >= 1", "N >= 1")))
    assert stability.told_of(one) != stability.told_of(replace(one, requires=("N >= 1",)))


def test_less_that_decides_less_is_told_apart() -> None:
    found = runs((0, 0.1, UNDECIDED), (0, 1, PROVED), (0, 10, PROVED))
    assert not found.changes
    assert found.undecided_below == 1


@pytest.mark.parametrize("other", [REFUTED, NARROWER, CLAUSED])
def test_limits_that_say_something_else_change_a_verdict(other: OneVerdict) -> None:
    assert runs((0, 0.1, other), (0, 1, PROVED)).changes == (f"{other} with limits x 0.1; {PROVED} with limits x 1",)


def test_more_that_decides_less_changes_a_verdict() -> None:
    assert runs((0, 1, PROVED), (0, 10, UNDECIDED)).changes == ("decided with limits x 1, undecided with limits x 10",)


def test_seed_and_limits_reach_the_solver_and_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noted(*given: Any, options: verifying.VerifyOptions, **more: Any) -> verifying.Outcome:
        asked.append((options.seed, options.limits))
        return verifying.Outcome(Verdict.UNDECIDED)

    monkeypatch.setattr(verifying, "verify", noted)
    unit = unit_at(ROOT / "showcase/vector_add.py")
    stability_of(unit, 2, (0.5, 1), CheckOptions())
    half = Limits().times(0.5)
    assert half.linear * 2 == Limits().linear
    assert asked == [(0, half), (1, half), (0, Limits()), (1, Limits())]
    assert len({str(CheckOptions(seed=s, limits=x).decisive) for s in (0, 1) for x in (1, 2)}) == 4


def test_a_sample_of_the_corpus_is_stable(tileverify: CommandLine) -> None:
    ran = tileverify("stability", *(str(ROOT / each) for each in SAMPLE), "--seeds", "3", "--limits", "0.1,1")
    assert ran.code == 0, ran.out
    assert ran.out.splitlines()[-1].endswith(" 0 changed")


def test_what_is_undecided_with_less_is_no_change(tileverify: CommandLine) -> None:
    ran = tileverify("stability", str(ROOT / "showcase/matmul_swizzled.py"), "--seeds", "1", "--limits", "0.001,1")
    assert ran.code == 0
    assert "decided with limits x 1 and more: " in ran.out


def test_a_prover_that_hangs_on_its_seed_is_told(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fickle(unit: object, options: CheckOptions) -> KernelResult:
        if options.seed != 1:
            return KernelResult("kernel.py", "k", "0", Verdict.PROVED, holds_for="any")
        return KernelResult("kernel.py", "k", "0", Verdict.REFUTED, findings=(Finding(TV.RACE_WRITE_WRITE, "a race"),))

    monkeypatch.setattr(stability, "check_unit", fickle)
    target = str(ROOT / "showcase/vector_add.py")
    ran = tileverify("stability", target, "--seeds", "2")
    assert ran.code == 1
    assert "proved for any with seed 0; refuted TV101 with seed 1" in ran.out
    ((launch,),) = (json.loads(tileverify("stability", target, "--seeds", "2", "--format", "json").out)["launches"],)
    assert [each["verdict"] for each in launch["outcomes"]] == ["proved", "refuted"]
    assert launch["changes"]


@pytest.mark.parametrize("limits", ["0", "-1", "a", "1,,2", "1e9"])
def test_limits_that_are_none_are_refused(tileverify: CommandLine, limits: str) -> None:
    assert tileverify("stability", str(ROOT / "showcase/vector_add.py"), "--limits", limits).code == 2


def test_an_error_is_no_verdict(tileverify: CommandLine) -> None:
    Path("broken.py").write_text("import cuda.tile as ct\n@ct.kernel\ndef k(x):\n    return nothing\n")
    assert tileverify("stability", "broken.py", "--seeds", "1").code == 2
