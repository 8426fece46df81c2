"""A plan's call of the driver: what it hands over, and what it says of a refusal."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tileverify.backend.gpu import driver, loaded
from tileverify.backend.gpu.driver import DriverFailure
from tileverify.backend.gpu.loaded import Plan, _Config, packed
from tileverify.contract.launch import EntryParameter, Role

FUNCTION = 0x7F00_0000_1000
_ENTRY_POINT = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What ``cuLaunchKernelEx`` was given; it gives the number of tile blocks in z less 1."""
    seen: list[tuple[Any, ...]] = []

    def launch(config: int, function: int, parameters: int, extra: int | None) -> int:
        said = _Config.from_address(config)
        address = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p))[0]
        value = int.from_bytes(ctypes.string_at(address, 4), "little")
        rest = (said.shared_bytes, said.attributes, said.attribute_count, extra)
        seen.append((tuple(said.grid), tuple(said.block), said.stream, function, value, rest))
        return int(said.grid[2]) - 1

    entry_point: Callable[..., int] = _ENTRY_POINT(launch)
    monkeypatch.setattr(loaded, "_cu_launch_kernel_ex", lambda: entry_point)
    return seen


def plan(*grid: int) -> Plan:
    kernel: Any = SimpleNamespace(function=ctypes.c_void_p(FUNCTION), symbol="add")
    parameters = packed([EntryParameter(Role.SCALAR, "n")], ["i32"], {"n": 7}, {})
    return Plan(kernel, (grid[0], grid[1], grid[2]), parameters)


def test_the_driver_is_given_grid_stream_function_and_parameters(launched: list[tuple[Any, ...]]) -> None:
    made = plan(5, 6, 1)
    made.launch(SimpleNamespace(cuda_stream=11))
    made.launch(12)
    assert made.bound(11)() == 0
    rest = (0, None, 0, None)
    assert launched == [((5, 6, 1), (1, 1, 1), stream, FUNCTION, 7, rest) for stream in (11, 12, 11)]
    assert made.bound(11) is made.bound(11)


def test_an_early_start_is_an_attribute_of_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[bytes] = []

    def launch(config: int, function: int, parameters: int, extra: int | None) -> int:
        given = _Config.from_address(config)
        assert given.attribute_count == 1
        said.append(ctypes.string_at(given.attributes, 72))
        return 0

    entry_point: Callable[..., int] = _ENTRY_POINT(launch)
    monkeypatch.setattr(loaded, "_cu_launch_kernel_ex", lambda: entry_point)
    early = replace(plan(1, 1, 1), early=True)
    early.launch(11)
    early.launch(11)
    # CUlaunchAttribute of cuda.h: id 6, padding up to 8 bytes, programmaticStreamSerializationAllowed, 72 bytes in all
    assert said == [(6).to_bytes(8, "little") + (1).to_bytes(4, "little") + bytes(60)] * 2


@pytest.mark.parametrize(("architecture", "early"), [("sm_80", False), ("sm_90", True), ("sm_121", True)])
def test_older_gpus_know_no_early_start(monkeypatch: pytest.MonkeyPatch, architecture: str, early: bool) -> None:
    monkeypatch.setattr(driver, "architecture", lambda device: architecture)
    monkeypatch.setattr(driver, "load", lambda *_: FUNCTION)
    kernel = loaded.GpuKernel(b"", "k", [EntryParameter(Role.SCALAR, "n")], ["i32"], 0)
    assert kernel.plan((1, 1, 1), {"n": 7}, early=True).early == early
    assert not kernel.plan((1, 1, 1), {"n": 7}).early


def test_a_status_is_an_error(launched: list[tuple[Any, ...]]) -> None:
    with pytest.raises(DriverFailure, match=r"add: the CUDA driver refuses the launch \(error 2\)"):
        plan(1, 1, 3).launch(11)


@pytest.mark.parametrize("mended", [True, False])
def test_a_thread_without_a_context_gets_that_of_the_device(monkeypatch: pytest.MonkeyPatch, mended: bool) -> None:
    had: list[int] = []
    statuses = iter([201, 0 if mended else 201])
    monkeypatch.setattr(driver, "take_context", had.append)
    made = plan(1, 1, 1)
    made.kernel.device = 3
    made._bound[11] = lambda: next(statuses)
    if mended:
        made.launch(11)
    else:
        with pytest.raises(DriverFailure, match="error 201"):
            made.launch(11)
    assert had == [3]


def test_no_other_thread_runs_during_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the journal of launches rests on: ``ctypes.CDLL`` would let others run."""
    monkeypatch.setattr(ctypes, "PyDLL", lambda name: SimpleNamespace(cuLaunchKernelEx=f"{name}, lock held"))
    loaded._cu_launch_kernel_ex.cache_clear()
    assert str(loaded._cu_launch_kernel_ex()) == "libcuda.so.1, lock held"
    loaded._cu_launch_kernel_ex.cache_clear()


def test_where_there_are_several_gpus_a_launch_is_made_in_its_own_context(
    launched: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    current: list[int] = []

    @contextmanager
    def within(device: int) -> Iterator[None]:
        current.append(device)
        yield
        current.append(-1)

    monkeypatch.setattr(driver, "several", lambda: True)
    monkeypatch.setattr(driver, "current", within)
    kernel: Any = SimpleNamespace(function=ctypes.c_void_p(FUNCTION), symbol="add", device=1)
    made = Plan(kernel, (5, 1, 1), packed([EntryParameter(Role.SCALAR, "n")], ["i32"], {"n": 7}, {}))
    made.launch(0)
    assert len(launched) == 1
    assert current == [1, -1]
