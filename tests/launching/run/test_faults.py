"""`tileverify run`: what a kernel prints and asserts, and where it goes wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import CommandLine

from tileverify.launching import run as run_module
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict

KERNELS = """\
import cuda.tile as ct


@ct.kernel
def axpy(a, n, x, out):
    i = ct.bid(0)
    tile = a * ct.load(x, index=(i,), shape=(16,)) + n
    ct.store(out, index=(i,), tile=ct.astype(tile, out.dtype))


@ct.kernel
def prints(x, out):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(4,))
    print(f"tile {i}: {tile:.2f}")
    ct.printf("%5d|two\\nlines", i)
    ct.assert_(tile > 0, "positive")
    ct.store(out, index=(i,), tile=tile)


@ct.kernel
def totals(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(4,)), keepdims=True))


@ct.kernel
def branches(x, out):
    i = ct.bid(0)
    print("block", i)
    if ct.sum(ct.load(x, index=(i,), shape=(4,))) > 0:
        ct.store(out, index=(i,), tile=ct.full((1,), 1, dtype=out.dtype))


@ct.kernel
def copies(x, out):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(4,))
    print(tile)
    ct.store(out, index=(i,), tile=tile)
"""
SPEC = """\
[[launch]]
kernel = "axpy"
grid = ["cdiv(N, 16) + 1"]
args = { a = "f32", n = "i32", x = "f32[N]", out = "f32[N]" }

[[launch]]
kernel = "prints"
grid = ["cdiv(N, 4)"]
args = { x = "f32[N]", out = "f32[N]" }

[[launch]]
kernel = "totals"
grid = ["cdiv(N, 4)"]
args = { x = "f32[N]", out = "f32[cdiv(N, 4)]" }

[[launch]]
kernel = "branches"
grid = ["cdiv(N, 4)"]
args = { x = "f32[N]", out = "f32[cdiv(N, 4)]" }

[[launch]]
kernel = "copies"
grid = ["cdiv(N, 4)"]
args = { x = "i32[N]", out = "i32[N]" }
"""


@pytest.fixture(autouse=True)
def kernels(tileverify: CommandLine) -> None:
    Path("k.py").write_text(KERNELS)
    Path("k.tileverify.toml").write_text(SPEC)


def test_a_run_ends_at_undefined_behaviour(tileverify: CommandLine) -> None:
    ran = tileverify("run", "k.py::axpy", "--unproved", "--size", "N=16", "--save", "o.npz")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error: k.py:7: TV301 (undefined behaviour): load_view_tko in block (1, 0, 0):"
        " tile index 1 of 1 tiles along dimension 0\n"
    )
    assert not Path("o.npz").exists()


def test_a_run_may_keep_going(tileverify: CommandLine) -> None:
    ran = tileverify("run", "k.py::axpy", "--unproved", "--keep-going", "--size", "N=16", "--save", "o.npz")
    assert ran.code == 1
    assert "undefined behaviour: TV301 at k.py:7 in block (1, 0, 0): tile index 1 of 1 tiles" in ran.out
    assert "undefined behaviour: TV301 at k.py:8 in block (1, 0, 0): tile index 1 of 1 tiles" in ran.out
    assert "not proved: " in ran.out
    assert Path("o.npz").exists()


def test_a_proof_that_a_run_contradicts_is_to_be_reported(
    tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No proof is wrong as far as anyone knows, so the verdict is forged here."""
    honest = check_unit
    monkeypatch.setattr(
        run_module, "check_unit", lambda *args: replace(honest(*args), verdict=Verdict.PROVED, findings=())
    )
    ended = tileverify("run", "k.py::axpy", "--size", "N=16")
    assert ended.code == 1
    assert "this contradicts the proof: please report it" in ended.err
    went_on = tileverify("run", "k.py::axpy", "--size", "N=16", "--keep-going")
    assert went_on.code == 1
    assert went_on.out.splitlines()[-1].startswith("this contradicts the proof")


def test_prints_and_assertions(tileverify: CommandLine) -> None:
    np.save("x.npy", np.array([1, 2, 3, 4, 5, -6, 7, -8], np.float32))
    ran = tileverify("run", "k.py::prints", "--input", "x=x.npy")
    assert ran.code == 1, ran.err
    lines = ran.out.splitlines()
    start = lines.index("printed:")
    assert lines[start - 1] == (
        "assertion 'positive' at k.py:17 fails in block (1, 0, 0), lane [1] and 1 more: it is false"
    )
    assert lines[start + 1 :] == [
        "  block (0, 0, 0) at k.py:15: tile 0: [1.00, 2.00, 3.00, 4.00]",
        "  block (0, 0, 0) at k.py:16:     0|two",
        "    lines",
        "  block (1, 0, 0) at k.py:15: tile 1: [5.00, -6.00, 7.00, -8.00]",
        "  block (1, 0, 0) at k.py:16:     1|two",
        "    lines",
    ]
    np.save("x.npy", np.arange(1, 9, dtype=np.float32))
    quiet = tileverify("run", "k.py::prints", "--input", "x=x.npy")
    assert quiet.code == 0
    assert "assertion" not in quiet.out


def test_unspecified_lanes_are_printed_as_such(tileverify: CommandLine) -> None:
    np.save("x.npy", np.arange(6, dtype=np.int32))
    ran = tileverify("run", "k.py::copies", "--input", "x=x.npy")
    assert ran.code == 0, ran.err  # the lanes that nothing stands for are clipped by the store, too
    assert ran.out.splitlines()[-1].endswith(": [4, 5, <unspecified>, <unspecified>]")


def test_an_unspecified_value_must_not_be_stored(tileverify: CommandLine) -> None:
    fine = tileverify("run", "k.py::totals", "--size", "N=8")
    assert fine.code == 0, fine.err
    ran = tileverify("run", "k.py::totals", "--size", "N=6")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error: k.py:24: store_view_tko in block (1, 0, 0): it would write a value that the specification leaves open"
        " to out[1]; the value comes from k.py:24\n"
    )
    went_on = tileverify("run", "k.py::totals", "--size", "N=6", "--keep-going")
    assert went_on.code == 1
    assert "out: what stands in 1 of its elements is unspecified\n" in went_on.out
    assert "unspecified value at k.py:24 in block (1, 0, 0): it would write" in went_on.out
    row = next(line.split() for line in went_on.out.splitlines() if line.startswith("out "))
    assert row[3:7] == ["2", "of", "2", "-"]
    assert row[7] == row[8]  # of the one element that is a number


@pytest.mark.parametrize("more", [(), ("--keep-going",)])
def test_an_unspecified_value_must_not_branch(tileverify: CommandLine, more: Sequence[str]) -> None:
    ran = tileverify("run", "k.py::branches", "--size", "N=6", *more)
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "printed:",
        "  block (0, 0, 0) at k.py:30: block 0",
        "  block (1, 0, 0) at k.py:30: block 1",
    ]
    assert "error: k.py:31: if in block (1, 0, 0): a value that the specification leaves open" in ran.err
    assert "reaches its branch" in ran.err
