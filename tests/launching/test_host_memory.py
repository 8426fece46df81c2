"""Launches on NumPy arrays touch the elements that they were given, where they may, one after the other."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tileverify.backend.gpu import driver
from tileverify.backend.ledger import ByteAccess
from tileverify.launching.launcher import Launcher
from tileverify.launching.on_cpu import Interpreter, Turns
from tileverify.system.errors import UsageError

Array = np.ndarray[Any, np.dtype[Any]]
Launch = Callable[..., None]


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "present", lambda: False)


@pytest.fixture(params=["verified", "interpreted"])
def launch(request: pytest.FixtureRequest, launcher: Launcher) -> Launch:
    if request.param == "verified":
        return lambda grid, kernel, arguments: launcher.launch(None, grid, kernel, arguments)
    return _interpreted


def _interpreted(grid: Any, kernel: Any, arguments: Any) -> None:
    Interpreter().launch(kernel, grid, arguments)


# --------------------------------------------------------------------------------------------------- strides
RECORDS = np.dtype([("x", "<f4"), ("flag", "u1")])


@pytest.mark.parametrize("which", ["read", "written"])
def test_a_field_of_packed_records_is_refused(which: str, launch: Launch, kernels: ModuleType) -> None:
    """Its elements lie five bytes apart: a kernel that counts in elements of four would write into the flags."""
    records, plain = np.zeros(256, RECORDS), np.ones(256, np.float32)
    records["flag"] = 7
    given = (records["x"], plain) if which == "read" else (plain, records["x"])
    with pytest.raises(UsageError, match="stride of 5 bytes"):
        launch((2,), kernels.axpy, (2.0, *given, 128))
    assert (records["flag"] == 7).all()
    assert (records["x"] == 0).all()


def test_a_field_of_padded_records_is_written(launch: Launch, kernels: ModuleType) -> None:
    records = np.zeros(256, np.dtype([("x", "<f4"), ("flag", "<u4")]))
    records["flag"] = 7
    launch((2,), kernels.axpy, (2.0, np.ones(256, np.float32), records["x"], 128))
    assert (records["flag"] == 7).all()
    assert (records["x"] == 2).all()


# ------------------------------------------------------------------------------------------------- read-only
def unwritable() -> Iterator[Array]:
    """Arrays that nobody may write."""
    text = bytes(1024)
    yield np.frombuffer(text, np.float32)
    locked = np.zeros(256, np.float32)
    locked.flags.writeable = False
    yield locked


@pytest.mark.parametrize("number", range(2))
def test_what_is_read_only_is_not_written(number: int, launch: Launch, kernels: ModuleType) -> None:
    array = list(unwritable())[number]
    before = array.copy()
    with pytest.raises(UsageError, match="read-only"):
        launch((2,), kernels.axpy, (2.0, np.ones(256, np.float32), array, 128))
    assert (array == before).all()


def test_a_read_only_map_of_a_file_stays(launch: Launch, kernels: ModuleType, tmp_path: Path) -> None:
    """Writing there ends the process."""
    file = tmp_path / "data"
    file.write_bytes(bytes(1024))
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        array = np.frombuffer(mapped, np.float32)
        with pytest.raises(UsageError, match="read-only"):
            launch((2,), kernels.axpy, (2.0, np.ones(256, np.float32), array, 128))
        del array


def test_what_is_read_only_is_read(launch: Launch, kernels: ModuleType) -> None:
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    x.flags.writeable = False
    launch((2,), kernels.axpy, (2.0, x, y, 128))
    assert (y == 2).all()


def test_lists_hold_read_only_arrays_too(launch: Launch, kernels: ModuleType) -> None:
    arrays = [np.zeros(128, np.float32) for _ in range(3)]
    arrays[1].flags.writeable = False
    with pytest.raises(UsageError, match="read-only"):
        launch((3,), kernels.fill_all, (arrays, 128))
    assert not any(array.any() for array in arrays)


# --------------------------------------------------------------------------------------------------- threads
def test_no_thread_loses_an_update(launch: Launch, kernels: ModuleType) -> None:
    """Four threads add to one array, each as often as the others."""
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    launch((2,), kernels.axpy, (1.0, x, y, 128))
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for _ in range(15):
            launch((2,), kernels.axpy, (1.0, x, y, 128))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(y.tolist()) == {61.0}


def test_turns_are_in_order_and_others_need_none() -> None:
    turns, entered, release = Turns(), [], threading.Event()
    whole, other, reader = (
        [ByteAccess(0, 100, write=True)],
        [ByteAccess(100, 200, write=True)],
        [ByteAccess(0, 50, write=False)],
    )

    def work(name: str, accesses: list[ByteAccess], wait: bool) -> None:
        with turns.turn(accesses):
            entered.append(name)
            if wait:
                assert release.wait(20)

    threads = []
    for name, accesses, wait in (
        ("writer", whole, True), ("first reader", reader, False), ("elsewhere", other, False),
        ("second reader", reader, False), ("last", whole, False),
    ):  # fmt: skip
        thread = threading.Thread(target=work, args=(name, accesses, wait))
        thread.start()
        threads.append(thread)
        while len(turns._all) + entered.count("elsewhere") < len(threads):
            pass
    threads[2].join(20)
    assert entered == ["writer", "elsewhere"]
    release.set()
    for thread in threads:
        thread.join(20)
    assert set(entered[2:4]) == {"first reader", "second reader"}
    assert entered[4] == "last"


def test_a_launch_that_fails_gives_its_turn_back() -> None:
    turns = Turns()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), turns.turn([ByteAccess(0, 8, write=True)]):
            raise ZeroDivisionError
    assert turns._all == []
