"""Device memory is copied on the stream of whoever is going to write it, and put back there."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tileverify.backend.gpu import driver
from tileverify.backend.gpu.driver import SavedDeviceMemory


class Driver:
    """One whose device has the memory of this process."""

    CUresult = SimpleNamespace(CUDA_SUCCESS=0)

    def __init__(self) -> None:
        self.buffers: dict[int, Any] = {}
        self.copied: list[tuple[int, int]] = []  # bytes, stream

    def allocate(self, size: int) -> tuple[int, int]:
        buffer = ctypes.create_string_buffer(size)
        self.buffers[ctypes.addressof(buffer)] = buffer
        return 0, ctypes.addressof(buffer)

    def free(self, address: int) -> tuple[int]:
        del self.buffers[address]
        return (0,)

    def copy(self, to: int, source: int, size: int, stream: int) -> tuple[int]:
        ctypes.memmove(to, source, size)
        self.copied.append((size, stream))
        return (0,)

    def __getattr__(self, name: str) -> Any:
        calls = {"cuMemAlloc": self.allocate, "cuMemFree": self.free, "cuMemcpyDtoDAsync": self.copy}
        return calls.get(name, lambda *arguments: (0,))


def test_every_range_is_put_back_as_often_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Driver()
    monkeypatch.setattr(driver, "bindings", lambda: fake)
    monkeypatch.setattr(driver, "primary_context", lambda device: f"context {device}")
    x, y = np.arange(10), np.arange(6, dtype=np.float32)
    before = x.copy(), y.copy()
    ranges = [(each.ctypes.data, each.ctypes.data + each.nbytes) for each in (x, y)]
    saved = SavedDeviceMemory(3, ranges, 7)
    assert fake.copied == [(80, 7), (24, 7)]
    for stream in (7, 8):
        x[:], y[:] = -1, np.nan
        saved.restore(stream)
        assert np.array_equal(x, before[0])
        assert np.array_equal(y, before[1])
    assert fake.copied[2:] == [(80, 7), (24, 7), (80, 8), (24, 8)]
    del saved
    assert not fake.buffers
