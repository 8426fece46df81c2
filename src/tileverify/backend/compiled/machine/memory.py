"""Global, shared and local memory of a launch, and the log of what threads touched in it.

An address of global memory lies in one of the launch's allocations; what lies in none is a fault.  Shared memory is a
window for each block, local memory one for each thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from .types import Array

ALIGNMENT: Final = 1024
SHARED_START: Final = 1024
"""Where the first variable lies in shared memory; the system has what is before it."""


RANK_BITS: Final = 24
"""An address in shared memory has above these the rank of the block of the cluster that it belongs to: what tileiras
makes clears the lowest of them to reach the first block of a pair."""
BLOCK_START: Final = 0x7D00_0000_0000
"""Where the global memory lies that each block has for itself, behind all arrays."""
LOCAL_START: Final = 0x7E00_0000_0000
"""Where local memory lies among generic addresses, behind all arrays."""


class Outside(Exception):
    """Threads reach memory that is not theirs: ``address`` is the first one, of ``thread``."""

    def __init__(self, space: str, thread: int, address: int, bytes_: int) -> None:
        super().__init__(f"{bytes_} bytes of {space} memory at {address:#x}")
        self.space, self.thread, self.address = space, thread, address


@dataclass(frozen=True, slots=True)
class ThreadAccess:
    """One execution of an instruction by ``threads``, each of which touches ``bytes`` from its place in ``places``.

    ``number``: of the instruction; ``time``: the how manieth access this is; places count through the whole space.
    ``clock``: of each thread, the row of its warp's knowledge (`clocks`), ``own``: its warp's own time, ``met``:
    that in which the warp had met before.
    ``scoped``: of an order or a scope.  ``values``: the bytes that each thread writes.
    ``copies``: where the hardware copies by itself, the column in which its time ``own`` counts.
    """

    number: int
    time: int
    threads: Array
    places: Array
    bytes: int
    reads: bool
    writes: bool
    clock: Array
    own: Array
    met: Array
    atomic: bool = False
    scoped: bool = False
    values: Array | None = None
    copies: int = -1


@dataclass
class Space:
    """Memory as one run of bytes, with a mark for each byte where some are marked."""

    name: str
    bytes: Array
    log: list[ThreadAccess] = field(default_factory=list)
    marks: Array | None = None

    def read(self, places: Array, dtype: np.dtype[np.generic]) -> Array:
        width = dtype.itemsize
        if width == 1:
            return np.asarray(self.bytes[places].view(dtype))
        if not (places % width).any():
            return np.asarray(self.bytes.view(dtype)[places // width])
        return np.asarray(np.ascontiguousarray(self.bytes[places[:, None] + np.arange(width)]).view(dtype)[:, 0])

    def write(self, places: Array, values: Array) -> None:
        width = values.dtype.itemsize
        if not (places % width).any():
            self.bytes.view(values.dtype)[places // width] = values
        else:
            self.bytes[places[:, None] + np.arange(width)] = np.ascontiguousarray(values)[:, None].view("u1")

    def marked(self, places: Array, width: int) -> Array | None:
        if self.marks is None:
            return None
        return np.asarray(np.bitwise_or.reduce(self.marks[places[:, None] + np.arange(width)], axis=1))

    def mark(self, places: Array, width: int, marks: Array | None) -> None:
        if self.marks is None:
            if marks is None or not marks.any():
                return
            self.marks = np.zeros(len(self.bytes), "u1")
        given = np.zeros(len(places), "u1") if marks is None else marks
        self.marks[places[:, None] + np.arange(width)] = given[:, None]


class GlobalMemory(Space):
    """Allocations one behind the other; ``bases`` are their addresses, in ascending order."""

    def __init__(self, allocations: Sequence[tuple[int, Array]]) -> None:
        ordered = sorted(allocations, key=lambda each: each[0])
        self.bases = np.array([base for base, _ in ordered], "u8")
        self.sizes = np.array([len(data) for _, data in ordered], "i8")
        rounded = -(-self.sizes // ALIGNMENT) * ALIGNMENT
        self.starts = np.concatenate(([0], np.cumsum(rounded)))[:-1].astype("i8")
        whole = np.zeros(int(rounded.sum()) or ALIGNMENT, "u1")
        for (_, data), start in zip(ordered, self.starts, strict=True):
            whole[start : start + len(data)] = data
        super().__init__("global", whole)

    def places(self, addresses: Array, width: int, threads: Array) -> Array:
        number = np.searchsorted(self.bases, addresses, "right").astype("i8") - 1
        inside = np.maximum(number, 0)
        offsets = (addresses - self.bases[inside]).astype("i8")
        wrong = (number < 0) | (offsets < 0) | (offsets > self.sizes[inside] - width)
        if wrong.any():
            first = int(np.argmax(wrong))
            raise Outside("global", int(threads[first]), int(addresses[first]), width)
        return np.asarray(self.starts[inside] + offsets)

    def address(self, place: int) -> int:
        number = int(np.searchsorted(self.starts, place, "right")) - 1
        return int(self.bases[number]) + place - int(self.starts[number])


class Windows(Space):
    """A window of ``size`` bytes for each of ``count`` owners, from address ``start``; rounded up unless ``exact``."""

    def __init__(self, name: str, count: int, size: int, start: int = 0, *, exact: bool = False) -> None:
        self.size = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        self.limit = size if exact else self.size
        self.start = start
        super().__init__(name, np.zeros(count * self.size, "u1"))

    def places(self, addresses: Array, width: int, owners: Array, threads: Array) -> Array:
        offsets = addresses.astype("i8") - self.start
        wrong = (offsets < 0) | (offsets > self.limit - width)
        if wrong.any():
            first = int(np.argmax(wrong))
            raise Outside(self.name, int(threads[first]), int(addresses[first]), width)
        return np.asarray(owners * self.size + offsets)
