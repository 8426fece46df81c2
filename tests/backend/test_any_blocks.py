"""Which blocks are looked at where any may show a fault."""

from __future__ import annotations

import tracemalloc
from itertools import product

import pytest

from tileverify.backend.replay.fault_places import LAST_BLOCKS, MOST_BLOCKS, chosen_blocks
from tileverify.results.claim import Claim
from tileverify.results.codes import TV


def claim(block_a: tuple[int, int, int], block_b: tuple[int, int, int] | None = None) -> Claim:
    return Claim(TV.RACE_WRITE_WRITE, block_a, block_b)


@pytest.mark.parametrize("grid", [(1, 1, 1), (3, 1, 1), (2, 2, 2), (1, 5, 1), (2, 1, 7), (3, 2, 2)])
def test_all_blocks_of_a_small_grid_are_chosen(grid: tuple[int, int, int]) -> None:
    assert sorted(chosen_blocks(grid, claim((0, 0, 0)))) == sorted(product(*map(range, grid)))


def test_the_claimed_blocks_come_first_and_those_outside_the_grid_not_at_all() -> None:
    chosen = chosen_blocks((40, 2, 1), claim((33, 1, 0), (40, 0, 0)))
    assert chosen[0] == (33, 1, 0)
    assert (40, 0, 0) not in chosen
    assert chosen[1:4] == [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
    assert len(chosen) == MOST_BLOCKS


def test_the_largest_grid_is_not_counted_through() -> None:
    most = (1 << 24) - 1
    tracemalloc.start()
    try:
        chosen = chosen_blocks((most, most, most), claim((5, 0, 0), (0, 1, 0)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20
    assert chosen[:2] == [(5, 0, 0), (0, 1, 0)]
    assert (most - 1, most - 1, most - 1) in chosen_blocks((most, most, most), claim((0, 0, 0)))
    assert LAST_BLOCKS == 2
