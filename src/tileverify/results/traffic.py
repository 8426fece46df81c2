"""Bytes of global memory that a launch moves, beside the least that it can: what `footprint --bytes` shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from . import SourceSite

Bounds: TypeAlias = tuple[int, int]
"""At least, and at most: equal where the number is exact."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Bytes: in the launch that is shown, and as an expression in the sizes.

    ``expression``: equal to the number, or at least as large where ``at_most``; empty where none was found.
    """

    bytes: Bounds
    expression: str = ""

    @property
    def at_most(self) -> bool:
        return self.bytes[0] != self.bytes[1]


@dataclass(frozen=True, slots=True)
class AccessTraffic:
    """What one load, store or atomic moves, over all blocks, iterations and lanes."""

    number: int
    access: str
    array: str
    file: str | None
    line: int | None
    moves: Amount


@dataclass(frozen=True, slots=True)
class ArrayTraffic:
    """What is read (or written) of one array: each byte once, and by all accesses together."""

    array: str
    written: bool
    least: Amount
    moves: Bounds


@dataclass(frozen=True, slots=True)
class Traffic:
    """``values``: the sizes of the launch that is shown.  ``counted``: launches in which expressions hold;
    ``compared``: those among small ones that the interpreter ran, with the same bytes.  ``reason``: why nothing was
    counted; then the rest is empty.
    """

    values: Mapping[str, int]
    grid: tuple[int, int, int]
    moves: Amount
    least: Amount
    accesses: tuple[AccessTraffic, ...] = ()
    arrays: tuple[ArrayTraffic, ...] = ()
    counted: int = 0
    compared: int = 0
    reason: str = ""

    @property
    def ratio(self) -> tuple[float, float | None] | None:
        """How many times the least is moved, at least and at most; ``None`` where nothing has to be moved."""
        if self.reason or not self.least.bytes[1]:
            return None
        low = max(1.0, self.moves.bytes[0] / self.least.bytes[1])
        return low, self.moves.bytes[1] / self.least.bytes[0] if self.least.bytes[0] else None

    @property
    def costliest(self) -> AccessTraffic | None:
        """The access that moves most, where that is more than the array has to be moved for."""
        return max(self.accesses, key=lambda each: each.moves.bytes[1], default=None)


@dataclass(frozen=True, slots=True)
class AccessRemarks:
    """What the assembler says of one access: the instruction, and why it took no other; empty where it says nothing."""

    site: SourceSite
    remarks: tuple[str, ...]


def not_counted(reason: str) -> Traffic:
    """``reason``: a sentence without a full stop."""
    nothing = Amount((0, 0))
    return Traffic({}, (0, 0, 0), nothing, nothing, reason=reason)
