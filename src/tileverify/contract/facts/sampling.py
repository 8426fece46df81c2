"""What the contents of an array that shall keep facts are made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, Protocol, TypeAlias

Layouts: TypeAlias = Iterator[Sequence[int]]
"""Values for every element, in row-major order."""

Pairs: TypeAlias = Iterator[tuple[Sequence[int], Sequence[int]]]
"""Values for every element of two arrays."""

DRAWN: Final = 4
"""Contents that are drawn at random."""


class Sampled(Protocol):
    """An array with what the facts on it ask: see `contents.Described`, which is one."""

    @property
    def places(self) -> Sequence[int]: ...
    @property
    def width(self) -> int: ...
    @property
    def low(self) -> int: ...
    @property
    def high(self) -> int: ...
    @property
    def step(self) -> int: ...
    @property
    def far(self) -> int: ...
    @property
    def bounded(self) -> bool: ...
    @property
    def total(self) -> int | None: ...
    @property
    def excused(self) -> Sequence[int]: ...


def cuts(random: Random, total: int, count: int) -> list[int]:
    """``count`` parts of ``total``, drawn."""
    ends = sorted(random.randint(0, total) for _ in range(count))
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]
