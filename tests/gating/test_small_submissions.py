"""Cheats of five kinds are refused, honest kernels accepted: eight of each in every run, all of them with `--slow`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gating.small_submissions import CHEATS, HONEST, PLACES, REFERENCES, Case, vector

from tileverify.gating import GatedKernel, GateOptions, Sandbox, Submission, judge

SEED = 20
"""Of the trials: an answer must not hang on luck, and a failure has to be had again."""
FEW_CHEATS = (
    "a-value-for-the-next-tile", "a-running-sum-of-what-is-there", "output-first", "another-scalar-between",
    "nothing-below-1e-7", "sign-of-b-or-minus-b", "magnitude-of-a-scalar", "through-24-bits",
    "cancels-at-two-lanes", "positives-in-8-bits", "ids-in-16-bits",
)  # fmt: skip
FEW_HONEST = (
    "there-and-back", "scale", "gelu", "whole", "copy", "softmax", "counts-by-atomics", "sums-by-atomics",
)  # fmt: skip


def sampled(cases: dict[str, Case], few: tuple[str, ...]) -> list[object]:
    assert set(few) <= cases.keys()
    return [pytest.param(name, marks=() if name in few else pytest.mark.slow) for name in cases]


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("references") / "references.py"
    path.write_text(REFERENCES)
    return path


def judged(case: Case, references: Path | None, sandbox: Sandbox, seed: int = SEED) -> GatedKernel:
    reference = None if references is None else f"{references}::{case.reference}"
    options = GateOptions(
        spec=case.spec(), reference=reference, hints=False, seed=seed, allow_undetermined=case.allow_undetermined
    )
    (kernel,) = judge(Submission(case.source()), options, sandbox).kernels
    return kernel


@pytest.mark.parametrize("name", sampled(CHEATS, FEW_CHEATS))
def test_cheats_are_refused(name: str, references: Path, one_sandbox: Sandbox) -> None:
    kernel = judged(CHEATS[name], references, one_sandbox)
    assert not kernel.accepted
    assert kernel.verdict == ("error" if name in PLACES else "proved"), kernel.reasons
    wrong = {
        "wrong-result",
        "block-order",
        "not-written",
        "written-elsewhere",
        "different",
        "trial-stopped",
        "idle-value",
        "narrow-sum",
        "overflow-not-tried",
    }
    expected = {"TV002"} if name in PLACES else wrong
    assert {reason.id for reason in kernel.reasons} <= expected, kernel.reasons


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CHEATS if name not in PLACES])
def test_cheats_are_proved(name: str, one_sandbox: Sandbox) -> None:
    """Nothing but the reference speaks against them."""
    assert judged(CHEATS[name], None, one_sandbox).accepted


@pytest.mark.parametrize("name", sampled(HONEST, FEW_HONEST))
def test_honest_kernels_are_accepted(name: str, references: Path, one_sandbox: Sandbox) -> None:
    kernel = judged(HONEST[name], references, one_sandbox)
    assert kernel.accepted, kernel.reasons
    assert kernel.trial is not None
    assert kernel.trial.launches >= 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", HONEST)
def test_honest_kernels_are_accepted_whatever_is_drawn(
    name: str, seed: int, references: Path, one_sandbox: Sandbox
) -> None:
    assert judged(HONEST[name], references, one_sandbox, seed).accepted


def test_an_assertion_that_narrows_the_contract_is_refused(references: Path, one_sandbox: Sandbox) -> None:
    """What fails it is no input of the kernel, and one of the operator."""
    kernel = judged(vector('ct.assert_(ct.sum(t * t) < 100.0, "too large")\nt * 2'), references, one_sandbox)
    assert not kernel.accepted
    (reason,) = kernel.reasons
    assert (reason.id, "assertion" in reason.message) == ("trial-stopped", True), reason
