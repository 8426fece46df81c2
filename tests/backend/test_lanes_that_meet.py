"""Which lanes of an atomic meet on an element, and in which order they act."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tileverify.backend.interpreter.atomics import _by_rank, repeated


@pytest.mark.parametrize("lanes", [1, 2, 3, 17])
def test_lanes_act_once_and_in_order(lanes: int) -> None:
    random = Random(lanes)
    for _ in range(40):
        offsets = np.array([4 * random.randrange(-1, lanes) for _ in range(lanes)])
        groups = [group.tolist() for group in _by_rank(offsets)]
        assert sorted(lane for group in groups for lane in group) == list(range(lanes))
        for lane in range(lanes):
            before = [other for other in range(lane) if offsets[other] == offsets[lane]]
            assert lane in groups[len(before)]
        assert repeated(offsets).tolist() == [offsets.tolist().count(each) > 1 for each in offsets]
