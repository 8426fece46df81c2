"""The blocks of a launch's grid."""

from __future__ import annotations

import itertools
from collections.abc import Iterator


def blocks_of(grid: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    x, y, z = grid
    return itertools.product(range(x), range(y), range(z))
