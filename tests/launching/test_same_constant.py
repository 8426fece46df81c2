"""Launches of a bundle whose constants, tuples and numbers are of other kinds than what it was built for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import CommandLine

import tileverify as tv
from tileverify.backend.guard import LaunchRefused
from tileverify.launching.bundled import BundledKernel, load
from tileverify.launching.calls import same_constant
from tileverify.system.errors import TileVerifyError, UsageError

KERNELS = """
import cuda.tile as ct

@ct.kernel
def scaled(pair, out, SHAPE: ct.Constant[tuple], BY: ct.Constant[float]):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(pair[0], (i,), SHAPE) * pair[1] * BY)
"""
SPEC = """
[[launch]]
kernel = "scaled"
grid = ["min(512 // N, cdiv(N, 128))"]
args = { pair = ["f32[N]", "f32"], out = "f32[N]", SHAPE = [128], BY = 2.0 }
"""
CONSTANTS = [0, 1, True, False, 0.0, -0.0, 1.0, math.nan, math.inf, None, "1", (1,), (1.0,), (), ((1,),)]
"""Different from each other, although many are `==`."""


@pytest.mark.parametrize("compiled", CONSTANTS, ids=repr)
def test_a_constant_is_the_same_as_itself_alone(compiled: object) -> None:
    assert [each for each in CONSTANTS if same_constant(compiled, each)] == [compiled]


def test_a_constant_may_be_of_numpy_and_a_tuple_a_list() -> None:
    assert same_constant(128, np.int64(128))
    assert same_constant(0.5, np.float32(0.5))
    assert same_constant([1, 2], (1, 2))
    assert same_constant(math.nan, float("nan"))
    for given in (np.array(128), np.array([128, 128]), np.bool_(True), 128j, Fraction(1, 3)):
        assert not same_constant(128, given)


@pytest.fixture
def scaled(tileverify: CommandLine) -> BundledKernel:
    Path("k.py").write_text(KERNELS)
    Path("k.tileverify.toml").write_text(SPEC)
    built = tileverify("build", "k.py::scaled", "-o", "scaled.tvk", "--arch", "none")
    assert built.code == 0, built.err
    return load("scaled.tvk", trust_proof=True)


def ones(size: int = 512) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.ones(size, np.float32)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({2: (128.0,)}, r"compiled for SHAPE = \[128\], not \(128\.0,\) \(TV502\)"),
        ({2: 128}, r"compiled for SHAPE = \[128\], not 128 \(TV502\)"),
        ({2: np.array([128, 128])}, r"compiled for SHAPE = \[128\], not array"),
        ({3: 2}, r"compiled for BY = 2\.0, not 2 \(TV502\)"),
        ({3: np.ones(3)}, r"compiled for BY = 2\.0, not array"),
        ({0: (ones(),)}, "`pair` has 1 items"),
        ({0: 5}, "`pair` of 'scaled' is a int, no tuple"),
        ({0: None}, "`pair` of 'scaled' is a NoneType, no tuple"),
        ({0: {"a": 1, "b": 2}}, "`pair` of 'scaled' is a dict, no tuple"),
        ({0: (ones(), 10**400)}, r"`pair\[1\]` does not fit f32 \(TV502\)"),
        ({0: (ones(), np.array(1.0))}, r"`pair\[1\]` is an array, the contract says f32"),
    ],
)
def test_other_kinds_are_refused_in_a_sentence(scaled: BundledKernel, change: dict[int, Any], said: str) -> None:
    arguments: list[Any] = [(ones(), 3.0), out := ones(), (128,), 2.0]
    for place, value in change.items():
        arguments[place] = value
    with pytest.raises(TileVerifyError, match=said):
        tv.launch(None, (1,), scaled, arguments)
    assert (out == 1).all()


@pytest.mark.parametrize("shape", [(128,), [128], (np.int32(128),)])
def test_a_tuple_that_was_compiled_in_is_given_again(scaled: BundledKernel, shape: Sequence[object]) -> None:
    tv.launch(None, (1,), scaled, ((ones(), 3.0), out := ones(), shape, 2.0))
    assert (out[:128] == 6).all()


def test_a_covering_grid_without_a_value_is_refused(scaled: BundledKernel) -> None:
    empty = ones(0)
    with pytest.raises(LaunchRefused, match=r"its grid divides by zero, .*\(TV502\)"):
        tv.launch(None, None, scaled, ((empty, 3.0), empty, (128,), 2.0))


def test_what_cuda_tile_asserts_of_arguments_is_told(scaled: BundledKernel, tmp_path: Path) -> None:
    import importlib.util

    found = importlib.util.spec_from_file_location("scaling", "k.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    with pytest.raises(UsageError, match="'scaled' cannot be launched with these arguments"):
        tv.launch(None, (1,), module.scaled, ([ones(), 3.0], ones(), (128,), 2.0))
