"""What the programs of one launch touch, byte by byte: outside of arrays, or in conflict with another program.

Programs run one after the other, in any order.  A byte keeps the first program that read it, wrote it, or accessed it
by an atomic; where a second program did the same, it keeps `SEVERAL`.  So an access is compared with all accesses of
other programs before it, and each pair of accesses is compared once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

READ: Final = "read"
WRITE: Final = "write"
ATOMIC: Final = "atomic"
AGAINST: Final = {READ: (WRITE, ATOMIC), WRITE: (READ, WRITE, ATOMIC), ATOMIC: (READ, WRITE)}
"""The accesses of another program to the same byte that an access is in conflict with."""

NOBODY: Final = -1
SEVERAL: Final = -2

Addresses = NDArray[np.uint64]
Bytes = NDArray[np.int64]
Lanes = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Area:
    """The bytes of one allocation from ``start`` on, and the ``names`` of the arguments that lie in it."""

    start: int
    size: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """``kind``: `outside`, `race`, or `lanes` for two lanes of one store that write the same byte.

    ``program``: the number of the program that made the access; ``other``: of the one that it is in conflict with, or
    `SEVERAL`.  ``byte``: counted from the start of the allocation of ``array``; of an access outside, of the nearest.
    """

    kind: str
    access: str
    program: int
    array: str
    byte: int
    other: int = NOBODY
    against: str = ""


@dataclass
class TouchedMemory:
    """The allocations of one launch, and who touched which of their bytes."""

    areas: Sequence[Area]
    faults: list[Fault] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(AGAINST, 0))
    written: set[int] = field(default_factory=set)
    """The areas that something was stored to, by their place in ``areas``."""

    def __post_init__(self) -> None:
        self.areas = sorted(self.areas, key=lambda area: area.start)
        self._starts = np.array([area.start for area in self.areas], np.uint64)
        self._sizes = np.array([area.size for area in self.areas], np.int64)
        self._first = np.concatenate([[0], np.cumsum(self._sizes)])
        self._by = {kind: np.full(int(self._first[-1]), NOBODY, np.int32) for kind in AGAINST}

    def access(self, kind: str, program: int, addresses: Addresses, width: int) -> Lanes:
        """Note one access of active lanes, ``width`` bytes each; the answer says which lanes are inside."""
        area, byte = self._places(addresses)
        inside = (area >= 0) & (byte <= self._sizes[area] - width) if len(self.areas) else np.zeros(area.shape, bool)
        if not inside.all():
            self.faults.append(self._outside(kind, program, int(addresses[~inside][0])))
        lanes = (self._first[area[inside]] + byte[inside])[:, None] + np.arange(width)
        touched = lanes.ravel()
        self.counts[kind] += int(inside.sum())
        if kind != READ:
            self.written.update(np.unique(area[inside]).tolist())
        if kind == WRITE:
            self._lanes_apart(program, touched)
        self._compare(kind, program, touched)
        return inside

    def written_areas(self) -> list[Area]:
        return [self.areas[place] for place in sorted(self.written)]

    def _places(self, addresses: Addresses) -> tuple[Bytes, Bytes]:
        """The area that starts at or before each address, -1 for none, and the bytes from its start."""
        area = np.searchsorted(self._starts, addresses, side="right") - 1
        if not len(self.areas):
            return area, area
        return area, (addresses - self._starts[np.maximum(area, 0)]).view(np.int64)

    def _outside(self, kind: str, program: int, address: int) -> Fault:
        """The array whose bounds are nearest to the address, and how far from its start that is."""
        if not self.areas:
            return Fault("outside", kind, program, "", address)
        area = min(self.areas, key=lambda each: max(each.start - address, address - each.start - each.size))
        return Fault("outside", kind, program, "/".join(area.names), address - area.start)

    def _lanes_apart(self, program: int, touched: Bytes) -> None:
        found, times = np.unique(touched, return_counts=True)
        if len(found) != len(touched):
            self.faults.append(self._fault("lanes", WRITE, program, int(found[times > 1][0]), program, WRITE))

    def _compare(self, kind: str, program: int, touched: Bytes) -> None:
        for against in AGAINST[kind]:
            by = self._by[against][touched]
            foreign = (by != NOBODY) & (by != program)
            if foreign.any():
                at = int(np.argmax(foreign))
                self.faults.append(self._fault("race", kind, program, int(touched[at]), int(by[at]), against))
        mine = self._by[kind]
        before = mine[touched]
        mine[touched] = np.where((before == NOBODY) | (before == program), program, SEVERAL)

    def _fault(self, kind: str, access: str, program: int, byte: int, other: int, against: str) -> Fault:
        area = int(np.searchsorted(self._first, byte, side="right")) - 1
        return Fault(
            kind, access, program, "/".join(self.areas[area].names), byte - int(self._first[area]), other, against
        )
