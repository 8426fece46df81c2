"""What the contents of an array that shall keep facts are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol, TypeAlias

from .statements import NumberedFact

Layouts: TypeAlias = Iterator[Sequence[int]]
"""Values for every element, in row-major order."""

Pairs: TypeAlias = Iterator[tuple[Sequence[int], Sequence[int]]]
"""Values for every element of two arrays."""

Usual: TypeAlias = Callable[..., Sequence[int]]
"""Of the fact, how many values, limits or ``None``, a step, and what each other array holds."""

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


@dataclass(frozen=True, slots=True)
class MadeContents:
    """Contents that are made for a kind of fact, whether they keep it or not; the formulas decide.

    ``alone``: of its one array.  ``both``: of its two arrays together.  ``usual``: values of the first array beside
    what the others hold, multiples of a step between limits, the second one excluded, where these are given;
    ``beside``: several such.  ``second``: of the second array.
    """

    alone: Callable[[Sampled], Layouts] | None = None
    both: Callable[[NumberedFact, Sampled, Sampled], Pairs] | None = None
    usual: Usual | None = None
    beside: Callable[..., Layouts] | None = None
    second: Callable[[NumberedFact, Sampled], Layouts] | None = None


def cuts(random: Random, total: int, count: int) -> list[int]:
    """``count`` parts of ``total``, drawn."""
    ends = sorted(random.randint(0, total) for _ in range(count))
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]
