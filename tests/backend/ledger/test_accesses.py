"""Accesses as sets of bytes: what conflicts, and what a list of accesses may leave out."""

from __future__ import annotations

import random

import pytest

from tileverify.backend.ledger import ByteAccess
from tileverify.backend.ledger.ordered_work import conflicts, merged


def touched(access: ByteAccess) -> set[int]:
    """Every byte, one by one."""
    return {
        byte
        for byte in range(access.start, access.end)
        if not access.period or (byte - access.start) % access.period < access.width
    }


def drawn(draw: random.Random) -> ByteAccess:
    start = draw.randrange(40)
    period = draw.choice((0, 4, 6, 8, 12))
    width = draw.randrange(1, period) if period else 0
    return ByteAccess(start, start + draw.randrange(0, 40), draw.random() < 0.5, "", period, width)


def test_a_byte_in_common_is_a_conflict() -> None:
    """Never one missed; without one, none is claimed where one pattern or none repeats."""
    draw = random.Random(1)
    common = apart = 0
    for _ in range(20_000):
        one, other = drawn(draw), drawn(draw)
        if not (one.write or other.write):
            assert not one.conflicts_with(other)
            continue
        shared = touched(one) & touched(other)
        assert one.conflicts_with(other) == other.conflicts_with(one)
        if shared:
            assert one.conflicts_with(other)
            common += 1
        elif not one.conflicts_with(other):
            apart += 1
    assert common > 2000
    assert apart > 2000


@pytest.mark.parametrize(
    ("other", "conflict"),
    [
        (ByteAccess(1016, 3016, True, "right", 64, 48), False),  # the columns beside
        (ByteAccess(1015, 3015, True, "one byte over", 64, 48), True),
        (ByteAccess(1016, 3016, True, "a column too wide", 64, 49), True),
        (ByteAccess(1016, 1064, True, "one row beside"), False),
        (ByteAccess(1016, 1065, True, "one row into the next"), True),
        (ByteAccess(1016, 3016, True, "rows of half the distance", 32, 16), False),
        (ByteAccess(1016, 3016, True, "the same, wider", 32, 17), True),
        (ByteAccess(1016, 3016, True, "rows of another distance", 60, 44), True),
        (ByteAccess(0, 1000, True, "before"), False),
    ],
    ids=lambda value: value.what if isinstance(value, ByteAccess) else "",
)
def test_columns_of_one_matrix(other: ByteAccess, conflict: bool) -> None:
    left = ByteAccess(1000, 3000, False, "left", 64, 16)
    assert left.conflicts_with(other) == conflict
    assert other.conflicts_with(left) == conflict


def test_what_is_left_out_is_written_as_well() -> None:
    draw = random.Random(2)
    left_out = 0
    for _ in range(3000):
        accesses = [drawn(draw) for _ in range(3)]
        kept = merged(accesses)
        writes = set().union(*(touched(each) for each in accesses if each.write))
        for each in accesses:
            if each.start < each.end and each not in kept:
                assert not each.write
                assert touched(each) <= writes
                left_out += 1
    assert left_out > 50


def test_the_same_rows_read_and_written_are_written() -> None:
    read, write = (ByteAccess(0, 640, write, "", 64, 16) for write in (False, True))
    assert merged([read, write]) == (write,)


def test_conflicts_of_lists_are_those_of_all_pairs() -> None:
    """Short lists, which are looked at pair by pair, and long ones, which are not."""
    draw = random.Random(3)
    for longest, least in ((6, 2000), (30, 20_000)):
        found = 0
        for _ in range(2000 if longest == 6 else 300):
            first, second = ([drawn(draw) for _ in range(draw.randrange(longest))] for _ in range(2))
            pairs = [(one, other) for one in first for other in second if one.conflicts_with(other)]
            assert sorted(conflicts(first, second)) == sorted(pairs)
            found += len(pairs)
        assert found > least


def test_lists_far_apart_are_not_looked_through() -> None:
    near, far = ([ByteAccess(start + 10 * n, start + 10 * n + 5, True) for n in range(100)] for start in (0, 1 << 40))
    assert not list(conflicts(near, far))
    assert len(list(conflicts([*near, far[50]], far))) == 1
    assert not list(conflicts(near, []))
