"""What a tile touches, from its first address and its shape, against the same elements one by one."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from tileverify.backend.interpreter.access_log import BoxFootprint, Footprint, TileFootprint, tile_shape

WIDTH = 4


def drawn(random: Random) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """First address, counts, and steps, which may overlap or be 0."""
    rank = random.randint(0, 3)
    counts = tuple(random.randint(1, 5) for _ in range(rank))
    steps = tuple(WIDTH * random.choice((0, 1, 1, 2, 5, 7, 40)) for _ in range(rank))
    return 4096 + WIDTH * random.randrange(64), counts, steps


def elements(first: int, counts: tuple[int, ...], steps: tuple[int, ...]) -> list[int]:
    places = product(*map(range, counts))
    return [first + sum(at * step for at, step in zip(place, steps, strict=True)) for place in places]


def touched(footprint: Footprint) -> set[int]:
    starts, ends = footprint.runs
    assert (starts[1:] > ends[:-1]).all(), "in ascending order, and disjoint"
    return {byte for start, end in zip(starts.tolist(), ends.tolist(), strict=True) for byte in range(start, end)}


@pytest.mark.parametrize("seed", range(40))
def test_a_tile_touches_its_elements(seed: int) -> None:
    first, counts, steps = drawn(Random(seed))
    expected = elements(first, counts, steps)
    tile = TileFootprint(first, tile_shape(counts, steps, WIDTH))
    axes = tuple(np.arange(count) * step for count, step in zip(counts, steps, strict=True))
    for footprint in (tile, BoxFootprint(first, axes, WIDTH)):
        assert footprint.addresses().tolist() == expected
        assert footprint.grid(100).shape == counts
        assert (footprint.grid(100) + 100).reshape(-1).tolist() == expected
        assert (footprint.low, footprint.end) == (min(expected), max(expected) + WIDTH)
        assert touched(footprint) == {byte for each in expected for byte in range(each, each + WIDTH)}


def test_tiles_of_one_shape_lie_at_places_of_their_own() -> None:
    shape = tile_shape((2, 3), (40, WIDTH), WIDTH)
    one, other = TileFootprint(4096, shape), TileFootprint(8192, shape)
    assert touched(one).isdisjoint(touched(other))
    one.grid()[0, 0] = 0
    assert other.grid()[0, 0] == 8192
