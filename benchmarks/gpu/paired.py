"""What may be said of two ways from paired rounds; needs no GPU."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median of paired ratios, and an interval that holds the true median with at least 95 %."""

    median: float
    low: float
    high: float


def paired_ratio(first: Sequence[float], second: Sequence[float]) -> Ratio:
    """Of ``first`` to ``second``, round by round.

    The interval is between order statistics: the number of values below the true median is binomial (n, 1/2), whatever
    the distribution.  With fewer than 6 rounds it is the whole range.
    """
    ratios = sorted(a / b for a, b in zip(first, second, strict=True))
    count, cut, below = len(ratios), 0, 0.0
    while True:
        below += math.comb(count, cut) / 2**count
        if below > 0.025:
            break
        cut += 1
    cut = max(0, cut - 1)
    return Ratio(statistics.median(ratios), ratios[cut], ratios[-1 - cut])
