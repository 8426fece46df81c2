"""Memory that remembers what happens to one of its bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..interpreter import Memory, MemoryImage
from ..interpreter.values import Array, taint_bits


@dataclass(frozen=True, slots=True)
class WatchedElement:
    """An element that holds the byte: its raw ``bits``, ``offset`` and ``width`` in bytes, and its taint."""

    bits: int
    offset: int
    width: int
    taint: int


@dataclass(frozen=True, slots=True)
class WatchedTouch:
    """A load, or a store with what was there ``before``; of one store several ``lanes`` may touch the byte."""

    lanes: tuple[WatchedElement, ...]
    before: WatchedElement | None = None


class WatchedMemory(Memory):
    """``touches``: what loads and stores did to byte ``byte`` of ``allocation``, in their order."""

    def __init__(self, image: MemoryImage, allocation: int, byte: int) -> None:
        super().__init__(image)
        self._allocation = allocation
        self._byte = byte
        self.touches: list[WatchedTouch] = []

    def load(self, allocation: int, offsets: Array, width: int) -> Array:
        found = super().load(allocation, offsets, width)
        lanes = self._watched(allocation, offsets, width)
        if len(lanes):
            marks = self._marks(allocation, offsets.reshape(-1)[lanes], width)
            self.touches.append(WatchedTouch(_lanes(found, offsets, lanes, marks)))
        return found

    def store(self, allocation: int, offsets: Array, bits: Array) -> None:
        lanes = self._watched(allocation, offsets, bits.dtype.itemsize)
        if len(lanes):
            places = offsets.reshape(-1)[lanes[:1]]
            old = super().load(allocation, places, bits.dtype.itemsize)
            marks = self._marks(allocation, places, bits.dtype.itemsize)
            (before,) = _lanes(old, places, np.zeros(1, np.int64), marks)
            self.touches.append(WatchedTouch(_lanes(bits, offsets, lanes, np.zeros(len(lanes), np.uint8)), before))
        super().store(allocation, offsets, bits)

    def set_taint(self, allocation: int, offsets: Array, width: int, taint: Array | None) -> None:
        """Told right after the store that it belongs to."""
        lanes = self._watched(allocation, offsets, width)
        if len(lanes) and taint_bits(taint):
            marks = np.broadcast_to(np.asarray(taint), offsets.shape).reshape(-1)[lanes]
            stored = self.touches[-1]
            tainted = (replace(lane, taint=int(mark)) for lane, mark in zip(stored.lanes, marks, strict=True))
            self.touches[-1] = replace(stored, lanes=tuple(tainted))
        super().set_taint(allocation, offsets, width, taint)

    def _watched(self, allocation: int, offsets: Array, width: int) -> Array:
        """The (flat) lanes that hold the byte."""
        if allocation != self._allocation:
            return np.zeros(0, np.int64)
        places = offsets.reshape(-1)
        return np.flatnonzero((places <= self._byte) & (self._byte < places + width))

    def _marks(self, allocation: int, places: Array, width: int) -> Array:
        taint = self.taint(allocation, places, width)
        return np.zeros(len(places), np.uint8) if taint is None else taint


def _lanes(bits: Array, offsets: Array, lanes: Array, marks: Array) -> tuple[WatchedElement, ...]:
    flat, places = bits.reshape(-1), offsets.reshape(-1)
    width = bits.dtype.itemsize
    return tuple(
        WatchedElement(int(flat[lane]), int(places[lane]), width, int(mark))
        for lane, mark in zip(lanes, marks, strict=True)
    )
