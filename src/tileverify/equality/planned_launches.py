"""Which launches are looked at, and with which contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ..backend.numbers.conditions import ContractInNumbers
from ..backend.numbers.extents import cost, extent
from ..backend.numbers.trial_launches import WIDE, Chosen, Constants, Spread, at_turning_points, chosen_launches
from ..system.errors import UsageError
from .field import Array
from .points import FILLINGS

STEPS: Final = 1 << 25
"""Of the interpreter (an element computed is one), for all launches of a kernel together."""
MOST_LAUNCHES: Final = 24
VARIED: Final = 8
"""Launches, beside the usual one, that are looked at with two kinds of contents."""
_SHARE_BEYOND: Final = 3
"""One part in so many of all steps is what a point with all sizes beyond a border may take."""


@dataclass(frozen=True, slots=True)
class Options:
    """``values``: the sizes and scalars of the only launch to look at; ``inputs``: its contents, arrays and float
    scalars by name; ``seed`` of everything that is drawn; ``held``: what arrays of integers hold at every point, by
    name."""

    seed: int = 0
    steps: int = STEPS
    launches: int = MOST_LAUNCHES
    spread: Spread = WIDE
    values: Mapping[str, int] | None = None
    inputs: Mapping[str, ArrayLike] | None = None
    held: Mapping[str, Array] | None = None


@dataclass(frozen=True, slots=True)
class PlannedLaunches:
    """The launches to look at, the usual one first, then by size; those ``beyond`` a border with all sizes, the largest
    first, of which one is looked at; those with other ``scalars``, which may show a difference; and in words what is
    left out."""

    launches: Sequence[Mapping[str, int]]
    beyond: Sequence[Mapping[str, int]] = ()
    scalars: Sequence[Mapping[str, int]] = ()
    left_out: Sequence[str] = ()

    def with_beyond(
        self, contract: ContractInNumbers, launches: Sequence[Mapping[str, int]], taken: int, steps: int
    ) -> list[Mapping[str, int]]:
        """``launches`` with the largest beyond a border behind the usual one, if there is one of a small part of
        ``steps``; the usual one took ``taken`` for a point."""
        most = steps / (_SHARE_BEYOND * max(1, taken))
        affordable = [values for values in self.beyond if _growth(contract, launches[0], values) <= most][:1]
        return [*launches[:1], *affordable, *(values for values in launches[1:] if values not in affordable)]

    def scalars_at(self, contract: ContractInNumbers, known: Constants) -> Sequence[Mapping[str, int]]:
        """``scalars``, those at which the kernel turns first."""
        return at_turning_points(contract, Chosen(tuple(self.launches), (), tuple(self.scalars)), known).scalars

    def fillings(self, number: int, values: Mapping[str, int]) -> tuple[str, ...]:
        """Of a launch that was asked for all; of others the first, and for the small ones behind the usual one a
        second."""
        if number < 0:
            return FILLINGS
        twice = 0 < number <= VARIED and values not in self.beyond
        return (FILLINGS[0], FILLINGS[1 + number % (len(FILLINGS) - 1)]) if twice else FILLINGS[:1]


def _growth(contract: ContractInNumbers, usual: Mapping[str, int], values: Mapping[str, int]) -> float:
    """About how many times the steps of the usual launch another one takes: as its blocks are more, or where they have
    more than twice the elements, as these are."""
    (elements, blocks), (more, others) = extent(contract, usual), extent(contract, values)
    return max(others / blocks, more / (2 * max(1, elements)))


def planned(contract: ContractInNumbers, known: Constants, options: Options) -> PlannedLaunches:
    """What the options ask for.

    :raises UsageError: of the only launch to look at not every size is given.
    """
    if options.values is not None:
        try:
            extent(contract, options.values)
        except KeyError as missing:
            raise UsageError(f"give every size a value, or none: '{missing.args[0]}' has none") from None
        return PlannedLaunches((options.values,))
    chosen = chosen_launches(contract, known, np.random.default_rng(options.seed), options.spread)
    every = [*chosen.launches[:1], *sorted(chosen.launches[1:], key=lambda values: cost(contract, values))]
    left_out = [*chosen.not_tried, *map(words, every[options.launches :])]
    return PlannedLaunches(every[: options.launches], chosen.beyond, chosen.scalars, left_out)


def words(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items()) or "the only launch"
