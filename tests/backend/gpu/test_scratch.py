"""Scratch memory of a device: zeroed on the stream, read behind it, kept as long as its size serves."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

from tileverify.backend.gpu import driver
from tileverify.backend.gpu.driver import DeviceScratch


class Driver:
    """Writes down what is asked; the memory behind every address holds 42."""

    CUresult = SimpleNamespace(CUDA_SUCCESS=0)

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> tuple[Any, ...]:
            self.asked.append((name, *arguments))
            if name == "cuMemcpyDtoHAsync":
                ctypes.memmove(arguments[0], (42).to_bytes(4, "little"), arguments[2])
            return (0, 4096 * len(self.asked)) if name == "cuMemAlloc" else (0,)

        return call


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    fake = Driver()
    monkeypatch.setattr(driver, "bindings", lambda: fake)
    monkeypatch.setattr(driver, "device_of", lambda address: address // 1_000_000)
    monkeypatch.setattr(driver, "primary_context", lambda device: f"context {device}")
    return fake.asked


def test_zeros_are_written_and_read_on_the_stream_of_the_asker(asked: list[tuple[Any, ...]]) -> None:
    scratch = DeviceScratch()
    array = scratch.zeros(7, 1_000_000, "kept", 5)
    assert ("cuMemsetD8Async", array.address, 0, 20, 7) in asked
    assert array.__cuda_array_interface__ == {
        "shape": (5,), "typestr": "<i4", "data": (array.address, False), "version": 3
    }  # fmt: skip
    asked.clear()
    assert scratch.number(8, 1_000_000, "kept") == 42
    assert [each[0] for each in asked] == [
        "cuCtxPushCurrent", "cuMemcpyDtoHAsync", "cuStreamSynchronize", "cuCtxPopCurrent"
    ]  # fmt: skip
    assert asked[0] == ("cuCtxPushCurrent", "context 1")
    assert asked[1][2:] == (array.address, 4, 8)
    assert asked[2] == ("cuStreamSynchronize", 8)


def test_memory_is_kept_for_its_size_and_device(asked: list[tuple[Any, ...]]) -> None:
    scratch = DeviceScratch()
    first = scratch.zeros(7, 0, "marks", 5)
    assert scratch.zeros(7, 0, "marks", 5) is first
    assert scratch.zeros(7, 1_000_000, "marks", 5) is not first
    assert scratch.zeros(7, 0, "kept", 5) is not first
    address = first.address
    del first
    assert scratch.zeros(7, 0, "marks", 6).count == 6
    assert ("cuMemFree", address) in asked
