"""Details of a result as plain data: what pages show, and the bytes that a launch moves."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from . import SourceSite
from .codes import Tier

Block: TypeAlias = tuple[int, int, int]
Box: TypeAlias = tuple[tuple[int, int], ...]
"""One half-open index range for each dimension of an array."""


@dataclass(frozen=True, slots=True)
class IrLine:
    """One line of Tile IR text and the source position it comes from; ``line`` is 1-based, ``None`` where unknown."""

    text: str
    file: str | None = None
    line: int | None = None


class State(enum.Enum):
    """What became of one obligation."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class ObligationDetail:
    """One obligation: what it is about, and how it was decided (``tier``).

    ``milliseconds`` of proving, searches for clauses left out; ``lemmas``: instances that the solver was given on the
    way.
    """

    code: str
    state: State
    sites: tuple[SourceSite, ...]
    detail: str
    level: str
    tier: Tier | None
    milliseconds: float
    lemmas: int = 0


@dataclass(frozen=True, slots=True)
class AccessDetail:
    """One access of the kernel in the words of its summary: ``guard`` and ``loops`` are empty where there are none."""

    site: SourceSite
    ordering: str
    element: str
    guard: str
    loops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One execution of an access by one block: the elements it touches.

    ``boxes`` hold ``count`` elements together unless ``cut``: then they are the first ones.  ``iterations`` of the
    loops around it, outermost first, counted from 0.
    """

    boxes: tuple[Box, ...]
    count: int
    iterations: tuple[int, ...]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Track:
    """What one block does at one access, in the order of execution."""

    block: Block
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class SideDrawing:
    """One side of a fault: the access, and what every block that was run does there.

    ``loops``: a name for each loop around the access.  ``start``: the track and the step at fault.
    """

    access: str  # "load", "store", "atomic"
    site: SourceSite | None
    loops: tuple[str, ...]
    tracks: tuple[Track, ...]
    start: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Footprints on one array in one launch.

    ``finding``: the position of the finding it belongs to, ``None`` for an example of a launch without a fault.
    ``tile``: the tile size along each dimension, where the accesses have one.  ``shared``: the elements at fault,
    which may lie outside of ``shape``.  ``blocks``: how many blocks the grid has; those behind the last track did not
    run.  ``wider``: not of the finding's own witness, but of a larger launch in which the interpreter saw the same
    fault, as there is more to be seen.
    """

    finding: int | None
    array: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    tile: tuple[int, ...]
    grid: Block
    sides: tuple[SideDrawing, ...]
    shared: tuple[Box, ...]
    launch: str  # the launch in words: sizes and scalars
    wider: bool = False


@dataclass(frozen=True, slots=True)
class KernelDetails:
    """``ir``: the Tile IR of the entry; ``obligations`` are those of the proof, or all that were looked at;
    ``traffic``: the bytes that a launch moves."""

    ir: tuple[IrLine, ...] = ()
    obligations: tuple[ObligationDetail, ...] = ()
    accesses: tuple[AccessDetail, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    traffic: Traffic | None = None


# ----------------------------------------------------------------------------------------------------- equality section
# What a page shows of a kernel beside its reference.


@dataclass(frozen=True, slots=True)
class UnequalValues:
    """One element that differs, with both values in float64."""

    index: tuple[int, ...]
    kernel: float
    reference: float


@dataclass(frozen=True, slots=True)
class DrawnDifference:
    """An array of a small launch: its ``count`` elements that differ, the first of them in ``elements``.

    ``chosen`` is the one that the answer names.  ``launch``: sizes by name, ``inputs``: what arrays hold, in words.
    """

    array: str
    dtype: str
    shape: tuple[int, ...]
    chosen: UnequalValues
    elements: tuple[UnequalValues, ...]
    count: int
    launch: tuple[tuple[str, str], ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class EqualitySection:
    """``answer``: equal, different or not decided; ``sentence`` says it whole, ``detail`` without the answer itself;
    ``command`` asks again."""

    answer: str
    sentence: str
    reference: str
    launches: tuple[str, ...] = ()
    rounding: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    command: str = ""
    difference: DrawnDifference | None = None

    @property
    def detail(self) -> str:
        return self.sentence.removeprefix(self.answer).lstrip(": ")


# -------------------------------------------------------------------------------------------------------------- traffic
# Bytes of global memory that a launch moves, beside the least that it can: what `footprint --bytes` shows.


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
