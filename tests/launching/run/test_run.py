"""`tileverify run`: what is run, what is refused, and whether the outputs are right."""

from __future__ import annotations

import struct
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import CommandLine

from tileverify.launching.run import RunOptions, RunResult, run_target

KERNELS = """\
import cuda.tile as ct


@ct.kernel
def axpy(a, n, x, out):
    i = ct.bid(0)
    tile = a * ct.load(x, index=(i,), shape=(16,)) + n
    ct.store(out, index=(i,), tile=ct.astype(tile, out.dtype))


@ct.kernel
def halves(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(16,)))


@ct.kernel
def scatter(idx, x, out):
    lanes = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    places = ct.gather(idx, (lanes,), padding_value=-1)
    ct.scatter(out, (places,), ct.gather(x, (lanes,)))


@ct.kernel
def add_rows(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i, 0), tile=ct.load(x, index=(i, 0), shape=(1, 16)) * 2)
"""
SPEC = """\
[[launch]]
kernel = "axpy"
name = "any"
grid = ["cdiv(N, 16)"]
requires = ["N % 4 == 0", "n < N"]
args = { a = "f32", n = "i32", x = "f32[N]", out = "f32[N]" }

[[launch]]
kernel = "axpy"
name = "free-grid"
args = { a = "f32", n = "i32", x = "bf16[2 * N]", out = "bf16[2 * N]" }

[[launch]]
kernel = "axpy"
name = "one-array"
grid = ["cdiv(N, 16)"]
requires = ["x is out"]
alias = [["x", "out"]]
args = { a = "f32", n = "i32", x = "f32[N]", out = "f32[N]" }

[[launch]]
kernel = "halves"
grid = ["cdiv(N, 16)"]
requires = ["N > 16"]
args = { x = "f32[N]", out = "f32[N]" }

[[launch]]
kernel = "scatter"
name = "permutation"
grid = ["cdiv(N, 16)"]
data = ["permutation(idx)"]
args = { idx = "i32[N]", x = "f32[N]", out = "f32[N]" }

[[launch]]
kernel = "scatter"
name = "any-data"
grid = ["cdiv(N, 16)"]
args = { idx = "i32[N]", x = "f32[N]", out = "f32[N]" }

[[launch]]
kernel = "add_rows"
grid = ["M"]
args = { x = "f32[M, 16; strides=(ldx, 1)]", out = "f32[M, 16]" }
"""


@pytest.fixture(autouse=True)
def kernels(tileverify: CommandLine) -> None:
    Path("k.py").write_text(KERNELS)
    Path("k.tileverify.toml").write_text(SPEC)


def elements(result: RunResult, name: str) -> np.ndarray[Any, Any]:
    return next(array.elements for array in result.arrays if array.name == name)


def floats(*shape: int, seed: int = 7) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def fused(a: float, x: np.ndarray[Any, Any], n: float) -> np.ndarray[Any, Any]:
    """Multiply and add with one rounding, as cuTile compiles them; float64 holds the product exactly."""
    return (a * x.astype(np.float64) + n).astype(np.float32)


# ------------------------------------------------------------------------------------------------ running
def test_outputs_are_right(tileverify: CommandLine) -> None:
    x = floats(40)
    np.save("x.npy", x)
    arguments = ("run", "k.py::axpy::any", "--input", "x=x.npy", "--arg", "a=2.5", "--arg", "n=-3", "--save", "o.npz")
    ran = tileverify(*arguments)
    assert ran.code == 0, ran.err
    assert "reference interpreter" in ran.out
    assert "grid (3, 1, 1), N = 40, n = -3, a = 2.5" in ran.out
    assert "generated from seed 0: out" in ran.out
    assert ran.err == "saved to o.npz: out\n"
    with np.load("o.npz") as saved:
        assert saved.files == ["out"]
        np.testing.assert_array_equal(saved["out"], fused(2.5, x, -3))
    row = next(line.split() for line in ran.out.splitlines() if line.startswith("out "))
    assert row[:6] == ["out", "40", "f32", "40", "of", "40"]
    assert next(line for line in ran.out.splitlines() if line.startswith("x ")).split()[3] == "-"


def test_a_folder_of_arrays_in_and_out(tileverify: CommandLine) -> None:
    Path("in").mkdir()
    np.save("in/x.npy", floats(32))
    assert tileverify("run", "k.py::axpy::any", "--inputs", "in", "--arg", "n=0", "--save", "made/new").code == 0
    np.testing.assert_array_equal(np.load("made/new/out.npy"), floats(32))


def test_the_seed_decides_what_is_generated(tileverify: CommandLine) -> None:
    def table(*more: str) -> list[str]:
        ran = tileverify("run", "k.py::axpy::any", *more)
        assert ran.code == 0, ran.err
        return ran.out.splitlines()[5:]

    assert table() == table("--seed", "0") != table("--seed", "1")


def test_sizes_are_chosen_within_the_contract() -> None:
    chosen = run_target("k.py::axpy::any", RunOptions())
    assert chosen.values["N"] % 4 == 0
    assert chosen.values["n"] < chosen.values["N"]
    assert run_target("k.py::axpy::any", RunOptions(sizes={"N": 20})).grid == (2, 1, 1)


def test_rows_with_gaps_keep_their_gaps() -> None:
    x = floats(5, 16)
    result = run_target("k.py::add_rows", RunOptions(sizes={"ldx": 19}, arrays={"x": x}))
    np.testing.assert_array_equal(elements(result, "out"), x * 2)
    assert result.values == {"M": 5, "ldx": 19}


def test_one_array_by_two_names() -> None:
    x = floats(24)
    result = run_target("k.py::axpy::one-array", RunOptions(arrays={"out": x}, args={"a": "3", "n": "1"}))
    np.testing.assert_array_equal(elements(result, "x"), fused(3, x, 1))
    np.testing.assert_array_equal(elements(result, "out"), fused(3, x, 1))


def test_generated_data_keeps_the_facts() -> None:
    result = run_target("k.py::scatter::permutation", RunOptions(sizes={"N": 50}))
    idx, x, out = (elements(result, name) for name in ("idx", "x", "out"))
    assert sorted(idx) == list(range(50))
    np.testing.assert_array_equal(out[idx], x)


def test_formats_that_numpy_lacks_are_raw_bits(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    bits = np.array([0x3F80, 0xC000] * 8, np.uint16)  # 1, -2
    np.savez("in.npz", x=bits)
    scalars = ("--arg", "a=2", "--arg", "n=1")
    ran = tileverify("run", "k.py::axpy::free-grid", *scalars, "--inputs", "in.npz", "--save", "o.npz")
    assert ran.code == 0, ran.err
    assert ran.err == "saved to o.npz: out; as raw bits: out (bf16: .view(ml_dtypes.bfloat16))\n"
    assert "N = 8" in ran.out
    with np.load("o.npz") as saved:
        assert saved["out"].tolist() == [0x4040, 0xC040] * 8  # 3, -3
    (out,) = (line.split() for line in ran.out.splitlines() if line.startswith("out "))
    assert out[-2:] == ["-3", "3"]


def test_formats_of_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_target("k.py::axpy::free-grid", RunOptions(sizes={"N": 8}))
    out = next(array for array in result.arrays if array.name == "out")
    monkeypatch.setitem(sys.modules, "ml_dtypes", types.SimpleNamespace(bfloat16=np.dtype("V2")))
    assert out.presented.dtype == np.dtype("V2")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert out.presented.dtype == np.uint16


def test_the_grid_of_a_spec_without_one() -> None:
    free = run_target("k.py::axpy::free-grid", RunOptions(sizes={"N": 20}))
    assert free.verdict.requires
    assert free.grid == (3, 1, 1)  # as many blocks as the clause of the proof allows
    fewer = run_target("k.py::axpy::free-grid", RunOptions(sizes={"N": 20}, grid=(2,)))
    written = {array.name: array.written for array in fewer.arrays}
    assert (fewer.grid, written) == ((2, 1, 1), {"x": 0, "out": 32})


# --------------------------------------------------------------------------------------------- refusing
def test_what_is_not_proved_is_refused(tileverify: CommandLine) -> None:
    refuted = tileverify("run", "k.py::halves")
    assert (refuted.code, refuted.out) == (1, "")
    assert "refuted, not proved (TV101" in refuted.err
    assert "--unproved" in refuted.err
    undecided = tileverify("run", "k.py::scatter::any-data")
    assert (undecided.code, undecided.out) == (3, "")
    assert len(undecided.err.splitlines()) == 1


def test_unproved(tileverify: CommandLine) -> None:
    ran = tileverify("run", "k.py::halves", "--unproved")
    assert ran.code == 0, ran.err
    assert "halves [0]: refuted" in ran.out
    assert "not proved: the blocks ran one after the other" in ran.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["k.py::axpy::any", "--size", "N=6"], "'N % 4 == 0' does not hold for N = 6"),
        (["k.py::axpy::any", "--size", "N=8", "--arg", "n=8"], "'n < N' does not hold for N = 8, n = 8"),
        (["k.py::axpy::any", "--arg", "n=3000000000"], "'n fits i32' does not hold for n = 3000000000"),
        (["k.py::axpy::any", "--size", "N=-4"], "'0 <= N' does not hold for N = -4"),
        (["k.py::axpy::any", "--size", "M=4"], "no free size, scalar or grid axis 'M' (there are: N, n)"),
        (["k.py::axpy::any", "--arg", "m=4"], "no runtime scalar 'm' (there are: a, n)"),
        (["k.py::axpy::any", "--arg", "a=x"], "a is a float"),
        (["k.py::axpy::any", "--arg", "n=1.5"], "n is an integer"),
        (["k.py::axpy::any", "--size", "N"], "write --size NAME=VALUE"),
        (["k.py::axpy::any", "--size", "N=32", "--grid", "9"], "'grid.x == 9' does not hold for N = 32"),
        (["k.py::axpy::free-grid", "--size", "N=8", "--grid", "2"], "'grid.x <="),
        (["k.py::axpy::free-grid", "--grid", "2,2"], "'grid.y == 1' does not hold for grid.y = 2"),
        (["k.py::axpy::free-grid", "--grid", "1,1,1,1"], "one to three axes"),
        (["k.py::axpy"], "names 3 launches; run one of them: k.py::axpy::any, k.py::axpy::free-grid"),
        (["k.py::add_rows", "--size", "ldx=15", "--size", "M=2"], "the elements of x do not share memory"),
        (["k.py::axpy::any", "--input", "x=none.npy"], "cannot read 'none.npy'"),
        (["k.py::axpy::any", "--inputs", "k.py"], "no .npy or .npz file"),
        (["k.py::axpy::any", "--save", "no/o.npz"], "--save: there is no folder 'no'"),
        (["k.py::axpy::any", "--save", "k.py"], "neither a .npz file nor a folder"),
    ],
)
def test_refused_in_one_sentence(tileverify: CommandLine, arguments: Sequence[str], sentence: str) -> None:
    ran = tileverify("run", *arguments)
    assert (ran.code, ran.out) == (2, ""), ran
    assert sentence in ran.err
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("launch", "arrays", "sentence"),
    [
        ("any", {"x": floats(6)}, "'N % 4 == 0' does not hold for N = 6"),
        ("any", {"x": floats(8), "out": floats(12)}, "'out.shape[0] == 12 as in the input' does not hold for N = 8"),
        ("any", {"x": floats(4, 4)}, "the input x has 2 dimensions, the spec says 1"),
        ("any", {"x": floats(8).astype(np.float64)}, "the input x holds float64 elements, but the spec says f32"),
        ("any", {"y": floats(8)}, "no array 'y' (there are: x, out)"),
        ("free-grid", {"x": floats(8)}, "float32 elements, but the spec says bf16 (bfloat16 or its bits as uint16)"),
        ("free-grid", {"x": np.zeros(7, np.uint16)}, "no small values of N"),
        ("one-array", {"x": floats(8), "out": floats(8, seed=8)}, "'out is x', but the inputs differ"),
    ],
)
def test_inputs_outside_the_contract(
    tileverify: CommandLine, launch: str, arrays: dict[str, np.ndarray[Any, Any]], sentence: str
) -> None:
    np.savez("in.npz", **arrays)  # type: ignore[arg-type]
    ran = tileverify("run", f"k.py::axpy::{launch}", "--inputs", "in.npz")
    assert (ran.code, ran.out) == (2, ""), ran
    assert sentence in ran.err


@pytest.mark.parametrize(
    ("idx", "sentence"),
    [
        ([0, 1, 1, 2], "'permutation(idx)' does not hold, idx[1] = 1 is also idx[2]"),
        ([0, 1, 4, 2], "'permutation(idx)' does not hold, idx[2] = 4 is not in [0, 4)"),
        ([-1, 1, 3, 2], "'permutation(idx)' does not hold, idx[0] = -1 is not in [0, 4)"),
    ],
)
def test_contents_that_break_a_fact(tileverify: CommandLine, idx: list[int], sentence: str) -> None:
    np.save("idx.npy", np.array(idx, np.int32))
    ran = tileverify("run", "k.py::scatter::permutation", "--input", "idx=idx.npy")
    assert ran.code == 2
    assert sentence in ran.err


# --------------------------------------------------------------------------------------- optional packages
def test_safetensors(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("in.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    without = tileverify("run", "k.py::axpy::free-grid", "--inputs", "in.safetensors")
    assert without.code == 2
    assert "install it with: pip install safetensors" in without.err

    bits = np.array([0x3F80] * 16, np.uint16)
    tensors = [("x", {"dtype": "BF16", "shape": [16], "data": bits.tobytes()})]
    stand_in = types.SimpleNamespace(SafetensorError=ValueError, deserialize=lambda data: tensors)
    monkeypatch.setitem(sys.modules, "safetensors", stand_in)
    ran = tileverify(
        *("run", "k.py::axpy::free-grid", "--inputs", "in.safetensors", "--arg", "a=2", "--arg", "n=1", "--save", "out")
    )
    assert ran.code == 0, ran.err
    assert np.load("out/out.npy").tolist() == [0x4040] * 16
    wrong = tileverify("run", "k.py::axpy::any", "--inputs", "in.safetensors")
    assert wrong.code == 2
    assert "but the spec says f32" in wrong.err


def test_help_loads_nothing_heavy(tileverify: CommandLine) -> None:
    ran = tileverify("run", "--help")
    assert ran.code == 0
    assert "--unproved" in ran.out
