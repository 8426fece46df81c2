"""Proved kernels against a reference: right ones pass, and the usual ways of cheating a benchmark are seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tileverify.errors import UsageError
from tileverify.gating import GateOptions, GateResult, Sandbox, Submission, judge
from tileverify.gating.sandbox import Outcome
from tileverify.results import WrittenArrays

HEAD = "import cuda.tile as ct\n\n@ct.kernel\ndef k(x, y, out):\n    i = ct.bid(0)\n"
ADD = """    a = ct.load(x, index=(i,), shape=(64,), padding_mode=ct.PaddingMode.ZERO)
    b = ct.load(y, index=(i,), shape=(64,), padding_mode=ct.PaddingMode.ZERO)
"""
STORE = "    ct.store(out, index=(i,), tile=a + b)\n"
SPEC = '[[launch]]\nkernel = "k"\ngrid = ["cdiv(N, 64)"]\nrequires = ["N >= 1"]\n'
SPEC += 'args = { x = "f32[N]", y = "f32[N]", out = "f32[N]" }\n'

REFERENCES = """
import numpy as np

def add(x, y):
    return x + y

def add_by_name(**names):
    return {"out": names["x"] + names["y"]}

def in_place(out):
    pass

def add_in_place(x, y, out):
    out[...] = x + y

def zero(x, y):
    return np.zeros_like(x)

def fails(x):
    raise ValueError("no")

def unknown(z):
    return z

def strange(x):
    return {"nothing": x}

def another_shape(x, y):
    return np.zeros(len(x) + 1)
"""

CHEATS = {
    "constant": ("constant-output", ADD + "    ct.store(out, index=(i,), tile=ct.full((64,), 1.5, ct.float32))\n"),
    "copies-what-is-there": ("wrong-result", "    ct.store(out, index=(i,), tile=ct.load(out, index=(i,), shape=(64,),"
                             " padding_mode=ct.PaddingMode.ZERO))\n"),
    "half-of-the-blocks": ("not-written", ADD + "    if i % 2 == 0:\n    " + STORE),
    "first-block-only": ("not-written", ADD + "    if i == 0:\n    " + STORE),
    "nothing-at-one-size": ("not-written", ADD + "    if x.shape[0] != 4096:\n    " + STORE),
    "nothing-when-large": ("not-written", ADD + "    if x.shape[0] < 30000:\n    " + STORE),
    "nothing-when-small": ("not-written", ADD + "    if x.shape[0] >= 17:\n    " + STORE),
    "nothing-for-a-tail": ("not-written", ADD + "    if (i + 1) * 64 <= x.shape[0]:\n    " + STORE),
    "by-value": ("wrong-result", ADD + "    ct.store(out, index=(i,), tile=ct.where(a > 4.0, a, a + b))\n"),
    "ignores-an-input": ("wrong-result", ADD + "    ct.store(out, index=(i,), tile=a + a)\n"),
    "changes-an-input": ("written-elsewhere", ADD + STORE + "    ct.store(y, index=(i,), tile=a)\n"),
    "lower-precision": ("wrong-result", ADD + "    ct.store(out, index=(i,), tile=ct.astype(ct.astype(a + b,"
                        " ct.bfloat16), ct.float32))\n"),
}  # fmt: skip


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("references") / "references.py"
    path.write_text(REFERENCES)
    return path


def judged(body: str, sandbox: Sandbox, reference: str | None = None, complete: bool = False) -> GateResult:
    options = GateOptions(spec=SPEC, reference=reference, complete=complete, bundles=True)
    return judge(Submission((HEAD + body).encode()), options, sandbox)


@pytest.mark.parametrize("name", ["add", "add_by_name", "add_in_place"])
def test_a_right_kernel_agrees(name: str, references: Path, sandbox: Sandbox) -> None:
    result = judged(ADD + STORE, sandbox, f"{references}::{name}", complete=True)
    assert result.accepted, result.lines()
    (kernel,) = result.kernels
    assert kernel.trial is not None
    assert kernel.trial["launches"] >= 20
    assert kernel.trial["written"] == {"out": [1.0, 1.0]}
    assert kernel.bundle is not None


@pytest.mark.parametrize("cheat", CHEATS)
def test_cheats_are_seen(cheat: str, references: Path, sandbox: Sandbox) -> None:
    expected, body = CHEATS[cheat]
    # Each is proved: it races with nobody and leaves no array.
    assert judged(body, sandbox).accepted
    result = judged(body, sandbox, f"{references}::add")
    (kernel,) = result.kernels
    assert (kernel.verdict, kernel.accepted, kernel.bundle) == ("proved", False, None)
    assert expected in [reason.id for reason in kernel.reasons], kernel.reasons


def test_a_constant_is_right_where_the_reference_is_one(references: Path, sandbox: Sandbox) -> None:
    body = "    ct.store(out, index=(i,), tile=ct.zeros((64,), ct.float32))\n"
    assert judged(body, sandbox, f"{references}::zero").accepted


def test_complete_asks_for_every_element(sandbox: Sandbox) -> None:
    result = judged(ADD + STORE, sandbox, complete=True)
    assert result.accepted
    (document,) = [kernel.to_json() for kernel in result.kernels]
    assert document["written"] == {"whole": ["out"], "open": []}
    assert "written" not in judged(ADD + STORE, sandbox).kernels[0].to_json()
    result = judged(CHEATS["half-of-the-blocks"][1], sandbox, complete=True)
    assert [reason.id for reason in result.kernels[0].reasons] == ["not-written"]
    assert result.kernels[0].result.written == WrittenArrays((), ("out",))


def test_what_no_trial_shows_is_not_proved_to_be_written(sandbox: Sandbox) -> None:
    """Nothing above a size that is hidden in arithmetic, and larger than any trial."""
    result = judged(ADD + "    if x.shape[0] // 3 < 99999:\n    " + STORE, sandbox, complete=True)
    assert result.accepted
    assert result.kernels[0].result.written == WrittenArrays((), ("out",))


@pytest.mark.parametrize("name", ["fails", "unknown", "strange", "another_shape", "missing"])
def test_a_reference_that_cannot_be_used_is_the_caller_s_error(name: str, references: Path, sandbox: Sandbox) -> None:
    with pytest.raises(UsageError, match="reference"):
        judged(ADD + STORE, sandbox, f"{references}::{name}")


@pytest.mark.parametrize("name", ["fails", "unknown", "strange", "another_shape"])
def test_under_its_own_launch_it_stops_that_submission_alone(name: str, references: Path, sandbox: Sandbox) -> None:
    submission = Submission((HEAD + ADD + STORE).encode(), own_spec=SPEC)
    (kernel,) = judge(submission, GateOptions(reference=f"{references}::{name}"), sandbox).kernels
    assert (kernel.accepted, [reason.id for reason in kernel.reasons]) == (False, ["not-compared"])


@pytest.mark.parametrize("said", [b"{}\n", b"nothing\n", b"[" * 100_000 + b"\n", b"7\n"])
def test_a_trial_that_says_nothing_of_use(said: bytes, references: Path, sandbox: Sandbox) -> None:
    class Forging:
        layers = sandbox.layers

        def run(self, job: str, request: dict[str, Any], payload: bytes, limits: dict[str, Any]) -> Outcome:
            outcome = sandbox.run(job, request, payload, limits)
            return replace(outcome, data=said) if job == "try" else outcome

    options = GateOptions(spec=SPEC, reference=f"{references}::add")
    (kernel,) = judge(Submission((HEAD + ADD + STORE).encode()), options, Forging()).kernels  # type: ignore[arg-type]
    assert (kernel.accepted, [reason.id for reason in kernel.reasons]) == (False, ["crash"])


def test_a_reference_that_is_not_there(sandbox: Sandbox) -> None:
    with pytest.raises(UsageError, match=r"FILE\.py::FUNCTION"):
        judged(ADD + STORE, sandbox, "nowhere.py::add")


def test_what_cannot_be_tried_is_not_accepted(references: Path, sandbox: Sandbox) -> None:
    large = SPEC.replace("N >= 1", "N >= 1000000000")
    options = GateOptions(spec=large, reference=f"{references}::add")
    (kernel,) = judge(Submission((HEAD + ADD + STORE).encode()), options, sandbox).kernels
    assert (kernel.verdict, [reason.id for reason in kernel.reasons]) == ("proved", ["no-trial"])
    listed = SPEC.replace('x = "f32[N]"', 'x = { list = "f32[N]", length = "L" }').replace("N >= 1", "L >= 1")
    body = ADD.replace("load(x,", "load(y,") + STORE
    options = GateOptions(spec=listed, reference=f"{references}::in_place")
    (kernel,) = judge(Submission((HEAD + body).encode()), options, sandbox).kernels
    assert not kernel.accepted
    assert "not-compared" in [reason.id for reason in kernel.reasons], kernel.reasons
