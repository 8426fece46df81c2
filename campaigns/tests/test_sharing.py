"""Whether blocks share bytes: by intervals, against sets of bytes."""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pytest

from tileverify.backend.interpreter import BlockLog
from tileverify.backend.interpreter.access_log import BoxFootprint, DynamicAccess, Footprint, PointFootprint
from tileverify.backend.interpreter.memory import MemoryImage, Provenance
from tileverify.frontend.bytecode.enums import MemoryOrdering
from tileverify.frontend.bytecode.model import Op

from ..sharing import share_bytes

WIDTH = 4


def _image() -> MemoryImage:
    image = MemoryImage()
    for name in ("a", "b"):
        number = image.add_allocation(name, 1 << 12)
        image.add_origin(Provenance(name, number, image.allocations[number].base, 1 << 12, WIDTH))
    return image


def _footprint(image: MemoryImage, origin: int, random: Random) -> Footprint:
    base = image.origins[origin].base
    if random.random() < 0.5:
        points = [base + WIDTH * random.randrange(300) for _ in range(random.randint(1, 4))]
        return PointFootprint(np.array(points, np.int64), WIDTH)
    rows = np.arange(random.randint(1, 3), dtype=np.int64) * 64
    columns = np.arange(random.randint(1, 4), dtype=np.int64) * WIDTH * random.choice((1, 1, 2))
    return BoxFootprint(base + WIDTH * random.randrange(200), (rows, columns), WIDTH)


def _log(image: MemoryImage, block: int, random: Random) -> BlockLog:
    log = BlockLog((block, 0, 0))
    for number in range(random.randint(0, 4)):
        origin = random.randrange(2)
        touched = _footprint(image, origin, random)
        kind = random.choice(("load", "load", "store", "atomic"))
        reads, writes = touched if kind != "store" else None, touched if kind != "load" else None
        log.accesses.append(
            DynamicAccess(number, _OP, kind, MemoryOrdering.WEAK, None, origin, reads, writes, 0, number)
        )
    return log


_OP = object.__new__(Op)


def _bytes(log: BlockLog, *, written: bool) -> set[int]:
    footprints = [f for access in log.accesses for f in access.footprints if not written or f is access.writes]
    return {int(byte) + k for footprint in footprints for byte in footprint.addresses() for k in range(WIDTH)}


@pytest.mark.parametrize("seed", range(4))
def test_blocks_share_what_one_writes_and_another_touches(seed: int) -> None:
    random, image = Random(seed), _image()
    seen = set()
    for _ in range(150):
        logs = [_log(image, block, random) for block in range(random.randint(1, 4))]
        expected = any(
            _bytes(one, written=True) & _bytes(other, written=False)
            or _bytes(one, written=False) & _bytes(other, written=True)
            for one, other in combinations(logs, 2)
        )
        assert share_bytes(logs, image) == expected
        seen.add(expected)
    assert seen == {True, False}


def test_blocks_without_accesses_share_nothing() -> None:
    assert not share_bytes([BlockLog((0, 0, 0)), BlockLog((1, 0, 0))], _image())
