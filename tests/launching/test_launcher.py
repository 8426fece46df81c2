"""Launches of NumPy arrays: run where a proof covers them, refused with the reason where none does."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tileverify
from tileverify.backend.guard import LaunchRefused
from tileverify.launching import proofs
from tileverify.launching.launcher import Launcher
from tileverify.launching.on_cpu import RunStopped, turns
from tileverify.launching.optouts import UnprovedLaunch, unproved, unproved_launches
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.system.errors import UsageError

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture
def x() -> Array:
    return np.arange(1024, dtype=np.float32)


@pytest.fixture
def y() -> Array:
    return np.ones(1024, np.float32)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that were verified, one entry for each time."""
    seen: list[str] = []
    check = check_unit

    def noted(unit: Any, options: Any) -> Any:
        seen.append(unit.kernel)
        return check(unit, options)

    monkeypatch.setattr(proofs, "check_unit", noted)
    return seen


def test_a_proved_launch_runs(launcher: Launcher, kernels: ModuleType, x: Array, y: Array) -> None:
    launcher.launch(None, (8,), kernels.axpy, (2.0, x, y, 128))
    assert np.array_equal(y, 2 * x + 1)


def test_one_proof_serves_other_sizes(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array, checked: list[str]
) -> None:
    for size, grid in ((1024, 8), (512, 4), (512, 2), (256, (2, 1, 1))):
        launcher.launch(None, grid, kernels.axpy, (1.0, x[:size], y[:size], 128))
    assert checked == ["axpy"]
    assert y[0] == 1
    assert y[1] == 5
    assert y[300] == 601
    assert y[1023] == 1024


def test_another_specialisation_is_another_proof(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array, checked: list[str]
) -> None:
    launcher.launch(None, (8,), kernels.axpy, (2.0, x, y, 128))
    launcher.launch(None, (16,), kernels.axpy, (2.0, x, y, 64))
    launcher.launch(None, (8,), kernels.axpy, (2.0, x.astype(np.float64), y.astype(np.float64), 128))
    assert checked == ["axpy"] * 3


def test_a_grid_that_is_too_large_is_refused(launcher: Launcher, kernels: ModuleType, x: Array, y: Array) -> None:
    for _ in range(2):
        with pytest.raises(
            LaunchRefused, match=r"axpy was not launched, as it is refuted: .*\[TV301\] at .*kernels.py"
        ):
            launcher.launch(None, (9,), kernels.axpy, (2.0, x, y, 128))
    assert (y == 1).all()


def test_what_was_refused_is_not_verified_again(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array, checked: list[str]
) -> None:
    for _ in range(3):
        with pytest.raises(LaunchRefused, match="TV101"):
            launcher.launch(None, (8,), kernels.add_all, (x, y, 128))
    assert checked == ["add_all"]


def test_the_covering_grid(launcher: Launcher, kernels: ModuleType, x: Array, y: Array) -> None:
    launcher.launch(None, None, kernels.axpy, (2.0, x, y, 128))
    assert np.array_equal(y, 2 * x + 1)
    launcher.launch(None, None, kernels.axpy, (1.0, x[:200], y[:200], 128))
    assert y[199] == 3 * 199 + 1
    assert y[200] == 401


def test_arrays_that_overlap_are_refused(launcher: Launcher, kernels: ModuleType, y: Array) -> None:
    with pytest.raises(LaunchRefused, match=r"TV10[12]"):
        launcher.launch(None, (8,), kernels.axpy, (2.0, y[16:], y[:-16], 128))
    with pytest.raises(LaunchRefused, match="TV201"):
        launcher.launch(None, (8,), kernels.axpy, (2.0, y, y, 128))
    assert (y == 1).all()


def test_only_what_was_written_changes(launcher: Launcher, kernels: ModuleType) -> None:
    whole = np.full((16, 4), 7, np.float32)
    launcher.launch(None, (1,), kernels.axpy, (0.0, np.zeros(16, np.float32), whole[:, 1], 16))
    assert (whole == 7).all()
    launcher.launch(None, (1,), kernels.axpy, (1.0, np.arange(16, dtype=np.float32), whole[:, 1], 16))
    assert np.array_equal(whole[:, 1], 7 + np.arange(16))
    assert (whole[:, [0, 2, 3]] == 7).all()


def test_tuples_are_taken_apart(launcher: Launcher, kernels: ModuleType, x: Array, y: Array) -> None:
    out = np.zeros_like(x)
    launcher.launch(None, (8,), kernels.halves, ((x, y), out, 128))
    assert np.array_equal(out, x + 1)


def test_lists_of_arrays(launcher: Launcher, kernels: ModuleType, x: Array, y: Array, checked: list[str]) -> None:
    out = np.zeros_like(x)
    for _ in range(2):
        launcher.launch(None, (8,), kernels.sum_all, ([x, y, x], out, 3, 128))
        assert np.array_equal(out, 2 * x + 1)
    assert checked == ["sum_all"]
    with pytest.raises(LaunchRefused):
        launcher.launch(None, (8,), kernels.sum_all, ([x, y, x], out, 4, 128))
    with pytest.raises(LaunchRefused, match="TV301"):
        launcher.launch(None, (8,), kernels.sum_all, ([x, y, x[:512]], out, 3, 128))
    assert np.array_equal(out, 2 * x + 1)


def test_each_array_of_a_list_counts_with_its_own_sizes(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array, checked: list[str]
) -> None:
    """As single arrays do: the tiles of 1000 elements are as many as those of 1024, the last one is open beyond."""
    out = np.zeros_like(x)
    arrays = [x, y, x[:1000]]
    for _ in range(2):
        launcher.launch(None, (8,), kernels.sum_all, (arrays, out[:1000], 3, 128))
        assert np.array_equal(out[:1000], 2 * x[:1000] + 1)
    assert checked == ["sum_all"]
    out[:] = 0
    with pytest.raises(RunStopped, match="the specification leaves open"):
        launcher.launch(None, (8,), kernels.sum_all, (arrays, out, 3, 128))
    with pytest.raises(RunStopped, match="the specification leaves open"):
        launcher.launch(None, (8,), kernels.axpy, (1.0, x[:1000], out, 128))
    assert not out.any()


def test_facts_beside_lists_are_checked(launcher: Launcher, kernels: ModuleType, x: Array, y: Array) -> None:
    places = np.arange(1024, dtype=np.int32)
    for data in ((), ("injective(places)", "range(places, 0, y.shape[0])")):
        places[5] = 5
        launcher.launch(None, (8,), kernels.put_list, (places, [x], y, 128), data=data)
        assert np.array_equal(y, x)
        places[5] = 6
        with pytest.raises(LaunchRefused):
            launcher.launch(None, (8,), kernels.put_list, (places, [x], y, 128), data=data)


@pytest.mark.parametrize("sizes", [(1024, 600), (600, 1024), (600, 600)])
def test_a_fact_with_the_sizes_of_a_list_is_checked_for_every_array(
    launcher: Launcher, kernels: ModuleType, y: Array, sizes: tuple[int, int]
) -> None:
    places, arrays = np.arange(512, dtype=np.int32), [np.ones(size, np.float32) for size in sizes]
    data = ("injective(places)", "range(places, 0, xs.shape[0])")
    for place in (599, 5):
        places[5] = place
        launcher.launch(None, (4,), kernels.put_list, (places, arrays, y, 128), data=data)
        assert (y[places] == 1).all()
    places[5] = 600
    with pytest.raises(LaunchRefused, match=r"xs\.shape\[0\]\)' does not hold, places\[5\] = 600 is not in \[0, 600\)"):
        launcher.launch(None, (4,), kernels.put_list, (places, arrays, y, 128), data=data)


def test_the_arrays_of_a_list_must_not_overlap(launcher: Launcher, kernels: ModuleType) -> None:
    memory = np.zeros((3, 64), np.float32)
    launcher.launch(None, (3,), kernels.fill_all, ([memory[0], memory[1], memory[2]], 64))
    assert (memory == 1).all()
    with pytest.raises(LaunchRefused):
        launcher.launch(None, (3,), kernels.fill_all, ([memory[0], memory[1], memory[0]], 64))
    with pytest.raises(LaunchRefused):
        launcher.launch(None, (4,), kernels.fill_all, ([memory[0], memory[1], memory[2]], 64))


# ------------------------------------------------------------------------------------------ facts on data
def test_observed_facts_are_checked_each_time(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array, checked: list[str]
) -> None:
    places = np.random.default_rng(1).permutation(1024).astype(np.int32)
    for _ in range(2):
        launcher.launch(None, (8,), kernels.put, (places, x, y, 128))
        assert np.array_equal(y[places], x)
    assert checked == ["put"]
    places[5] = places[6]
    with pytest.raises(LaunchRefused, match=r"it holds under `injective\(places"):
        launcher.launch(None, (8,), kernels.put, (places, x, y, 128))


def test_stated_facts_are_checked(launcher: Launcher, kernels: ModuleType, x: Array) -> None:
    places, far = np.arange(1024, dtype=np.int32), np.zeros(4096, np.float32)
    facts = ["injective(places)", "range(places, 0, y.shape[0])"]
    launcher.launch(None, (8,), kernels.put, (places, x, far, 128), data=facts)
    assert np.array_equal(far[:1024], x)
    places[7] = 8
    with pytest.raises(LaunchRefused):
        launcher.launch(None, (8,), kernels.put, (places, x, far, 128), data=facts)


def test_who_vouches_is_not_asked(launcher: Launcher, kernels: ModuleType, x: Array) -> None:
    places, far = np.arange(1024, dtype=np.int32), np.zeros(1024, np.float32)
    places[7] = 8
    facts = ["injective(places)", "range(places, 0, y.shape[0])"]
    launcher.launch(None, (8,), kernels.put, (places, x, far, 128), data=facts, vouch=True)
    assert far[7] == 0
    assert far[9] == 9


def test_facts_on_the_kernel_are_checked(launcher: Launcher, kernels: ModuleType, x: Array, y: Array) -> None:
    launcher.launch(None, (8,), kernels.put_apart, (np.arange(1024, dtype=np.int32), x, y, 128))
    assert np.array_equal(y, x)


def changed_meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """Until a launch has its turn, the one before it does this."""
    turn = turns().turn

    @contextmanager
    def behind(accesses: Any) -> Iterator[None]:
        with turn(accesses):
            change()
            yield

    monkeypatch.setattr(turns(), "turn", behind)


@pytest.mark.parametrize("stated", [False, True])
def test_facts_are_looked_at_when_the_launch_has_its_turn(
    launcher: Launcher, kernels: ModuleType, x: Array, monkeypatch: pytest.MonkeyPatch, stated: bool
) -> None:
    places, far = np.arange(1024, dtype=np.int32), np.zeros(4096, np.float32)
    facts = ["injective(places)", "range(places, 0, y.shape[0])"] if stated else []
    launcher.launch(None, (8,), kernels.put, (places, x, far, 128), data=facts)
    far[:] = 0
    changed_meanwhile(monkeypatch, lambda: places.fill(3))
    with pytest.raises(LaunchRefused, match="put was not launched"):
        launcher.launch(None, (8,), kernels.put, (places, x, far, 128), data=facts)
    assert (far == 0).all()


def test_what_holds_again_in_time_is_launched(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who looks only once, too early, would refuse it."""
    places = np.arange(1024, dtype=np.int32)
    facts = ["injective(places)", "range(places, 0, y.shape[0])"]
    launcher.launch(None, (8,), kernels.put, (places, x, y, 128), data=facts)
    places[:] = 3
    changed_meanwhile(monkeypatch, lambda: places.__setitem__(slice(None), np.arange(1024)[::-1]))
    launcher.launch(None, (8,), kernels.put, (places, x, y, 128), data=facts)
    assert np.array_equal(y, x[::-1])


# ----------------------------------------------------------------------------------------------- opt-outs
def test_an_opt_out_runs_and_is_listed(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TILEVERIFY_STRICT", raising=False)
    with unproved(reason="reviewed by hand"), pytest.warns(UnprovedLaunch, match="add_all runs unproved"):
        launcher.launch(None, (8,), kernels.add_all, (x, y, 128))
    assert np.array_equal(y[:128], x[-128:])
    (listed,) = [each for each in unproved_launches() if each.kernel == "add_all"]
    assert listed.reason == "reviewed by hand"
    assert "TV101" in listed.refusal
    assert listed.file.endswith("kernels.py")
    with unproved(reason="reviewed by hand"), warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        launcher.launch(None, (8,), kernels.add_all, (x, y, 128))
    with pytest.raises(LaunchRefused):
        launcher.launch(None, (8,), kernels.add_all, (x, y, 128))


def test_opt_outs_can_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEVERIFY_STRICT", "1")
    with pytest.raises(UsageError, match="TILEVERIFY_STRICT is set"), unproved(reason="in a hurry"):
        raise AssertionError
    monkeypatch.setenv("TILEVERIFY_STRICT", "0")
    with pytest.raises(UsageError, match="needs a reason"), unproved(reason=" "):
        raise AssertionError


def launched(launcher: Launcher, kernels: ModuleType, x: Array, y: Array) -> bool:
    """Whether a launch passes that only an opt-out lets pass."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnprovedLaunch)
            launcher.launch(None, (8,), kernels.add_all, (x, y, 128))
    except LaunchRefused:
        return False
    return True


def test_an_opt_out_in_a_generator_is_its_own(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TILEVERIFY_STRICT", raising=False)
    passes = partial(launched, launcher, kernels, x, y)

    def batches(count: int) -> Iterator[bool]:
        with unproved(reason="the launches inside"):
            for _ in range(count):
                yield passes()
                yield from iter([passes()])

    assert [(inside, passes()) for inside in batches(2)] == [(True, False)] * 4
    abandoned = batches(1)
    next(abandoned)
    assert not passes()
    with unproved(reason="the consumer's own"):
        assert next(abandoned)
        assert list(abandoned) == []  # it ends in the middle of the consumer's
        assert passes()
    assert not passes()

    async def asynchronous() -> AsyncIterator[bool]:
        with unproved(reason="the launches inside"):
            yield passes()

    async def consumer() -> list[tuple[bool, bool]]:
        return [(inside, passes()) async for inside in asynchronous()]

    assert asyncio.run(consumer()) == [(True, False)]


def test_an_opt_out_by_another_context_manager_is_around_its_body(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TILEVERIFY_STRICT", raising=False)
    passes = partial(launched, launcher, kernels, x, y)

    @contextmanager
    def trusted() -> Iterator[None]:
        with unproved(reason="as the other says"):
            yield

    with trusted():
        assert passes()
    assert not passes()
    with ExitStack() as stack:
        stack.enter_context(trusted())
        assert passes()
    assert not passes()

    def batches() -> Iterator[bool]:
        with trusted():
            yield passes()

    assert [(inside, passes()) for inside in batches()] == [(True, False)]


# ------------------------------------------------------------------------------------ arrays of two places
class OnDevice:
    """An array that says where it lies on a GPU, in one of two ways."""

    def __init__(self, address: int, interface: bool) -> None:
        if interface:
            self.__cuda_array_interface__ = {
                "shape": (1024,), "typestr": "<f4", "data": (address, False), "version": 3,
            }  # fmt: skip
        else:
            self.__dlpack__ = lambda **options: pytest.fail("nobody looks for its address")
            self.__dlpack_device__ = lambda: (2, 0)


@pytest.mark.parametrize("interface", [False, True])
def test_arrays_on_the_host_and_on_a_gpu_are_refused(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array, interface: bool
) -> None:
    """The interpreter would read the device's address in the host's memory."""
    device = OnDevice(0x7F00DEAD0000, interface)
    for kernel, arguments in (
        (kernels.axpy, (2.0, device, y, 128)),
        (kernels.halves, ((x, device), y, 128)),
        (kernels.sum_all, ([x, device], y, 2, 128)),
    ):
        with pytest.raises(UsageError, match="was given arrays on the host and on a GPU"):
            launcher.launch(None, (8,), kernel, arguments)


def test_arrays_that_no_contract_admits_are_refused_in_words(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array
) -> None:
    with pytest.raises(LaunchRefused, match="retype was not launched"):  # one array under two types
        launcher.launch(None, (8,), kernels.retype, (y, y.view(np.int32), 128))
    for arguments in ((2.0, x[::-1], y, 128), (2.0, x, y[::-1], 128)):
        with pytest.raises(LaunchRefused, match=r"has a negative stride, launch on a copy of it \(TV502\)"):
            launcher.launch(None, (8,), kernels.axpy, arguments)
    with pytest.raises(LaunchRefused, match=r"`xs` has a negative stride"):
        launcher.launch(None, (8,), kernels.sum_all, ([x, x[::-1]], y, 2, 128))
    with pytest.raises(LaunchRefused, match=r"`pair\[1\]` has a negative stride"):
        launcher.launch(None, (8,), kernels.halves, ((x, x[::-1]), y, 128))


# ------------------------------------------------------------------------------------------- scalars
class Degrees(float):
    def __repr__(self) -> str:
        return f"{float(self)} degrees"


@pytest.mark.parametrize("number", [np.float64(0.125), Degrees(0.125)])
def test_a_scalar_may_be_a_float_of_another_library(
    launcher: Launcher, kernels: ModuleType, x: Array, y: Array, number: float
) -> None:
    launcher.launch(None, (8,), kernels.axpy, (number, x, y, 128))
    assert np.array_equal(y, 0.125 * x + 1)


# -------------------------------------------------------------------------------------------------- misuse
@pytest.mark.parametrize(
    ("grid", "message"),
    [((0,), "make a grid"), ((1, 1, 1, 1), "make a grid"), ("8", "make a grid"), ((True,), "make a grid")],
)
def test_no_grid(launcher: Launcher, kernels: ModuleType, x: Array, grid: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        launcher.launch(None, grid, kernels.axpy, (2.0, x, x.copy(), 128))


def test_wrong_arguments(launcher: Launcher, kernels: ModuleType, x: Array) -> None:
    with pytest.raises(UsageError, match="'axpy' has 4 parameters, 3 were given"):
        launcher.launch(None, (8,), kernels.axpy, (2.0, x, x))
    with pytest.raises(UsageError, match="cannot be launched with these arguments"):
        launcher.launch(None, (8,), kernels.axpy, (2.0, x, object(), 128))
    with pytest.raises(UsageError, match=r"is not a kernel: decorate the function with @ct\.kernel"):
        launcher.launch(None, (8,), lambda: None, ())


# -------------------------------------------------------------------------------------- caches and threads
def test_a_verdict_outlives_the_process(
    kernels: ModuleType, x: Array, y: Array, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Launcher(CheckOptions(cache=tmp_path)).launch(None, (8,), kernels.axpy, (2.0, x, y, 128))
    monkeypatch.setattr("tileverify.verifier.verify.verify", None)  # nobody proves anything now
    again = np.ones(1024, np.float32)
    Launcher(CheckOptions(cache=tmp_path)).launch(None, (8,), kernels.axpy, (2.0, x, again, 128))
    assert np.array_equal(again, y)


def test_threads_share_one_proof(launcher: Launcher, kernels: ModuleType, x: Array, checked: list[str]) -> None:
    outputs = [np.ones(1024, np.float32) for _ in range(6)]
    failures: list[BaseException] = []

    def launch(output: Array) -> None:
        try:
            launcher.launch(None, (8,), kernels.axpy, (2.0, x, output, 128))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=launch, args=(output,)) for output in outputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert all(np.array_equal(output, 2 * x + 1) for output in outputs)
    assert checked == ["axpy"]


def test_the_public_names(kernels: ModuleType, x: Array, y: Array) -> None:
    tileverify.launch(None, (8,), kernels.axpy, (2.0, x, y, 128))
    assert np.array_equal(y, 2 * x + 1)
    with pytest.raises(tileverify.LaunchRefused):
        tileverify.launch(None, (9,), kernels.axpy, (2.0, x, y, 128))
