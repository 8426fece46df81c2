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


@ct.kernel  # type: ignore[untyped-decorator]
def pick(x: Any, ids: Any, y: Any) -> None:
    at = ct.load(ids, (ct.bid(0), 0), shape=())
    ct.scatter(y, ct.bid(0), ct.gather(x, ct.astype(at, ct.int32), check_bounds=False))


@ct.kernel  # type: ignore[untyped-decorator]
def pick_of_three(x: Any, ids: Any, y: Any) -> None:
    at = ct.load(ids, (0, ct.bid(0), 0), shape=())
    ct.scatter(y, ct.bid(0), ct.gather(x, ct.astype(at, ct.int32), check_bounds=False))


@pytest.mark.parametrize(
    ("kernel", "ids", "blocks"),
    [
        (pick, "i64[1, 1]", 1),
        (pick, "i32[2, 1]", 2),
        (pick, "i32[N, 1]", "N"),
        (pick_of_three, "i32[1, 1, 1]", 1),
        (pick_of_three, "i32[1, 2, 1]", 2),
        (pick_of_three, "i32[1, N, 1]", "N"),
    ],
)
def test_what_such_arrays_hold_is_known_by_element(kernel: Any, ids: str, blocks: int | str) -> None:
    """All strides are 1 where all dimensions but one have one element: facts speak of these elements, too."""
    args: dict[str, Any] = {"x": "f32[100]", "ids": ids, "y": f"f32[{blocks}]"}

    def verdict(facts: list[str]) -> str:
        checked = tileverify.check(kernel, args=args, grid=[blocks], data=facts, deny_requires=True)
        return str(checked.results[0].verdict.value)

    assert verdict(["range(ids, 0, x.shape[0])"]) == "proved"
    assert verdict(["range(ids, 0, x.shape[0] + 1)"]) == "refuted"  # a value that was written leaves the array
    assert verdict([]) == "undecided"
