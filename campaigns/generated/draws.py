"""Where a generated kernel takes its decisions from: a seed, a tape that is replayed, or hypothesis.

There is one primitive, a number below ``n``; 0 stands for the simplest choice, so that making draws smaller or
leaving them out makes a kernel simpler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """Decisions from ``below``, which are kept in ``tape``.

    ``careful``: the author of this kernel seldom slips, so that most of it is right.
    """

    def __init__(self, below: Callable[[int], int]) -> None:
        self._below = below
        self.tape: list[int] = []
        self.features: set[str] = set()
        self.careful = False

    def below(self, n: int) -> int:
        """A number in ``[0, n)``."""
        drawn = self._below(n)
        self.tape.append(drawn)
        return drawn

    def note(self, feature: str) -> None:
        """The kernel has this feature; summaries count by them."""
        self.features.add(feature)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, the simplest of which comes first."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        return self.below(100) >= 100 - percent

    def slip(self, percent: int) -> bool:
        """A chance of something that is likely to be a mistake."""
        return self.chance(percent) and (not self.careful or self.chance(15))

    def weighted(self, *options: tuple[int, T]) -> T:
        """One of ``(weight, option)``, the simplest of which comes first."""
        place = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            place -= weight
            if place < 0:
                return option
        raise AssertionError


def seeded(seed: str) -> Draws:
    return Draws(Random(seed).randrange)


def replayed(tape: Sequence[int]) -> Draws:
    """The decisions of ``tape``, then always the simplest; numbers that do not fit are cut down to what does."""
    left = iter(tape)
    return Draws(lambda n: min(next(left, 0), n - 1))
