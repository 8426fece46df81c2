"""Graphs, tuning and the account of work in flight with NumPy arrays: a program that uses them runs without a GPU."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tileverify
from tileverify.backend.gpu import driver
from tileverify.backend.guard import LaunchRefused
from tileverify.backend.ledger import InFlightConflict
from tileverify.launching import in_flight
from tileverify.launching.launcher import Launcher
from tileverify.launching.on_cpu import HostPlan
from tileverify.launching.tuning import HostTimer
from tileverify.system.errors import UsageError

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch, launcher: Launcher) -> Iterator[None]:
    monkeypatch.setattr(driver, "present", lambda: False)
    monkeypatch.setattr(tileverify.api, "launcher", lambda: launcher)
    in_flight.in_flight.cache_clear()
    yield
    in_flight.in_flight.cache_clear()


@pytest.fixture
def arrays() -> tuple[Array, Array, Array]:
    x, y, z = (np.full(256, value, np.float32) for value in (1, 10, 100))
    return x, y, z


def test_a_graph_is_replayed(kernels: ModuleType, arrays: tuple[Array, Array, Array]) -> None:
    x, y, z = arrays
    with tileverify.graph() as graph:
        first = graph.launch((2,), kernels.axpy, (2.0, x, y, 128))
        graph.launch((2,), kernels.axpy, (1.0, y, z, 128), after=[first])
    assert (y == 10).all(), "nothing runs before a replay"
    graph.replay()
    assert (y == 12).all()
    assert (z == 112).all()
    graph.replay()
    assert (y == 14).all()
    assert (z == 126).all()


def test_a_graph_is_checked(kernels: ModuleType, arrays: tuple[Array, Array, Array]) -> None:
    x, y, z = arrays
    graph = tileverify.graph()
    graph.launch((2,), kernels.axpy, (2.0, x, y, 128))
    graph.launch((2,), kernels.axpy, (1.0, y, z, 128), after=[])
    with pytest.raises(InFlightConflict, match="TV504"), graph:
        pass
    with tileverify.graph() as halves:  # the first launch has all of both arrays, and a grid for their first halves
        halves.launch((1,), kernels.axpy, (2.0, x, y, 128))
        halves.launch((1,), kernels.axpy, (2.0, x[128:], y[128:], 128), after=[])
    halves.replay()
    assert (y == 12).all()


def pair_of_arrays(kernels: ModuleType, arrays: list[Array], out: Array) -> tuple[Any, list[Any]]:
    return kernels.halves, [tuple(arrays), out, 128]


def list_of_arrays(kernels: ModuleType, arrays: list[Array], out: Array) -> tuple[Any, list[Any]]:
    return kernels.sum_all, [arrays, out, 2, 128]


@pytest.mark.parametrize("way", [pair_of_arrays, list_of_arrays])
def test_a_graph_keeps_what_it_was_given(way: Any, kernels: ModuleType) -> None:
    """The program goes on to use its lists, and lets go of the arrays in them."""

    def given(value: float) -> tuple[list[Array], list[Any], list[weakref.ref[Array]]]:
        arrays = [np.full(256, value, np.float32), np.ones(256, np.float32)]
        return arrays, way(kernels, arrays, out)[1], list(map(weakref.ref, arrays))

    out = np.zeros(256, np.float32)
    arrays, arguments, first = given(5)
    with tileverify.graph() as graph:
        node = graph.launch((2,), way(kernels, arrays, out)[0], arguments)
        arrays.clear()
        arguments.clear()
    graph.replay()
    assert (out == 6).all()
    arrays, arguments, second = given(7)
    graph.update(node, (2,), arguments)
    arrays.clear()
    arguments.clear()
    graph.replay()
    assert (out == 8).all()
    assert [[each() is None for each in several] for several in (first, second)] == [[True, True], [False, False]]


def test_a_graph_is_updated(kernels: ModuleType, arrays: tuple[Array, Array, Array]) -> None:
    x, y, z = arrays
    with tileverify.graph() as graph:
        node = graph.launch((2,), kernels.axpy, (2.0, x, y, 128))
    graph.update(node, (2,), (3.0, x, z, 128))
    with pytest.raises(LaunchRefused, match="TV301"):
        graph.update(node, (3,), (3.0, x, z, 128))
    graph.replay()
    assert (y == 10).all()
    assert (z == 103).all()


def test_tuning_chooses_among_the_proved(
    kernels: ModuleType, arrays: tuple[Array, Array, Array], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def microseconds(timer: HostTimer, plan: HostPlan, stream: object) -> float:
        plan.launch(stream)
        return 10 / plan.grid[0]

    monkeypatch.setattr(HostTimer, "microseconds", microseconds)
    x, y, _ = arrays
    found = tileverify.tune(
        [128, 32, 64], None, lambda tile: (2 if tile == 128 else 256 // tile + (tile == 32),), kernels.axpy,
        lambda tile: (1.0, x, y, tile), record=tmp_path / "tuning.jsonl",
    )  # fmt: skip
    assert found.best == 64
    assert ["TV301" in trial.refusal for trial in found.trials] == [False, True, False]
    assert (y == 10).all(), "each variant adds to it, and every launch begins with what the caller had"
    assert "reference interpreter" in (tmp_path / "tuning.jsonl").read_text()


def test_everything_is_done(kernels: ModuleType, arrays: tuple[Array, Array, Array]) -> None:
    x, y, _ = arrays
    work = tileverify.in_flight()
    tileverify.launch(None, (2,), kernels.axpy, (2.0, x, y, 128))
    event = work.record(None)
    work.wait(None, event)
    asyncio.run(work.finished())
    work.synchronize()
    assert work.count == 0
    with pytest.raises(UsageError, match="is no CUDA stream"):
        work.record("stream")
