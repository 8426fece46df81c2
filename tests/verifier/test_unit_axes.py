"""Dimensions of size 1: the compiler assumes things of their strides that no address depends on."""

from __future__ import annotations

from typing import Any

import cuda.tile as ct
import numpy as np
import pytest

import tileverify

N = 37


@ct.kernel  # type: ignore[untyped-decorator]
def double(x: Any, out: Any, tile: ct.Constant[int]) -> None:
    j = ct.bid(0)
    ct.store(out, (0, j), ct.load(x, (0, j), (1, tile)) * 2)


@ct.kernel  # type: ignore[untyped-decorator]
def by_stride(x: Any, out: Any, tile: ct.Constant[int]) -> None:
    j = ct.bid(0)
    ct.store(out, (0, j), ct.load(x, (0, j), (1, tile)) * x.strides[0])


@pytest.mark.parametrize("strides", ["", "; strides=(ld, 1)", "; strides=(37, 1)"])
def test_such_a_stride_need_not_be_divisible(strides: str) -> None:
    array = f"f32[1, N{strides}]"
    args: dict[str, Any] = {"x": array, "out": array, "tile": 16}
    checked = tileverify.check(double, args=args, grid=["cdiv(N, 16)"], deny_requires=True)
    assert checked, str(checked)
    assert any("no address depends on it" in note for note in checked.results[0].notes)


def test_such_launches_are_made() -> None:
    x, out = np.ones((1, N), np.float32), np.zeros((1, N), np.float32)
    tileverify.launch(None, (3,), double, (x, out, 16))
    assert np.array_equal(out, 2 * x)


def test_who_reads_the_stride_gets_what_is_passed() -> None:
    x, out = np.ones((1, N), np.float32), np.zeros((1, N), np.float32)
    tileverify.launch(None, (3,), by_stride, (x, out, 16))
    assert np.array_equal(out, N * x)
