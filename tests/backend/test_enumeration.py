"""A run of all blocks apart against runs of them together under many schedules (`replay.enumeration`)."""

from __future__ import annotations

from itertools import islice
from math import prod

import numpy as np
import pytest

from tileverify.backend.replay.byte_intervals import Intervals, in_order, owned, shared_by, union
from tileverify.backend.replay.explore import explore
from tileverify.backend.replay.replay import Replayer
from tileverify.frontend.bytecode import decode
from tileverify.pipeline.unit_summary import entry_of

from ..corpus.compiled import corpus_kernels
from ..corpus.launches import drawn_launches
from ..profiles import tries

EVERY = tries(short=4, long=1)
"""Of the kernels of the corpus one in so many is looked at."""
MOST_BLOCKS = 64
LARGEST = 512
"""Of the sizes and scalars of a launch."""


@pytest.mark.random
@pytest.mark.parametrize("part", range(8))
def test_what_is_said_of_every_execution_shows_in_some(part: int) -> None:
    """A launch without a fault shows none under any schedule; a claimed fault is one that a replay confirms."""
    faultless = faulty = 0
    for unit in islice(corpus_kernels(), part, None, 8 * EVERY):
        module = decode(unit.bytecode, file=str(unit.file))
        replayer = Replayer(module, entry_of(module, unit), unit.parameters)
        small = drawn_launches(
            unit.launch, 1, seed=part, admits=lambda known: max(known.values(), default=0) <= LARGEST
        )
        for launch in small:
            shared = len({array.allocation or name for name, array in launch.arrays.items()}) < len(launch.arrays)
            if prod(launch.grid) > MOST_BLOCKS or launch.lists or shared:
                continue
            where = f"{unit.file.name}::{unit.kernel} {launch}"
            found = replayer.enumerated(launch, tuple(launch.arrays))
            if found.claim is not None:
                faulty += 1
                assert replayer(launch, found.claim) is not None, (where, found.claim, replayer.last_reason)
            elif found.is_faultless:
                faultless += 1
                seen = explore(module, replayer.entry, unit.parameters, launch, {})
                assert not seen.codes, (where, seen.text())
                assert seen.agrees, (where, seen.text())
    assert faultless > 3


@pytest.mark.random
@pytest.mark.parametrize("seed", range(tries(short=40, long=2000)))
def test_blocks_that_meet_are_found_as_by_their_bytes(seed: int) -> None:
    """Intervals of random blocks against sets of bytes."""
    random = np.random.default_rng(seed)
    sets: list[dict[int, set[int]]] = []
    groups: list[Intervals] = []
    for _ in range(2):
        found, told = [], dict[int, set[int]]()
        for block in range(int(random.integers(1, 5))):
            starts = random.integers(0, 60, int(random.integers(1, 4)))
            ends = starts + random.integers(1, 6, len(starts))
            starts, ends = union(starts, ends)
            assert (starts[1:] > ends[:-1]).all()
            told[block] = {byte for a, b in zip(starts, ends, strict=True) for byte in range(int(a), int(b))}
            found.append(Intervals(starts, ends, np.full(len(starts), block)))
        sets.append(told)
        groups.append(in_order(found))
    writes, others = sets
    alone_with, pair = owned(groups[0])
    alone = [(a, b) for a in writes for b in writes if a < b and writes[a] & writes[b]]
    assert bool(alone) == (pair is not None)
    if pair is not None:
        assert tuple(sorted(pair)) in alone
    meets = {(a, b) for a in writes for b in others if a != b and writes[a] & others[b]}
    shared = shared_by(alone_with, groups[0], groups[1])
    assert bool(meets) == (shared is not None)
    if shared is not None:
        assert shared[::-1] in meets or shared in meets
