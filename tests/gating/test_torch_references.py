"""References in torch: what they return and what they change in place is compared, as of those in NumPy."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gating.triton_submissions import HALVE, INPLACE, ROWS, SOFTMAX, TritonCase

from tileverify.gating import GatedKernel, GateOptions, Sandbox, Submission, judge

pytest.importorskip("torch", reason="references are written in it")
pytest.importorskip("triton", reason="kernels are compiled by Triton's frontend")

REFERENCES = """
import torch


def softmax(x): return torch.softmax(x, dim=1)
def by_columns(x): return torch.softmax(x, dim=0)
def table(x): return {"out": torch.softmax(x, dim=1)}
def halved(x): x.mul_(0.5)
def doubled(x): x.mul_(2.0)
"""


@pytest.mark.parametrize(
    ("case", "reference", "accepted"),
    [
        (TritonCase(SOFTMAX, ROWS), "softmax", True),
        (TritonCase(SOFTMAX, ROWS), "table", True),
        (TritonCase(SOFTMAX, ROWS), "by_columns", False),
        (TritonCase(HALVE, INPLACE), "halved", True),
        (TritonCase(HALVE, INPLACE), "doubled", False),
    ],
)
def test_tensors_are_compared(
    case: TritonCase, reference: str, accepted: bool, tmp_path: Path, one_sandbox: Sandbox
) -> None:
    (tmp_path / "references.py").write_text(REFERENCES)
    options = GateOptions(spec=case.spec, reference=f"{tmp_path}/references.py::{reference}", seed=3)
    kernel: GatedKernel
    (kernel,) = judge(Submission(case.source()), options, one_sandbox).kernels
    assert kernel.accepted is accepted, kernel.reasons
    assert accepted or {reason.id for reason in kernel.reasons} <= {"wrong-result", "different", "constant-output"}
    assert not accepted or (kernel.equal is not None and kernel.equal["answer"] == "equal")
