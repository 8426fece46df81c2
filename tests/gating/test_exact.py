"""Proved kernels against a reference on exact numbers: what floats cannot tell, and what nobody can decide."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tileverify.gating import GatedKernel, GateOptions, Sandbox, Submission, judge
from tileverify.gating.jobs.job_messages import JobRequest, ReferenceAnswer
from tileverify.gating.jobs.references import with_equality
from tileverify.gating.sandbox.sandbox import JobKind, JobLimits, JobOutcome

HEAD = "import cuda.tile as ct\n\n@ct.kernel\n"
REFERENCES = """
import numpy as np

def norm(x):
    return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-6)

def scaled(x):
    return 3 * x + 1

def tripled(x):
    return 3 * x

def centred(x):
    return x - x.mean()

def random(x):
    return np.fft.ifft(np.fft.fft(x)).real.astype(x.dtype)

def total(x):
    return {"out": x.sum()[None]}

def crashes(x):
    import os
    if type(x).__name__ == "Numbers":
        os._exit(0)
    return 3 * x + 1
"""
ROWS = """[[launch]]
kernel = "k"
grid = ["M"]
requires = ["M >= 1", "M <= 40", "N >= 1", "N <= 128"]
args = { x = "f32[M, N]", out = "f32[M, N]" }
"""
VECTOR = """[[launch]]
kernel = "k"
grid = ["cdiv(N, 64)"]
requires = ["N >= 1"]
args = { x = "f32[N]", out = "f32[N]" }
"""
NORM = """def k(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 128), padding_mode=ct.PaddingMode.ZERO)
    mean = ct.sum(row * row, axis=1, keepdims=True) / x.shape[1]
    ct.store(out, (i, 0), row * ct.rsqrt(mean + 1e-6))
"""
LOAD = """def k(x, out):
    i = ct.bid(0)
    a = ct.load(x, (i,), (64,), padding_mode=ct.PaddingMode.ZERO)
"""
LINE = LOAD + "    ct.store(out, (i,), 3.0 * a + 1.0)\n"

TWO_SIZES = """def k(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 128), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (i, 0), (3.0 + 2e-7 * (x.shape[0] // 31) * (x.shape[1] // 97)) * row)
"""

CHEATS = {
    "another-epsilon": ("norm", ROWS, NORM.replace("1e-6", "1.01e-6")),
    "no-epsilon": ("norm", ROWS, NORM.replace(" + 1e-6", "")),
    "the-size-is-rounded": ("norm", ROWS, NORM.replace("x.shape[1]", "(x.shape[1] + 1e-6)")),
    "a-constant-that-is-close": ("scaled", VECTOR, LINE.replace("1.0)", "1.00000012)")),
    "a-neighbour": ("scaled", VECTOR, LINE.replace("x, (i,)", "x, (max(i - 1, 0),)")),
    "a-neighbour-in-later-blocks": ("scaled", VECTOR, LINE.replace("x, (i,)", "x, (i - i // 3,)")),
    "the-first-block-for-all": ("scaled", VECTOR, LINE.replace("x, (i,)", "x, (0,)")),
    "the-mean-of-a-seed": ("centred", VECTOR, LINE.replace("3.0 * a + 1.0", "a - 0.0125")),
    "looks-at-the-size": ("scaled", VECTOR, LINE.replace("3.0 * a", "(3.0 + 2e-7 * min(x.shape[0] // 33, 1)) * a")),
    "looks-at-the-block": ("scaled", VECTOR, LINE.replace("3.0 * a", "(3.0 + 2e-7 * min(i // 2, 1)) * a")),
    "looks-at-two-sizes": ("tripled", ROWS, TWO_SIZES),
    "by-value": ("scaled", VECTOR, LINE.replace("3.0 * a", "ct.where(a > 4.0, 3.0000005, 3.0) * a")),
    "what-is-tiny": ("scaled", VECTOR, LINE.replace("3.0 * a", "ct.where(abs(a) < 1e-6, 0.0, 3.0 * a)")),
}
"""Name -> reference, launch spec, kernel; each is proved."""
UNSEEN = ("a-constant-that-is-close", "looks-at-the-size", "looks-at-two-sizes", "looks-at-the-block", "by-value")
"""Those that pass on random floats."""


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("references") / "references.py"
    path.write_text(REFERENCES)
    return path


def judged(body: str, spec: str, reference: str, sandbox: Any, **options: Any) -> GatedKernel:
    asked = GateOptions(spec=spec, reference=reference, bundles=True, hints=False, seed=11, **options)
    (kernel,) = judge(Submission((HEAD + body).encode()), asked, sandbox).kernels
    assert kernel.verdict == "proved", kernel.reasons
    return kernel


def answer(kernel: GatedKernel) -> dict[str, Any]:
    assert kernel.equal is not None
    return dict(kernel.equal)


@pytest.mark.parametrize(("name", "spec", "body"), [("norm", ROWS, NORM), ("scaled", VECTOR, LINE)])
def test_the_same_function_is_equal(name: str, spec: str, body: str, references: Path, sandbox: Sandbox) -> None:
    kernel = judged(body, spec, f"{references}::{name}", sandbox)
    assert kernel.accepted, kernel.reasons
    found = answer(kernel)
    assert (found["answer"], found["difference"], found["reason"]) == ("equal", None, None)
    assert len(found["launches"]) >= 10
    assert found["probability_log2"] <= -60
    assert kernel.to_json()["equal"] == found


@pytest.mark.parametrize("cheat", CHEATS)
def test_cheats_are_different(cheat: str, references: Path, one_sandbox: Sandbox) -> None:
    name, spec, body = CHEATS[cheat]
    kernel = judged(body, spec, f"{references}::{name}", one_sandbox)
    assert (kernel.accepted, kernel.bundle) == (False, None)
    found = answer(kernel)
    assert found["answer"] == "different", found
    difference = found["difference"]
    assert difference["kernel"] != difference["reference"]
    if [reason.id for reason in kernel.reasons] != ["different"]:
        assert cheat not in UNSEEN
        return  # floats told it before
    place = ", ".join(map(str, difference["index"]))
    said = f"out[{place}] is {difference['kernel']!r}, the reference says {difference['reference']!r}"
    assert said in kernel.reasons[0].message


def test_floats_alone_do_not_tell(references: Path, one_sandbox: Sandbox) -> None:
    for cheat in UNSEEN:
        name, spec, body = CHEATS[cheat]
        kernel = judged(body, spec, f"{references}::{name}", one_sandbox, exact=False)
        assert (kernel.accepted, kernel.equal) == (True, None)


@pytest.mark.parametrize(("name", "said"), [("random", "np.fft"), ("crashes", "ended its process")])
def test_what_is_not_decided_is_told_and_refused(name: str, said: str, references: Path, one_sandbox: Sandbox) -> None:
    body = LINE if name == "crashes" else LINE.replace("3.0 * a + 1.0", "a")
    kernel = judged(body, VECTOR, f"{references}::{name}", one_sandbox)
    assert (kernel.accepted, kernel.bundle) == (False, None)
    (reason,) = kernel.reasons
    assert reason.id == "not-decided"
    assert "--no-exact" in reason.message
    found = answer(kernel)
    assert (found["answer"], found["probability_log2"]) == ("not decided", None)
    assert said in found["reason"]
    assert said in reason.message
    assert judged(body, VECTOR, f"{references}::{name}", one_sandbox, exact=False).accepted


def test_what_is_asked_on_floats_alone_says_nothing_of_it(references: Path, one_sandbox: Sandbox) -> None:
    kernel = judged(LINE, VECTOR, f"{references}::scaled", one_sandbox, exact=False)
    assert kernel.accepted
    assert "equal" not in kernel.to_json()


class Forging:
    """A sandbox whose exact runs say something else."""

    def __init__(self, sandbox: Sandbox, change: Any) -> None:
        self._sandbox, self._change, self.layers = sandbox, change, sandbox.layers

    def run(self, job: JobKind, request: JobRequest, payload: bytes, limits: JobLimits) -> JobOutcome:
        outcome = self._sandbox.run(job, request, payload, limits)
        return self._change(outcome) if job is JobKind.EXACT else outcome


@pytest.mark.parametrize(
    "data",
    [
        b"x",
        b"\0" * 8,
        b"\xff" * 64,
        (1 << 40).to_bytes(8) + b"{}",
        (7).to_bytes(8) + b"\x81\xa4type",
    ],
)
def test_a_run_that_says_nothing_of_use(data: bytes, references: Path, one_sandbox: Sandbox) -> None:
    forging = Forging(one_sandbox, lambda outcome: replace(outcome, data=data))
    kernel = judged(LINE, VECTOR, f"{references}::scaled", forging)
    assert (kernel.accepted, [reason.id for reason in kernel.reasons]) == (False, ["crash"])


def test_what_takes_too_long_is_not_decided(references: Path, one_sandbox: Sandbox) -> None:
    def killed(outcome: JobOutcome) -> JobOutcome:
        return replace(outcome, data=b"", end=replace(outcome.end, exit=71))

    kernel = judged(LINE, VECTOR, f"{references}::scaled", Forging(one_sandbox, killed))
    assert [reason.id for reason in kernel.reasons] == ["not-decided"]
    assert "more memory" in answer(kernel)["reason"]


def test_one_order_says_little_of_a_kernel_whose_order_matters(references: Path, one_sandbox: Sandbox) -> None:
    kernel = judged(LINE, VECTOR, f"{references}::scaled", one_sandbox)
    assert kernel.result.deterministic is not False

    class Agreeing:
        def compare(self, payload: bytes, exact: bool) -> Any:
            return ReferenceAnswer(equal=answer(kernel))

    unordered = replace(kernel, result=replace(kernel.result, deterministic=False))
    found = with_equality(unordered, b"", None, Agreeing())  # type: ignore[arg-type]
    assert (found.accepted, answer(found)["answer"]) == (True, "not decided")
    assert "order of blocks" in answer(found)["reason"]
