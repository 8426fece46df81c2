"""Bundles that are launched: the contract in them is checked, and nothing else runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import CommandLine
from tests.launching.test_launcher import OnDevice, changed_meanwhile

from tileverify.backend.guard import LaunchRefused
from tileverify.corpus import ROOT
from tileverify.launching.bundle.manifest import BundleRefused
from tileverify.launching.bundled import BundledKernel, load
from tileverify.system.errors import UsageError

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture
def axpy(tileverify: CommandLine) -> BundledKernel:
    built = tileverify("build", f"{ROOT / 'race_free' / 'axpy.py'}::axpy::any-size", "-o", "axpy.tvk", "--arch", "none")
    assert built.code == 0
    return load("axpy.tvk")


def arrays(size: int) -> tuple[Array, Array]:
    return np.arange(size, dtype=np.float32), np.ones(size, np.float32)


def test_a_bundle_runs(axpy: BundledKernel) -> None:
    x, y = arrays(1000)
    axpy.launch(None, (2,), (3.0, x, y, 512))
    assert np.array_equal(y, 3 * x + 1)
    axpy.launch(None, None, (1.0, x, y, 512))
    assert np.array_equal(y, 4 * x + 1)


@pytest.mark.parametrize(
    ("grid", "change", "message"),
    [
        ((3,), {}, r"it is not so that grid\.x is cdiv\(N, 512\) for .*grid\.x = 3.*\(TV502\)"),
        ((1,), {}, r"it is not so that grid\.x is cdiv\(N, 512\)"),
        ((2,), {1: np.zeros(999, np.float32)}, r"it is not so that y\.shape\[0\] is N"),
        ((2,), {1: np.zeros(1000, np.float64)}, "`x` has elements of f64, the contract says f32"),
        ((2,), {1: np.zeros((1000, 1), np.float32)}, "`x` has rank 2, the contract says 1"),
        ((2,), {1: np.zeros(2000, np.float32)[::2]}, "`x` is not contiguous"),
        ((2,), {3: 256}, r"it was compiled for TILE = 512, not 256 \(TV502\)"),
        ((2,), {1: 7}, "`x` is 7, the contract says an array"),
    ],
)
def test_what_the_contract_does_not_admit_is_refused(
    axpy: BundledKernel, grid: tuple[int, ...], change: dict[int, Any], message: str
) -> None:
    x, y = arrays(1000)
    arguments: list[Any] = [3.0, x, y, 512]
    for place, value in change.items():
        arguments[place] = value
    with pytest.raises(LaunchRefused, match=message):
        axpy.launch(None, grid, arguments)
    assert (y == 1).all()


def test_overlapping_arguments_are_refused(axpy: BundledKernel) -> None:
    memory = np.ones(2000, np.float32)
    with pytest.raises(LaunchRefused, match=r"`x` and `y` overlap in memory, .*\(TV501\)"):
        axpy.launch(None, (2,), (3.0, memory[16:1016], memory[:1000], 512))


def test_a_proof_about_numbers_admits_other_sizes(tileverify: CommandLine) -> None:
    target = f"{ROOT / 'race_free' / 'axpy.py'}::axpy::one-million"
    assert tileverify("build", target, "-o", "wide.tvk", "--arch", "none").code == 0
    wide = load("wide.tvk")
    x, y = arrays(1024)
    wide.launch(None, (2,), (3.0, x, y, 512))
    assert np.array_equal(y, 3 * x + 1)
    with pytest.raises(LaunchRefused, match=r"'x\.shape\[0\] % 16 == 0' does not hold for .*x\.shape\[0\] = 1000"):
        wide.launch(None, (2,), (3.0, *arrays(1000), 512))


def test_a_changed_bundle_is_refused(axpy: BundledKernel) -> None:
    data = bytearray(Path("axpy.tvk").read_bytes())
    data[len(data) // 2] ^= 1
    Path("axpy.tvk").write_bytes(bytes(data))
    with pytest.raises(BundleRefused, match="TV503"):
        load("axpy.tvk")
    with pytest.raises(UsageError, match=r"cannot read the bundle 'none\.tvk'"):
        load("none.tvk")


def test_too_few_arguments(axpy: BundledKernel) -> None:
    with pytest.raises(UsageError, match="'axpy' has 4 parameters, 1 were given"):
        axpy.launch(None, (2,), (3.0,))


def test_facts_in_a_bundle_are_checked(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    target = f"{ROOT / 'race_free' / 'scatter_permutation.py'}::scatter_elements::injective"
    assert tileverify("build", target, "-o", "scatter.tvk", "--arch", "none").code == 0
    scatter = load("scatter.tvk")
    x, out = np.arange(300, dtype=np.float32), np.zeros(500, np.float32)
    places = np.arange(300, dtype=np.int32) + 100
    scatter.launch(None, (2,), (x, places, out, 256))
    assert np.array_equal(out[100:400], x)
    places[7] = places[8]
    with pytest.raises(LaunchRefused, match=r"'injective\(target\)' does not hold, .*108.*\(TV502\)"):
        scatter.launch(None, (2,), (x, places, out, 256))
    scatter.launch(None, (2,), (x, places, out, 256), vouch=True)
    places[7] = 407
    changed_meanwhile(monkeypatch, lambda: places.fill(100))
    out[:] = -1
    with pytest.raises(LaunchRefused, match=r"'injective\(target\)' does not hold"):
        scatter.launch(None, (2,), (x, places, out, 256))
    assert (out == -1).all()


def test_arrays_on_the_host_and_on_a_gpu_are_refused(axpy: BundledKernel) -> None:
    _, y = arrays(1000)
    with pytest.raises(UsageError, match="was given arrays on the host and on a GPU"):
        axpy.launch(None, (2,), (3.0, OnDevice(0x7F00DEAD0000, True), y, 512))


# ------------------------------------------------------------------------------------------- lists of arrays
@pytest.fixture
def copy_lists(tileverify: CommandLine) -> BundledKernel:
    """Block i copies a tile of 64 from array i of one list, of 512 elements each, to array i of another."""
    target = f"{ROOT / 'twins' / 'list_targets.py'}::copy_between_lists"
    assert tileverify("build", target, "-o", "lists.tvk", "--arch", "none").code == 0
    return load("lists.tvk")


def lists(count: int) -> tuple[list[Array], list[Array]]:
    return [np.arange(512, dtype=np.int32) + 1000 * k for k in range(count)], [
        np.zeros(512, np.int32) for _ in range(count)
    ]


def test_a_bundle_runs_with_lists_of_any_length(copy_lists: BundledKernel) -> None:
    for count in (1, 3, 2, 3):
        xs, ys = lists(count)
        copy_lists.launch(None, (count,), (xs, ys, 64))
        for x, y in zip(xs, ys, strict=True):
            assert np.array_equal(y[:64], x[:64])
            assert not y[64:].any()


def test_one_array_may_be_read_from_two_places_of_a_list(copy_lists: BundledKernel) -> None:
    (x,), ys = lists(1)[0], lists(2)[1]
    copy_lists.launch(None, (2,), ([x, x], ys, 64))
    assert np.array_equal(ys[0], ys[1])


@pytest.mark.parametrize(
    ("grid", "change", "error", "message"),
    [
        (3, lambda xs, ys: None, LaunchRefused, r"it is not so that grid\.x is L for .*grid\.x = 3"),
        (2, lambda xs, ys: ys.append(ys[0][:512].copy()), LaunchRefused, r"it is not so that ys\.length is L"),
        (2, lambda xs, ys: ys.__setitem__(1, ys[0]), LaunchRefused, r"`ys\[0\]` and `ys\[1\]` overlap .*TV501"),
        (2, lambda xs, ys: ys.__setitem__(1, xs[0]), LaunchRefused, r"`xs\[0\]` and `ys\[1\]` overlap .*TV501"),
        (2, lambda xs, ys: xs.__setitem__(1, xs[1][:500]), LaunchRefused, r"xs\[1\]\.shape\[0\] is 512"),
        (2, lambda xs, ys: xs.__setitem__(0, xs[0].astype(np.int64)), LaunchRefused, r"`xs\[0\]` has elements of i64"),
        (2, lambda xs, ys: xs.__setitem__(0, 7), UsageError, "`xs` of 'copy_between_lists' is a int, no array"),
        (129, lambda xs, ys: None, UsageError, "with lists of more than 128 arrays"),
    ],
)  # fmt: skip
def test_a_list_that_the_contract_does_not_admit_is_refused(
    copy_lists: BundledKernel, grid: int, change: Any, error: type[Exception], message: str
) -> None:
    xs, ys = lists(min(grid, 2) if grid < 100 else grid)
    change(xs, ys)
    with pytest.raises(error, match=message):
        copy_lists.launch(None, (grid,), (xs, ys, 64))
    assert not any(y.any() for y in ys if y is not xs[0])


def test_a_list_has_to_be_one(copy_lists: BundledKernel) -> None:
    xs, ys = lists(1)
    with pytest.raises(UsageError, match="`ys` is a ndarray, the contract says a list of arrays"):
        copy_lists.launch(None, (1,), (xs, ys[0], 64))


def test_names_in_a_list_are_those_of_each_array(tileverify: CommandLine) -> None:
    """Arrays of several sizes, whose gather is masked by the size of each."""
    target = f"{ROOT / 'race_free' / 'list_of_arrays.py'}::sum_all"
    assert tileverify("build", target, "-o", "sum.tvk", "--arch", "none").code == 0
    out = np.full(600, np.nan, np.float32)
    given = [np.ones(600, np.float32), np.full(300, 2, np.float32)]
    load("sum.tvk").launch(None, None, (given, out, 256))
    assert np.array_equal(out, np.where(np.arange(600) < 300, 3, 1))


@pytest.fixture
def double_rows(tileverify: CommandLine) -> BundledKernel:
    """Of each array of a list it asks for rows of 64, for distances of whole 16 bytes, and for alignment to 16."""
    target = f"{ROOT / 'contract' / 'every_array_of_list.py'}::double_rows::rows-of-a-tile"
    assert tileverify("build", target, "-o", "rows.tvk", "--arch", "none").code == 0
    return load("rows.tvk")


def rows(columns: int, distance: int, offset: int = 0) -> Array:
    """Three rows of ones, ``offset`` bytes behind an aligned place."""
    memory = np.zeros(4 * 3 * distance + 64, np.uint8)
    start = -memory.ctypes.data % 16 + offset
    whole = memory[start : start + 4 * 3 * distance].view(np.float32)
    whole[:] = 1
    return whole.reshape(3, distance)[:, :columns]


def test_what_is_said_of_every_array_of_a_list_is_checked_of_each(double_rows: BundledKernel) -> None:
    xs = [rows(64, 64), rows(64, 68), rows(64, 100)]
    double_rows.launch(None, (3,), (xs, 64))
    assert all((x == 2).all() for x in xs)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (rows(64, 64, offset=4), r"'xs\[1\]\.address % 16 == 0' does not hold"),
        (rows(64, 66), r"'xs\[1\]\.strides\[0\] % 4 == 0' does not hold for xs\[1\]\.strides\[0\] = 66"),
        (rows(60, 64), r"'xs\[1\]\.shape\[1\] == 64' does not hold"),
    ],
)
def test_a_list_with_one_array_that_is_not_so_is_refused(
    double_rows: BundledKernel, wrong: Array, message: str
) -> None:
    xs = [rows(64, 64), wrong]
    with pytest.raises(LaunchRefused, match=message):
        double_rows.launch(None, (2,), (xs, 64))
    assert all((x == 1).all() for x in xs)
