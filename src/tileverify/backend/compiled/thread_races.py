"""Accesses of one block that nothing orders, though they meet in a byte: by the vector clocks of their warps.

    race(a, b)  <=>  a and b touch one byte, one of them writes, they are of different threads or one is a copy that the
                     hardware makes by itself, and neither is ordered before the other

Of one granule of memory it is enough to hold each access against the writes just before it, and each read against the
writes just behind it: what is ordered with those is ordered with all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from .machine.clocks import FENCED, Clocks
from .machine.memory import Space, ThreadAccess
from .machine.threads import Threads
from .machine.types import Array


@dataclass(frozen=True, slots=True)
class ThreadRace:
    """``earlier`` and ``later`` as the run had it, each with its thread; ``place``: a byte of both."""

    earlier: ThreadAccess
    first: int
    later: ThreadAccess
    second: int
    place: int


@dataclass(frozen=True, slots=True)
class Races:
    """``pairs``: one for each two accesses, however many threads race in them.  ``reads``: by the time of an access
    that reads, 1 for each of its threads that races with a write."""

    pairs: tuple[ThreadRace, ...]
    reads: Mapping[int, Array]

    @property
    def writes(self) -> tuple[ThreadRace, ...]:
        """Those of two writes."""
        return tuple(each for each in self.pairs if each.earlier.writes and each.later.writes)


@dataclass(frozen=True, slots=True)
class _Events:
    """One for each thread of each access and each granule that it touches, sorted by granule and time."""

    log: Sequence[ThreadAccess]
    granule: Array
    time: Array
    access: Array
    row: Array  # of the thread in its access
    thread: Array
    warp: Array
    block: Array
    own: Array
    clock: Array
    met: Array
    copies: Array
    actor: Array
    writes: Array
    reads: Array
    atomic: Array


def races(space: Space, threads: Threads, clocks: Clocks) -> Races:
    """All pairs of neighbours that nothing orders, but for writes of equal values and for atomics among themselves."""
    log = space.log
    if not any(access.writes for access in log):
        return Races((), {})
    size = 0
    for access in log:
        size = gcd(size, access.bytes, int(np.gcd.reduce(access.places)) if len(access.places) else 0)
    events = _events(log, size, threads, len(space.bytes))
    if events is None:
        return Races((), {})
    pairs: dict[tuple[int, int], ThreadRace] = {}
    reads: dict[int, Array] = {}
    table = clocks.table()
    for earlier, later in _neighbours(events):
        _gather(
            events, *_unordered(events, earlier, later, table, clocks.warps, FENCED[space.name]), size, pairs, reads
        )
    return Races(tuple(pairs.values()), reads)


def _events(log: Sequence[ThreadAccess], size: int, threads: Threads, whole: int) -> _Events | None:
    parts = [np.arange(access.bytes // size) for access in log]
    granules = [(access.places[:, None] // size + part).ravel() for access, part in zip(log, parts, strict=True)]
    contended = _contended(log, granules, parts, whole // size + 1, threads.count)
    kept = [np.flatnonzero(contended[each]) for each in granules]
    if not any(map(len, kept)):
        return None
    rows = [np.repeat(np.arange(len(a.threads)), len(p))[k] for a, p, k in zip(log, parts, kept, strict=True)]
    granule = np.concatenate([each[k] for each, k in zip(granules, kept, strict=True)])
    access = np.repeat(np.arange(len(log)), list(map(len, kept)))
    row = np.concatenate(rows)
    order = np.lexsort((access, granule))
    granule, access, row = granule[order], access[order], row[order]

    def of(field: str) -> Array:
        return np.concatenate([getattr(a, field)[r] for a, r in zip(log, rows, strict=True)])[order]

    thread = of("threads")
    copies = np.array([each.copies for each in log])[access]
    flags = {name: np.array([getattr(a, name) for a in log])[access] for name in ("writes", "reads", "atomic")}
    return _Events(
        log, granule, access, access, row, thread, threads.warp[thread], threads.block[thread], of("own"), of("clock"),
        of("met"), copies, np.where(copies < 0, thread, threads.count + access), flags["writes"], flags["reads"],
        flags["atomic"],
    )  # fmt: skip


def _contended(
    log: Sequence[ThreadAccess], granules: Sequence[Array], parts: Sequence[Array], count: int, threads: int
) -> Array:  # fmt: skip
    """Granules that are written, and that two threads, or a thread and a copy, touch."""
    written = np.zeros(count, "?")
    first = np.full(count, -1, "i8")
    several = np.zeros(count, "?")
    for number, (access, each, part) in enumerate(zip(log, granules, parts, strict=True)):
        actors = access.threads if access.copies < 0 else np.full(len(access.threads), threads + number)
        owners = np.repeat(actors, len(part))
        if access.writes:
            written[each] = True
        unset = first[each] < 0
        first[each[unset]] = owners[unset]
        several[each[first[each] != owners]] = True
    return written & several


def _neighbours(events: _Events) -> Iterator[tuple[Array, Array]]:
    """Each event beside the writes just before it, and each read beside those just behind it: earlier, later."""
    count = len(events.granule)
    index = np.arange(count)
    starts = np.concatenate(([True], events.granule[1:] != events.granule[:-1]))
    group = np.cumsum(starts) - 1
    same_time = np.concatenate(([False], (events.time[1:] == events.time[:-1]) & ~starts[1:]))
    run = np.maximum.accumulate(np.where(same_time, -1, index))  # where the events of this time and granule begin
    last_write = np.maximum.accumulate(np.where(events.writes, index, -1))
    before = np.where(run > 0, last_write[np.maximum(run - 1, 0)], -1)
    before = np.where((before >= 0) & (group[np.maximum(before, 0)] == group), before, -1)
    yield from _pairs(events, group, index, before, -1)
    next_write = np.minimum.accumulate(np.where(events.writes, index, count)[::-1])[::-1]
    ends = np.concatenate((run[1:] != run[:-1], [True]))
    last = np.minimum.accumulate(np.where(ends, index, count)[::-1])[::-1]
    after = np.where(last + 1 < count, next_write[np.minimum(last + 1, count - 1)], count)
    inside = (after < count) & (group[np.minimum(after, count - 1)] == group) & events.reads
    yield from ((mine, theirs) for theirs, mine in _pairs(events, group, index, np.where(inside, after, -1), 1))
    alike = np.where(same_time & events.writes, index - 1, -1)  # writes of one access by several threads
    yield from _pairs(events, group, index, alike, -1)


def _pairs(events: _Events, group: Array, index: Array, other: Array, step: int) -> Iterator[tuple[Array, Array]]:
    """Each event of the time and granule of ``other``, on that side of it, beside the events that it belongs to."""
    mine = index[other >= 0]
    theirs = other[other >= 0]
    origin = theirs
    while len(mine):
        yield theirs, mine
        moved = theirs + step
        inside = (moved >= 0) & (moved < len(index))
        bounded = np.clip(moved, 0, len(index) - 1)
        inside &= (group[bounded] == group[origin]) & (events.time[bounded] == events.time[origin])
        mine, theirs, origin = mine[inside], moved[inside], origin[inside]


def _unordered(
    events: _Events, earlier: Array, later: Array, table: Array, warps: int, fenced: int
) -> tuple[Array, Array]:  # fmt: skip
    """Those of the pairs that nothing orders, of one block and not both atomic.  ``fenced``: which of the columns of a
    warp says what its writes are for copies."""
    a, b = earlier, later
    copy_a, copy_b = events.copies[a] >= 0, events.copies[b] >= 0
    same_warp = (events.warp[a] == events.warp[b]) & ~copy_a & ~copy_b
    column = np.where(copy_a, events.copies[a], events.warp[a] % warps)
    through = column + np.where(~copy_a & copy_b & events.writes[a], fenced * warps, 0)
    known = np.minimum(table[events.clock[b], column], table[events.clock[b], through]) >= events.own[a]
    ordered = (events.actor[a] == events.actor[b]) | known | (same_warp & (events.met[b] >= events.own[a]))
    kept = ~ordered & (events.block[a] == events.block[b]) & ~(events.atomic[a] & events.atomic[b])
    return a[kept], b[kept]


def _gather(
    events: _Events, earlier: Array, later: Array, size: int, pairs: dict[tuple[int, int], ThreadRace],
    reads: dict[int, Array],
) -> None:  # fmt: skip
    for mine in (earlier, later):
        reading = mine[events.reads[mine] & ~events.writes[mine]]
        for number in np.unique(events.access[reading]):
            access = events.log[number]
            marked = reads.setdefault(access.time, np.zeros(len(access.threads), "u1"))
            marked[events.row[reading[events.access[reading] == number]]] = 1
    _, firsts, whose = np.unique(
        events.access[earlier] * len(events.log) + events.access[later], return_index=True, return_inverse=True
    )
    for number, place in enumerate(firsts):
        one, other = events.log[events.access[earlier[place]]], events.log[events.access[later[place]]]
        if (key := (one.time, other.time)) in pairs:
            continue
        if one.writes and other.writes:
            found = _different(events, earlier[whose == number], later[whose == number], size)
            if found is None:
                continue
            place = np.flatnonzero(whose == number)[found]
        a, b = earlier[place], later[place]
        pairs[key] = ThreadRace(one, int(events.thread[a]), other, int(events.thread[b]), int(events.granule[a]) * size)


def _different(events: _Events, earlier: Array, later: Array, size: int) -> int | None:
    """Which of the pairs of writes, the first, has other values in one than in the other."""
    one, other = events.log[events.access[earlier[0]]], events.log[events.access[later[0]]]
    if one.values is None or other.values is None:
        return 0
    byte = events.granule[earlier] * size
    held = []
    for access, mine in ((one, earlier), (other, later)):
        assert access.values is not None
        rows = events.row[mine]
        at = (byte - access.places[rows])[:, None] + np.arange(size)
        held.append(access.values[rows[:, None], at])
    wrong = np.flatnonzero((held[0] != held[1]).any(axis=1))
    return int(wrong[0]) if len(wrong) else None
