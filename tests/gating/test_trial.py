"""Proved kernels against a reference: right ones pass, and the usual ways of cheating a benchmark are seen."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tileverify.gating import GateOptions, GateResult, Sandbox, Submission, gate, judge
from tileverify.gating.jobs.job_messages import JobRequest
from tileverify.gating.jobs.references import ReferenceProcess
from tileverify.gating.sandbox.sandbox import JobKind, JobLimits, JobOutcome
from tileverify.results import WrittenArrays
from tileverify.system.errors import UsageError

pytestmark = pytest.mark.random

HEAD = "import cuda.tile as ct\n\n@ct.kernel\ndef k(x, y, out):\n    i = ct.bid(0)\n"
ADD = """    a = ct.load(x, index=(i,), shape=(64,), padding_mode=ct.PaddingMode.ZERO)
    b = ct.load(y, index=(i,), shape=(64,), padding_mode=ct.PaddingMode.ZERO)
"""
TRIAL = (
    b'{"values": {"N": 1}, "constants": {}, "floats": {}, "filling": "normal", "lists": [], "stopped": null, '
    b'"arrays": {'
    + b", ".join(
        b'"%s": {"dtype": "f32", "shape": [1], "before": "AAAAAA==", "after": null, "written": "AQ=="}' % name
        for name in (b"x", b"y", b"out")
    )
    + b'}}\n{"not_tried": []}\n'
)
"""One launch, as the sandbox would send it."""
STORE = "    ct.store(out, index=(i,), tile=a + b)\n"
SPEC = '[[launch]]\nkernel = "k"\ngrid = ["cdiv(N, 64)"]\nrequires = ["N >= 1"]\n'
SPEC += 'args = { x = "f32[N]", y = "f32[N]", out = "f32[N]" }\n'

REFERENCES = """
import os

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

def fails_at_some_sizes(x, y):
    if len(x) == 4097:
        raise IndexError(len(x))
    return x + y

def not_numbers(x, y):
    return np.array(["a"])

def leaves(x):
    raise SystemExit(0)

def ends(x, y):
    os._exit(0)

def forever(x, y):
    while True:
        pass

def takes_all_memory(x, y):
    return np.zeros(1 << 36)

def step(w, g, rate):
    return {"w": w - rate * g}

def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)

def rows(x):
    return x.sum(axis=1)

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
    "later-blocks": ("wrong-result", ADD + "    ct.store(out, index=(i,), tile=(a + b) * (1 - min(i // 16, 1)))\n"),
    "later-blocks-not-at-all": ("not-written", ADD + "    if min(i // 16, 1) == 0:\n    " + STORE),
    "large-values": ("wrong-result", ADD + "    ct.store(out, index=(i,), tile=ct.where(abs(a) > 20.0, 0.0, a + b))\n"),
    "larger-values": ("wrong-result", ADD + "    ct.store(out, index=(i,), "
                      "tile=ct.where(a * a > 9.0e6, 0.0, a + b))\n"),
    "infinite-values": ("wrong-result", ADD + "    s = ct.where(a - a == 0.0, a + b, 0.0)\n"
                        "    ct.store(out, index=(i,), tile=s)\n"),
    "tiny-values": ("wrong-result", ADD + "    ct.store(out, index=(i,), tile=ct.where(abs(a) < 0.001, b, a + b))\n"),
    "a-little-off": ("wrong-result", ADD + "    ct.store(out, index=(i,), tile=a + b + 9e-5)\n"),
    "relatively-off": ("wrong-result", ADD + "    ct.store(out, index=(i,), tile=(a + b) * 1.00009)\n"),
    "product-of-numbers": ("not-written", ADD + "    if x.shape[0] // 7 < 111:\n    " + STORE),
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
    assert kernel.trial.launches >= 20
    assert kernel.trial.written == {"out": (1.0, 1.0)}
    assert kernel.bundle is not None


@pytest.mark.parametrize("cheat", CHEATS)
def test_cheats_are_seen(cheat: str, references: Path, one_sandbox: Sandbox) -> None:
    cheat_is_seen(cheat, references, one_sandbox)


@pytest.mark.parametrize("cheat", ["constant", "half-of-the-blocks", "changes-an-input"])
def test_cheats_are_seen_in_any_sandbox(cheat: str, references: Path, sandbox: Sandbox) -> None:
    cheat_is_seen(cheat, references, sandbox)


def cheat_is_seen(cheat: str, references: Path, sandbox: Sandbox) -> None:
    expected, body = CHEATS[cheat]
    # Each is proved: it races with nobody and leaves no array.
    assert judged(body, sandbox).accepted
    result = judged(body, sandbox, f"{references}::add")
    (kernel,) = result.kernels
    assert (kernel.verdict, kernel.accepted, kernel.bundle) == ("proved", False, None)
    assert expected in [reason.id for reason in kernel.reasons], kernel.reasons


def test_a_constant_is_right_where_the_reference_is_one(references: Path, either_sandbox: Sandbox) -> None:
    body = "    ct.store(out, index=(i,), tile=ct.zeros((64,), ct.float32))\n"
    assert judged(body, either_sandbox, f"{references}::zero").accepted


def tried_against(name: str, kernel: str, spec: str, references: Path, sandbox: Sandbox) -> list[str]:
    """Ids of what speaks against a kernel that is proved."""
    source = f"import cuda.tile as ct\n\n@ct.kernel\n{kernel}"
    options = GateOptions(spec=f'[[launch]]\nkernel = "k"\n{spec}', reference=f"{references}::{name}", hints=False)
    (kernel_,) = judge(Submission(source.encode()), options, sandbox).kernels
    assert kernel_.verdict == "proved", kernel_.reasons
    return [reason.id for reason in kernel_.reasons]


STEP = """def k(w, g, rate: float):
    i = ct.bid(0)
    a, b = ct.load(w, (i,), (64,)), ct.load(g, (i,), (64,))
"""
STEP_SPEC = """grid = ["cdiv(N, 64)"]
requires = ["N >= 1"]
args = { w = "f32[N]", g = "f32[N]", rate = "f32" }
"""


@pytest.mark.parametrize("step", ["1e-5", "3e-7"])
def test_a_small_step_must_be_made(step: str, references: Path, one_sandbox: Sandbox, tmp_path: Path) -> None:
    """`w - 1e-5 * g` is nearly `w`: what changes counts, not what is there."""
    file = tmp_path / "step.py"
    file.write_text(f"def step(w, g):\n    return {{'w': w - w.dtype.type({step}) * g}}\n")
    spec = STEP_SPEC.replace(', rate = "f32"', "")
    head = STEP.replace(", rate: float", "")

    def said(tile: str) -> list[str]:
        source = f"import cuda.tile as ct\n\n@ct.kernel\n{head}    ct.store(w, (i,), {tile})\n"
        options = GateOptions(spec=f'[[launch]]\nkernel = "k"\n{spec}', reference=f"{file}::step", hints=False)
        (kernel,) = judge(Submission(source.encode()), options, one_sandbox).kernels
        assert kernel.verdict == "proved", kernel.reasons
        return [reason.id for reason in kernel.reasons]

    assert said(f"a - {step} * b") == []
    assert set(said("a")) & {"not-written", "wrong-result"}
    assert set(said(f"a + {step} * b")) & {"not-written", "wrong-result"} or step == "3e-7"
    assert set(said(f"a - {step} * b * (1 - min(i // 3, 1))")) & {"not-written", "wrong-result"} or step == "3e-7"


def test_zeros_are_no_small_results(references: Path, either_sandbox: Sandbox) -> None:
    kernel = STEP + "    ct.store(w, (i,), a - rate * b)\n"
    assert tried_against("step", kernel, STEP_SPEC, references, either_sandbox) == []
    softmax = """def k(x, out):
    i = ct.bid(0)
    a = ct.load(x, (i, 0), (1, 64), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(a - ct.max(a, axis=1, keepdims=True))
    p = e / ct.sum(e, axis=1, keepdims=True)
    ct.store(out, (i, 0), {})
"""
    spec = 'grid = ["M"]\nrequires = ["N <= 64", "M >= 1", "M <= 32", "N >= 1"]\n'
    spec += 'args = { x = "f32[M, N]", out = "f32[M, N]" }\n'
    assert tried_against("softmax", softmax.format("p"), spec, references, either_sandbox) == []
    small = "ct.where(p < 0.001, 0.0, p)"
    assert tried_against("softmax", softmax.format(small), spec, references, either_sandbox) == ["wrong-result"]


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_another_order_of_sums_is_right(dtype: str, references: Path, one_sandbox: Sandbox) -> None:
    """Every type has its own rounding; sums that nearly cancel are as uncertain as their terms are.

    Few rows: only the length of a row matters, and many of them take long.
    """
    kernel = """def k(x, out):
    i = ct.bid(0)
    total = ct.zeros((1, 16), dtype=ct.float32)
    for j in range(ct.cdiv(x.shape[1], 16)):
        total += ct.astype(ct.load(x, (i, j), (1, 16), padding_mode=ct.PaddingMode.ZERO), ct.float32)
    ct.store(out, (i,), ct.astype(ct.sum(total, axis=1), out.dtype))
"""
    kernel = kernel.replace("float32", "float64") if dtype == "f64" else kernel
    spec = 'grid = ["M"]\nrequires = ["M >= 1", "M <= 16", "N >= 1"]\n'
    spec += f'args = {{ x = "{dtype}[M, N]", out = "{dtype}[M]" }}\n'
    assert tried_against("rows", kernel, spec, references, one_sandbox) == []


def test_smaller_grids_of_a_spec_without_a_grid_are_told(references: Path, one_sandbox: Sandbox) -> None:
    for spec, told in ((SPEC, False), (SPEC.replace('grid = ["cdiv(N, 64)"]\n', ""), True)):
        options = GateOptions(spec=spec, reference=f"{references}::add", hints=False, exact=False)
        (kernel,) = judge(Submission((HEAD + ADD + STORE).encode()), options, one_sandbox).kernels
        assert kernel.accepted, kernel.reasons
        assert kernel.trial is not None
        assert any("smaller grids" in each for each in kernel.trial.not_tried) is told


def test_a_border_within_reach_is_reached_and_others_are_told(references: Path, either_sandbox: Sandbox) -> None:
    """A million elements can be interpreted, sixteen millions can not: the answer says so."""
    within = ADD + "    if min(x.shape[0] >> 20, 1) == 0:\n    " + STORE
    (kernel,) = judged(within, either_sandbox, f"{references}::add").kernels
    assert [reason.id for reason in kernel.reasons] == ["not-written"]
    beyond = ADD + "    if min(x.shape[0] >> 24, 1) == 0:\n    " + STORE
    (kernel,) = judged(beyond, either_sandbox, f"{references}::add").kernels
    assert kernel.accepted
    assert kernel.trial is not None
    assert "N >= 16777216" in kernel.trial.not_tried


@pytest.mark.parametrize("asked", ["x.shape[0] <= 40", "x.shape[1] <= 100", "x.shape[0] <= 40 or x.shape[1] <= 100"])
def test_a_kernel_that_asks_for_two_sizes(asked: str, references: Path, one_sandbox: Sandbox) -> None:
    """None of them is the usual one, and with both there are rows and columns to skip."""
    kernel = f"""def k(x, y, out):
    i = ct.bid(0)
    a = ct.load(x, (i, 0), (1, 128), padding_mode=ct.PaddingMode.ZERO)
    b = ct.load(y, (i, 0), (1, 128), padding_mode=ct.PaddingMode.ZERO)
    if {asked}:
        ct.store(out, (i, 0), a + b)
"""
    spec = 'grid = ["M"]\nrequires = ["M >= 1", "N >= 1", "N <= 128"]\n'
    spec += 'args = { x = "f32[M, N]", y = "f32[M, N]", out = "f32[M, N]" }\n'
    assert tried_against("add", kernel, spec, references, one_sandbox) == ["not-written"]


def test_inputs_are_secret_and_can_be_had_again(references: Path, either_sandbox: Sandbox) -> None:
    def trial(seed: int | None) -> dict[str, Any]:
        options = GateOptions(spec=SPEC, reference=f"{references}::add", seed=seed)
        (kernel,) = judge(
            Submission((HEAD + ADD + "    ct.store(out, (i,), a)\n").encode()), options, either_sandbox
        ).kernels
        return {"reasons": kernel.reasons, **(asdict(kernel.trial) if kernel.trial else {})}

    first, second = trial(None), trial(None)
    assert first["seed"] != second["seed"]
    assert first["reasons"] != second["reasons"]  # they tell values
    assert trial(first["seed"]) == first


def test_complete_asks_for_every_element(either_sandbox: Sandbox) -> None:
    result = judged(ADD + STORE, either_sandbox, complete=True)
    assert result.accepted
    (document,) = [kernel.to_json() for kernel in result.kernels]
    assert document["written"] == {"whole": ["out"], "open": []}
    assert "written" not in judged(ADD + STORE, either_sandbox).kernels[0].to_json()
    result = judged(CHEATS["half-of-the-blocks"][1], either_sandbox, complete=True)
    assert [reason.id for reason in result.kernels[0].reasons] == ["not-written"]
    written = result.kernels[0].result.written
    assert written is not None
    assert (written.whole, written.open) == ((), ("out",))
    assert [each.witness.element for each in written.never] == ["out[64]"]


def test_a_spec_that_says_complete_refuses_what_leaves_elements_out(one_sandbox: Sandbox) -> None:
    spec = SPEC.replace("args", 'complete = ["out"]\nargs')
    for body, codes in ((ADD + STORE, []), (CHEATS["half-of-the-blocks"][1], ["TV711"])):
        result = judge(Submission((HEAD + body).encode()), GateOptions(spec=spec, bundles=True), one_sandbox)
        assert result.accepted is not bool(codes)
        assert [finding.code for finding in result.kernels[0].result.findings] == codes


def test_what_no_trial_shows_is_not_proved_to_be_written(either_sandbox: Sandbox) -> None:
    """Nothing above a size that is hidden in arithmetic, and larger than any trial."""
    result = judged(ADD + "    if x.shape[0] // 3 < 99999:\n    " + STORE, either_sandbox, complete=True)
    assert result.accepted
    assert result.kernels[0].result.written == WrittenArrays((), ("out",))


@pytest.mark.parametrize("name", ["unknown", "missing"])
def test_a_reference_that_cannot_be_used_is_the_caller_s_error(
    name: str, references: Path, either_sandbox: Sandbox
) -> None:
    with pytest.raises(UsageError, match="reference"):
        judged(ADD + STORE, either_sandbox, f"{references}::{name}")


@pytest.mark.parametrize("name", ["fails", "unknown", "strange", "another_shape"])
def test_under_its_own_launch_it_stops_that_submission_alone(
    name: str, references: Path, either_sandbox: Sandbox
) -> None:
    submission = Submission((HEAD + ADD + STORE).encode(), own_spec=SPEC)
    (kernel,) = judge(submission, GateOptions(reference=f"{references}::{name}"), either_sandbox).kernels
    assert (kernel.accepted, [reason.id for reason in kernel.reasons]) == (False, ["not-compared"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fails", "ValueError: no"),
        ("fails_at_some_sizes", "IndexError: 4097"),
        ("strange", "'nothing', which is no array"),
        ("another_shape", "another shape"),
        ("not_numbers", "another shape"),
        ("leaves", "SystemExit"),
        ("ends", "ended its process"),
        ("forever", "longer than 2 s"),
        ("takes_all_memory", "emory"),
    ],
)
def test_what_a_reference_does_costs_one_submission(
    name: str, said: str, references: Path, one_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submission has a say in the sizes: here, with a number that it holds.  The next one is judged as ever.

    References run beside the sandbox, whatever kind it is.
    """
    monkeypatch.setattr(gate, "own_reference", lambda text: ReferenceProcess(text, memory=1 << 30, compare_s=2))
    number = 4096 if name == "fails_at_some_sizes" else 900  # the larger, the more blocks have to be run
    body = f"{ADD}    if x.shape[0] != {number}:\n    {STORE}"
    (kernel,) = judged(body, one_sandbox, f"{references}::{name}").kernels
    assert (kernel.accepted, kernel.verdict) == (False, "proved")
    assert [reason.id for reason in kernel.reasons] == ["not-compared"]
    assert said in kernel.reasons[0].message, kernel.reasons
    monkeypatch.undo()
    assert judged(ADD + STORE, one_sandbox, f"{references}::add").accepted


@pytest.mark.parametrize("threads", [None, "3"])
def test_a_reference_has_one_thread_unless_its_caller_says_more(
    threads: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    if threads:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
    file = tmp_path / "reference.py"
    wanted = f"assert os.environ['OPENBLAS_NUM_THREADS'] == '{threads or 1}'"
    file.write_text(f"import os\n{wanted}\ndef same(x):\n    return x\n")
    ReferenceProcess(f"{file}::same").close()


def test_a_reference_is_asked_again_after_it_ended(references: Path) -> None:
    process = ReferenceProcess(f"{references}::ends")
    for _ in range(2):
        assert "ended its process" in (process.compare(TRIAL).failed or "")
    process.close()


@pytest.mark.parametrize("said", [b"{}\n", b"nothing\n", b"[" * 100_000 + b"\n", b"7\n"])
def test_a_trial_that_says_nothing_of_use(said: bytes, references: Path, either_sandbox: Sandbox) -> None:
    class Forging:
        layers = either_sandbox.layers

        def run(self, job: JobKind, request: JobRequest, payload: bytes, limits: JobLimits) -> JobOutcome:
            outcome = either_sandbox.run(job, request, payload, limits)
            return replace(outcome, data=said) if job == "try" else outcome

    options = GateOptions(spec=SPEC, reference=f"{references}::add")
    (kernel,) = judge(Submission((HEAD + ADD + STORE).encode()), options, Forging()).kernels  # type: ignore[arg-type]
    assert (kernel.accepted, [reason.id for reason in kernel.reasons]) == (False, ["crash"])


def test_a_reference_that_is_not_there(either_sandbox: Sandbox) -> None:
    with pytest.raises(UsageError, match=r"FILE\.py::FUNCTION"):
        judged(ADD + STORE, either_sandbox, "nowhere.py::add")


def test_what_cannot_be_tried_is_not_accepted(references: Path, either_sandbox: Sandbox) -> None:
    large = SPEC.replace("N >= 1", "N >= 1000000000")
    options = GateOptions(spec=large, reference=f"{references}::add")
    (kernel,) = judge(Submission((HEAD + ADD + STORE).encode()), options, either_sandbox).kernels
    assert (kernel.verdict, [reason.id for reason in kernel.reasons]) == ("proved", ["no-trial"])
    listed = SPEC.replace('x = "f32[N]"', 'x = { list = "f32[N]", length = "L" }').replace("N >= 1", "L >= 1")
    body = ADD.replace("load(x,", "load(y,") + STORE
    options = GateOptions(spec=listed, reference=f"{references}::in_place")
    (kernel,) = judge(Submission((HEAD + body).encode()), options, either_sandbox).kernels
    assert not kernel.accepted
    assert "not-compared" in [reason.id for reason in kernel.reasons], kernel.reasons
