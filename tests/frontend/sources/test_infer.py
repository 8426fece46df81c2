"""Kernels without a launch spec: what is made up for them, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.contract.arguments import print_description
from tileverify.contract.launch import KernelUnit
from tileverify.system.errors import SourceError

from .compiling import failed, unit, write

SOURCES = {
    "tile indices": (
        """
@ct.kernel
def k(x, y, tile: ct.Constant[int]):
    ct.store(y, (ct.bid(0), 0), ct.load(x, index=(ct.bid(0), 0), shape=(tile, tile)))
""",
        {"x": '"f32[x0, x1]"', "y": '"f32[y0, y1]"', "tile": "128"},
    ),
    "an index that is no tuple, in a variable": (
        """
@ct.kernel
def k(x, y):
    where = (ct.bid(0), 0, 0)
    ct.store(y, ct.bid(1), ct.reshape(ct.load(x, where, shape=(1, 1, 16)), (16,)))
""",
        {"x": '"f32[x0, x1, x2]"', "y": '"f32[y0]"'},
    ),
    "indices from an array": (
        """
@ct.kernel
def k(idx, x, out, tile: ct.Constant[int]):
    rows = ct.load(idx, (ct.bid(0),), (tile,)) * 2 + 1
    ct.scatter(out, rows, ct.gather(x, rows))
""",
        {"idx": '"i32[idx0]"', "x": '"f32[x0]"', "out": '"f32[out0]"', "tile": "128"},
    ),
    "bytes and words that are read as floats": (
        """
@ct.kernel
def k(x, scales, wide, out):
    i = ct.bid(0)
    small = ct.bitcast(ct.load(x, (i,), (16,)), ct.float8_e4m3fn).astype(ct.float32)
    scale = ct.bitcast(ct.load(scales, (i,), (16,)), ct.float8_e8m0fnu).astype(ct.float32)
    factor = ct.bitcast(ct.load(wide, (i,), (16,)), ct.float64).astype(ct.float32)
    ct.store(out, (i,), small * scale * factor)
""",
        {"x": '"u8[x0]"', "scales": '"u8[scales0]"', "wide": '"i64[wide0]"', "out": '"f32[out0]"'},
    ),
    "scalars by use": (
        """
@ct.kernel
def k(x, n, eps, steps, flag: bool):
    i = ct.bid(0)
    if i < n:
        for step in range(steps):
            ct.store(x, (i,), ct.load(x, (i,), (16,)) + eps)
""",
        {"x": '"f32[x0]"', "n": '"i32"', "eps": '"f32"', "steps": '"i32"', "flag": '"bool"'},
    ),
    "helpers": (
        """
def load_row(array, row, size):
    return ct.load(array, (row, 0), (1, size))

@ct.kernel
def k(x, out, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, (i, 0), load_row(x, i, size=tile))
""",
        {"x": '"f32[x0, x1]"', "out": '"f32[out0, out1]"', "tile": "128"},
    ),
    "views, slices and shapes": (
        """
@ct.kernel
def k(x, y, z):
    rows, columns = z.shape
    view = x.tiled_view((16, 16))
    part = y.slice(axis=0, start=0, stop=rows)
    view.store((0, 0), ct.reshape(ct.load(part, (0,), (256,)), (16, 16)))
    ct.store(z, (0, 0), view.load((0, 0)))
""",
        {"x": '"f32[x0, x1]"', "y": '"f32[y0]"', "z": '"f32[z0, z1]"'},
    ),
    "lists": (
        """
@ct.kernel
def k(xs, out):
    for g in range(len(xs)):
        x = xs[g]
        ct.store(out, (g, 0), ct.load(x, (0, 0), (1, 16)))
""",
        {"xs": '{ list = "f32[xs0, xs1]", length = "xs_length" }', "out": '"f32[out0, out1]"'},
    ),
    "element types from errors": (
        """
@ct.kernel
def k(counts, total):
    found = ct.load(counts, (0,), (16,)) & 3
    ct.store(total, (0,), found)
""",
        {"counts": '"i32[counts0]"', "total": '"f32[total0]"'},
    ),
    "tile sizes that compile": (
        """
@ct.kernel
def k(x, tile: ct.Constant[int]):
    ct.static_assert(tile <= 32)
    ct.store(x, (0,), ct.zeros((tile,), dtype=ct.float32))
""",
        {"x": '"f32[x0]"', "tile": "32"},
    ),
    "constants by their role": (
        """
@ct.kernel
def k(x, axis: ct.Constant[int], scale: ct.Constant[float], on: ct.Constant[bool], tile: ct.Constant[int] = 64):
    i = ct.bid(axis)
    ct.store(x, (i,), ct.load(x, (i,), (tile,)) * scale)
""",
        {"x": '"f32[x0]"', "axis": "0", "scale": "1.0", "on": "false", "tile": "64"},
    ),
    "annotations": (
        """
@ct.kernel
def k(x: ct.IndexedWithInt64, n: ct.ScalarInt64):
    if ct.bid(0) < n:
        ct.store(x, (ct.bid(0),), ct.zeros((16,), dtype=ct.float32))
""",
        {"x": '"f32[x0; index=i64]"', "n": '"i64"'},
    ),
    "names that are taken": (
        """
@ct.kernel
def k(x, x0):
    ct.store(x, (x0,), ct.zeros((16,), dtype=ct.float32))
""",
        {"x": '"f32[x0_]"', "x0": '"i32"'},
    ),
}


@pytest.mark.parametrize(("source", "expected"), SOURCES.values(), ids=SOURCES)
def test_what_is_made_up(tmp_path: Path, source: str, expected: dict[str, str]) -> None:
    of = unit(write(tmp_path, source))
    assert {argument.name: print_description(argument) for argument in of.launch.arguments} == expected
    assert of.launch.inferred
    assert of.launch.name == "inferred"
    assert of.launch.grid is None
    written = "; ".join(f"{name} = {text}" for name, text in expected.items())
    assert of.notes[0] == f"no launch spec: assumed {written}, any grid"


def test_chosen_constants_are_named(tmp_path: Path) -> None:
    source, _ = SOURCES["constants by their role"]
    of: KernelUnit = unit(write(tmp_path, source))
    assert of.notes[1] == (
        "the result holds for axis = 0, scale = 1.0, on = False only; other values need a launch spec"
    )


def test_giving_up_shows_a_spec_to_start_from(tmp_path: Path) -> None:
    source = """
@ct.kernel
def k(x, mode: ct.Constant[str], tile: ct.Constant[int]):
    ct.store(x, (0, 0), ct.zeros((tile, tile), dtype=ct.float32))
"""
    failure = failed(write(tmp_path, source))
    assert isinstance(failure.error, SourceError)
    assert (failure.kernel, failure.launch, failure.error.line) == ("k", None, 4)
    assert failure.error.message == (
        "'k' has no launch spec and nothing can be guessed for its parameter 'mode'; describe a launch in "
        'k.tileverify.toml, for example:\n[[launch]]\nkernel = "k"\ngrid = ["1"]\n[launch.args]\n'
        'x = "f32[x0, x1]"\nmode = "..."\ntile = 128'
    )


def test_giving_up_on_a_kernel_that_never_compiles(tmp_path: Path) -> None:
    source = """
@ct.kernel
def k(x):
    ct.store(x, (0,), ct.zeros((17,), dtype=ct.float32))
"""
    error = failed(write(tmp_path, source)).error
    assert error.line == 5
    assert "no guess of its arguments compiles (cuTile rejects 'k': " in error.message
    assert 'x = "f32[x0]"' in error.message
