"""What may be said of two ways that ran in the same rounds; needs no GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLED = 1000
CUT = 0.1
"""The part of the times that is left out at either end: some launches take ten times as long as all others."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of trimmed means, with its 95 % interval by the bootstrap."""

    value: float
    low: float
    high: float


def paired_ratio(first: Sequence[float], second: Sequence[float]) -> Ratio:
    """Of the times of ``first`` to those of ``second``; whole rounds are resampled, with a fixed seed.

    Means, not medians: short launches have two usual durations, a clock tick apart, and a median jumps between them.
    """
    times = np.array([first, second])
    drawn = np.random.default_rng(1).integers(0, times.shape[1], (RESAMPLED, times.shape[1]))
    means = _trimmed(times[:, drawn])
    low, high = np.quantile(means[0] / means[1], [0.025, 0.975])
    own = _trimmed(times)
    return Ratio(float(own[0] / own[1]), float(low), float(high))


def _trimmed(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means over the last axis."""
    cut = int(CUT * times.shape[-1])
    means: NDArray[np.float64] = np.sort(times, axis=-1)[..., cut : times.shape[-1] - cut].mean(axis=-1)
    return means
