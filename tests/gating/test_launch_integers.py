"""Cheats by integers of the launch: words that are too narrow for sizes and block ids, numbers that few launches give,
and contents that floats do not hold.  What no trial reaches is refused, or told; honest uses are accepted."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tileverify.gating import GatedKernel, GateOptions, Sandbox, Submission, judge

SEED = 11
REFERENCES = """
import numpy as np

def double(x): return {"out": 2.0 * x}
def same(x): return {"out": x.copy()}
def mean(x): return {"out": x / len(x)}
def steps(x, a): return {"out": np.trunc(x / a).astype(np.int32)}
def clipped(x, a): return np.clip(np.floor(x / a), -9, 9).astype(np.int32)
def scaled(x, a): return {"out": np.trunc(x * 0 + 1).astype(np.int32)}
"""
HEAD = "import cuda.tile as ct\n\n\n@ct.kernel\ndef k({}):\n    b = ct.bid(0)\n    t = ct.load(x, (b,), (32,))\n"
ONE = {"x": "f32[N]", "out": "f32[N]"}
TWO = {"x": "f32[N]", "y": "f32[M]", "out": "f32[N]"}
WITH_SCALE = {"x": "f32[N]", "out": "i32[N]", "a": "f32"}
ADDED = "\nct.store(out, (b,), 2.0 * t + ct.astype(d, ct.float32))"
WIDE = "d = v - ct.astype(ct.astype(v, {}), ct.int32)" + ADDED


def judged(
    body: str, args: dict[str, str], reference: str, tmp_path: Path, sandbox: Sandbox, requires: str = "N >= 1"
) -> GatedKernel:
    path = tmp_path / "references.py"
    path.write_text(REFERENCES)
    source = HEAD.format(", ".join(args)) + indent(body, "    ") + "\n"
    entries = "".join(f'{name} = "{value}"\n' for name, value in args.items())
    spec = f'[[launch]]\nkernel = "k"\ngrid = ["cdiv(N, 32)"]\nrequires = ["{requires}"]\n[launch.args]\n{entries}'
    options = GateOptions(spec=spec, reference=f"{path}::{reference}", hints=False, seed=SEED)
    (kernel,) = judge(Submission(source.encode()), options, sandbox).kernels
    return kernel


CHEATS = {  # of the launch alone: what is stored is another number beyond some size
    "byte-of-a-block": ("v = b\n" + WIDE.format("ct.int8"), ONE),
    "half-of-a-size": ("v = y.shape[0] + 1\n" + WIDE.format("ct.float16"), TWO),
    "bfloat-of-the-grid": ("v = ct.num_blocks(0)\n" + WIDE.format("ct.bfloat16"), ONE),
    "short-of-a-place": ("v = b * 32 + ct.arange(32, dtype=ct.int32)\n" + WIDE.format("ct.uint16"), ONE),
    "square": ("v = x.shape[0]\nd = v * v // v - v" + ADDED, ONE),
    "product-of-two-sizes": ("v = x.shape[0]\nd = v * y.shape[0] // v - y.shape[0]" + ADDED, TWO),
    "shifted-up-and-down": ("v = x.shape[0]\nd = ((v << 13) >> 13) - v" + ADDED, ONE),
    "negative-cube": ("v = x.shape[0]\nct.store(out, (b,), ct.where(v * v * v < 0, t, 2.0 * t))", ONE),
    "one-size-of-thousands": ("v = x.shape[0]\nd = 1 // (1 + (v * 13 + y.shape[0] * 7) % 5003)" + ADDED, TWO),
}


@pytest.mark.random
@pytest.mark.parametrize("name", CHEATS)
def test_a_launch_that_shows_it_is_tried(name: str, tmp_path: Path, one_sandbox: Sandbox) -> None:
    body, args = CHEATS[name]
    kernel = judged(body, args, "double", tmp_path, one_sandbox)
    assert kernel.verdict == "proved", kernel.reasons
    assert {each.id for each in kernel.reasons} & {"wrong-result", "trial-stopped"}, kernel.reasons


@pytest.mark.random
def test_what_no_trial_reaches_is_refused_and_a_bounded_size_is_not(tmp_path: Path, one_sandbox: Sandbox) -> None:
    body = "v = b\n" + WIDE.format("ct.int16")
    kernel = judged(body, ONE, "double", tmp_path, one_sandbox)
    (reason,) = kernel.reasons
    assert (kernel.verdict, reason.id) == ("proved", "overflow-not-tried")
    assert "16 bits are too few for the number at line 9" in reason.message
    assert judged(body, ONE, "double", tmp_path, one_sandbox, "N <= 1048576").accepted


@pytest.mark.random
@pytest.mark.parametrize(
    "body",
    [
        "v = x.shape[0]\nr = ct.where((v * v + 3 * b) % 1000003 == 500009, t, 2.0 * t)\nct.store(out, (b,), r)",
        "v = x.shape[0]\nr = 2.0 * t\nif (v * 31 + 5) % 1000003 == 500009:\n    r = t\nct.store(out, (b,), r)",
        "v = x.shape[0]\nr = 2.0 * t\nfor q in range(1 // (1 + (v * 31 + 5) % 1000003)):\n    r = r + 1.0\n"
        "ct.store(out, (b,), r)",
    ],
    ids=["choice", "branch", "loop"],
)  # fmt: skip
def test_no_probability_stands_behind_an_integer_of_sizes(body: str, tmp_path: Path, one_sandbox: Sandbox) -> None:
    kernel = judged(body, ONE, "double", tmp_path, one_sandbox)
    assert kernel.verdict == "proved"
    if kernel.accepted:
        assert kernel.equal is not None
        assert (kernel.equal["tried"], kernel.equal["probability_log2"]) == (["out"], None)


HONEST = {
    "mean": ("ct.store(out, (b,), t / ct.astype(x.shape[0], ct.float32))", ONE, "mean"),
    "rounds-of-all-tiles": (
        "r = ct.zeros((32,), dtype=ct.float32)\nfor q in range(ct.cdiv(x.shape[0], 32)):\n"
        "    r = ct.where(q == b, 2.0 * t, r)\nct.store(out, (b,), r)", ONE, "double"),
    "tiles-in-groups": (
        "n = ct.cdiv(x.shape[0], 32)\ng = (b // 4) * 4\ns = min(n - g, 4)\nj = g + (b - g + 1) % s\n"
        "u = ct.load(x, (j,), (32,))\nct.store(out, (j,), 2.0 * u)", ONE, "double"),
}  # fmt: skip


@pytest.mark.random
@pytest.mark.parametrize("name", HONEST)
def test_honest_integers_keep_their_probability(name: str, tmp_path: Path, one_sandbox: Sandbox) -> None:
    body, args, reference = HONEST[name]
    kernel = judged(body, args, reference, tmp_path, one_sandbox)
    assert kernel.accepted, kernel.reasons
    assert kernel.equal is not None
    assert not kernel.equal["tried"]


@pytest.mark.random
@pytest.mark.parametrize(
    ("dtype", "between", "back"),
    [
        ("i64", "float64", "int64"),
        ("u64", "float64", "uint64"),
        ("i32", "float32", "int32"),
        ("i16", "bfloat16", "int16"),
    ],
)
def test_integers_hold_more_digits_than_floats(
    dtype: str, between: str, back: str, tmp_path: Path, one_sandbox: Sandbox
) -> None:
    body = f"ct.store(out, (b,), ct.astype(ct.astype(t, ct.{between}), ct.{back}))"
    kernel = judged(body, {"x": f"{dtype}[N]", "out": f"{dtype}[N]"}, "same", tmp_path, one_sandbox)
    assert kernel.verdict == "proved"
    assert kernel.reasons[0].id == "wrong-result", kernel.reasons


@pytest.mark.random
def test_a_scale_of_0_is_excused_where_the_reference_has_no_value(tmp_path: Path, one_sandbox: Sandbox) -> None:
    body = "ct.store(out, (b,), ct.astype(t / a, ct.int32))"
    kernel = judged(body, WITH_SCALE, "steps", tmp_path, one_sandbox)
    assert kernel.accepted, kernel.reasons
    assert kernel.trial is not None
    assert any(each.endswith("floats: zeros: the reference has no value there") for each in kernel.trial.not_tried)
    clipped = "q = ct.minimum(ct.maximum(ct.floor(t / a), -9.0), 9.0)\nct.store(out, (b,), ct.astype(q, ct.int32))"
    assert judged(clipped, WITH_SCALE, "clipped", tmp_path, one_sandbox).accepted
    refused = judged(body, WITH_SCALE, "scaled", tmp_path, one_sandbox)
    assert [each.id for each in refused.reasons] == ["trial-stopped"]
