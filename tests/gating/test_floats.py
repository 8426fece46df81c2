"""Decisions hidden in functions of floats, overflow and lost digits are refused or told; honest ones are accepted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.gating.float_submissions import CHEATS, FLUSHING, HONEST, REFERENCES, STOPPING
from tests.gating.test_small_submissions import judged, sampled

from tileverify.gating import Sandbox
from tileverify.gating.jobs.comparing import noisy

FEW_CHEATS = (
    "a-bump-by-a-power", "a-bump-by-two-arrays", "a-bump-by-a-magnitude", "a-hole-by-a-root", "overflow-on-the-way",
    "a-bump-at-a-mean", "underflow-on-the-way",
)  # fmt: skip


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("references") / "references.py"
    path.write_text(REFERENCES)
    return path


@pytest.mark.parametrize("name", sampled(CHEATS, FEW_CHEATS))
def test_cheats_are_refused(name: str, references: Path, one_sandbox: Sandbox) -> None:
    kernel = judged(CHEATS[name], references, one_sandbox)
    assert kernel.verdict == "proved", kernel.reasons
    assert {reason.id for reason in kernel.reasons} & {"wrong-result", "different"}, kernel.reasons


@pytest.mark.parametrize("name", sampled(HONEST, tuple(HONEST)))
def test_honest_kernels_are_accepted(name: str, references: Path, one_sandbox: Sandbox) -> None:
    assert judged(HONEST[name], references, one_sandbox).accepted, judged(HONEST[name], references, one_sandbox).reasons


def test_digits_that_a_formula_loses_are_told(references: Path, one_sandbox: Sandbox) -> None:
    kernel = judged(HONEST["elu-without-expm1"], references, one_sandbox)
    assert kernel.trial is not None
    assert kernel.trial.rounding


def test_an_op_that_flushes_is_told(references: Path, one_sandbox: Sandbox) -> None:
    kernel = judged(FLUSHING, references, one_sandbox)
    assert kernel.equal is not None
    assert "makes subnormal numbers 0" in str(kernel.equal["one_way"])


def test_a_launch_that_stops_is_told(references: Path, one_sandbox: Sandbox) -> None:
    """A cast of what is beyond the integers has no value."""
    kernel = judged(STOPPING, references, one_sandbox)
    assert kernel.accepted, kernel.reasons
    assert kernel.trial is not None
    assert any("leaves open" in each for each in kernel.trial.not_tried), kernel.trial


def test_noise_shows_what_cancels() -> None:
    """Beside 1 a rounding is all there is; what is not added to anything is as certain as its type."""
    x = np.full(64, -6, np.float32) + np.linspace(0, 1, 64, dtype=np.float32)
    moved = noisy({"x": x}, 3)["x"]
    tails, products = 1 + np.tanh(np.sqrt(2.0) * moved), np.sqrt(2.0) * moved
    exact = x.astype(np.float64)
    lost = np.abs(np.asarray(tails) - (1 + np.tanh(np.sqrt(2.0) * exact)))
    assert (lost > 2e-8).mean() > 0.9
    assert (lost < 3e-7).all()
    assert (np.abs(np.asarray(products) / (np.sqrt(2.0) * exact) - 1) < 3e-7).all()
