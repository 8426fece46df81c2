"""Times of GPU work."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import torch

Run = Callable[[], object]

SWEPT_BYTES = 512 << 20
"""Written before every timed launch: several times the L2 cache, and long enough for the host to be ahead."""


class Clock:
    """Times single launches on the current stream with events, the L2 cache swept in between."""

    def __init__(self) -> None:
        self._sweep = torch.empty(SWEPT_BYTES, dtype=torch.int8, device="cuda")

    def milliseconds(self, run: Run) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._sweep.zero_()
        start.record()
        run()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end))

    def rounds(self, ways: Mapping[str, Run], count: int, warm: int = 2) -> dict[str, list[float]]:
        """Milliseconds of every way in every round, each in an order of its own: what ran before makes a difference."""
        times: dict[str, list[float]] = {name: [] for name in ways}
        order, draw = list(ways), random.Random(1)
        for round_ in range(count + warm):
            draw.shuffle(order)
            for name in order:
                spent = self.milliseconds(ways[name])
                if round_ >= warm:
                    times[name].append(spent)
        return times


def rounds_for(milliseconds: float, seconds: float, least: int, most: int) -> int:
    """How many rounds of that length fit into the time."""
    return max(least, min(most, int(1000 * seconds / max(milliseconds, 1e-3))))
