"""What a page shows of a kernel beside its reference."""

from __future__ import annotations

from dataclasses import dataclass


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
