"""Simulated memory: large arrays cost only what is touched, overlaps are overlaps, elements get their names."""

from __future__ import annotations

import numpy as np
import pytest

from tileverify.backend.interpreter import BudgetSpent, LaunchMismatch, Memory, MemoryImage
from tileverify.backend.interpreter.memory import ONE_PAGE_LIMIT, Extent, Provenance
from tileverify.backend.interpreter.values import UNSPECIFIED

HUGE = 1 << 33


def filled(size: int, *extents: Extent) -> tuple[Memory, int]:
    image = MemoryImage()
    number = image.add_allocation("m", size, extents)
    return Memory(image), number


def at(*offsets: int) -> np.ndarray:
    return np.array(offsets, np.int64)


@pytest.mark.parametrize("size", [4096, HUGE])
def test_fill_contents_and_writes(size: int) -> None:
    memory, m = filled(size, Extent(0, 4, size // 4, fill=-2, contents={3: 7, size // 4 - 1: 9, size: 1}))
    assert memory.load(m, at(0, 12, size - 4), 4).tolist() == [0xFFFFFFFE, 7, 9]
    memory.store(m, at(4, size - 4), np.array([5, 6], np.uint32))
    assert memory.load(m, at(0, 4, size - 4), 4).tolist() == [0xFFFFFFFE, 5, 6]
    assert memory.load(m, at(4, 6), 2).tolist() == [5, 0]
    assert Memory(memory.image).load(m, at(4), 4).tolist() == [0xFFFFFFFE]


@pytest.mark.parametrize("size", [4096, HUGE])
def test_overlapping_extents(size: int) -> None:
    """The first extent's fill, the last one's contents."""
    memory, m = filled(size, Extent(0, 4, 16, fill=1, contents={4: 8}), Extent(8, 1, 100, fill=2, contents={0: 3}))
    assert memory.load(m, at(8, 9, 16, 63, 64, 107, 108), 1).tolist() == [3, 0, 8, 0, 2, 2, 0]


@pytest.mark.parametrize("size", [4096, HUGE])
def test_taint(size: int) -> None:
    memory, m = filled(size)
    assert memory.taint(m, at(0), 4) is None
    memory.set_taint(m, at(4, size - 4), 4, np.array([UNSPECIFIED, 0], np.uint8))
    assert memory.taint(m, at(0, 4, size - 4), 4).tolist() == [0, UNSPECIFIED, 0]  # type: ignore[union-attr]
    assert memory.taint(m, at(0, 6), 2).tolist() == [0, UNSPECIFIED]  # type: ignore[union-attr]
    memory.set_taint(m, at(4), 4, None)
    assert memory.taint(m, at(4), 4).tolist() == [0]  # type: ignore[union-attr]


def test_scattered_writes_run_out_of_memory_not_of_the_machine() -> None:
    memory, m = filled(1 << 40)
    places = np.arange(1 << 18, dtype=np.int64) << 21
    with pytest.raises(BudgetSpent, match="512 MiB"):
        memory.store(m, places, np.zeros(len(places), np.uint32))


def test_an_address_space_is_finite() -> None:
    with pytest.raises(LaunchMismatch):
        MemoryImage().add_allocation("m", 1 << 62)


def test_both_sides_of_the_page_limit_agree() -> None:
    for size in (ONE_PAGE_LIMIT, ONE_PAGE_LIMIT + 8):
        memory, m = filled(size, Extent(0, 8, size // 8, fill=3))
        memory.store(m, at(8192), np.array([4], np.uint64))
        assert memory.load(m, at(8184, 8192, 8200), 8).tolist() == [3, 4, 3]


@pytest.mark.parametrize(
    ("shape", "strides", "byte", "name"),
    [
        ((4, 8), (8, 1), 4 * 17, "c[2, 1]"),
        ((4, 8), (8, 1), 4 * 17 + 3, "c[2, 1]"),
        ((4, 8), (1, 4), 4 * 17, "c[1, 4]"),
        ((4, 8), (100, 2), 4 * 104, "c[1, 2]"),
        ((4, 8), (100, 2), 4 * 101, "c+0x194"),
        ((4, 8), (0, 1), 4 * 5, "c[0, 5]"),
        ((4, 8), (8, 1), 4 * 32, "c+0x80"),
        ((4, 8), (8, 1), -4, "c-0x4"),
        ((1, 8), (64, 1), 4 * 5, "c[0, 5]"),
        (None, None, 64, "c+0x40"),
        ((32,), (1,), -4, "c[-1]"),
        ((32,), (1,), 4 * 32, "c[32]"),
        ((32,), (1,), -3, "c-0x3"),
        ((32,), (2,), -4, "c-0x4"),
    ],
)
def test_names_of_elements(
    shape: tuple[int, ...] | None, strides: tuple[int, ...] | None, byte: int, name: str
) -> None:
    size = 128 if strides != (100, 2) else 4 * (3 * 100 + 7 * 2 + 1)
    origin = Provenance("c", 0, 1 << 20, size, 4, shape, strides)
    assert origin.element((1 << 20) + byte) == name
