"""Details of a result as plain data: filled in by `collect`, rendered by ``reports``."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from . import SourceSite
from .codes import Tier
from .traffic import Traffic

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
