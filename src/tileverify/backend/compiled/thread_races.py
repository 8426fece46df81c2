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
from typing import Final

import numpy as np

from .machine.machine import FENCED, Clocks
from .machine.storage import Array, Space, ThreadAccess, Threads

MOST_EVENTS: Final = 1 << 22
"""That are looked at together, of one granule and all before it."""


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
    values: Array  # the bytes that are written, [events, bytes of a granule]
    valued: Array


def races(space: Space, threads: Threads, clocks: Clocks) -> Races:
    """All pairs of neighbours that nothing orders, but for writes of equal values and for atomics among themselves."""
    log = space.log
    if not any(access.writes for access in log):
        return Races((), {})
    size = 0
    for access in log:
        size = gcd(size, access.bytes, int(np.gcd.reduce(access.places)) if len(access.places) else 0)
    pairs: dict[tuple[int, int], ThreadRace] = {}
    reads: dict[int, Array] = {}
    table = clocks.table()
    for events in _batches(log, size, threads, len(space.bytes)):
        for earlier, later in _neighbours(events):
            found = _unordered(events, earlier, later, table, clocks.warps, FENCED[space.name])
            _gather(events, *_unlike(events, *found), size, pairs, reads)
    return Races(tuple(pairs.values()), reads)


def _batches(log: Sequence[ThreadAccess], size: int, threads: Threads, whole: int) -> Iterator[_Events]:
    """The events of all granules, those of one together."""
    parts = [np.arange(access.bytes // size) for access in log]
    granules = [
        (access.places[:, None] // size + part).ravel().astype("i4") for access, part in zip(log, parts, strict=True)
    ]
    contended = _contended(log, granules, parts, whole // size + 1, threads.count)
    counts = np.bincount(np.concatenate(granules), minlength=len(contended)) * contended
    batch = np.where(contended, np.cumsum(counts) // MOST_EVENTS, -1)
    for number in np.unique(batch[contended]):
        kept = [np.flatnonzero(batch[each] == number) for each in granules]
        yield _events(log, size, threads, granules, parts, kept)


def _events(
    log: Sequence[ThreadAccess], size: int, threads: Threads, granules: Sequence[Array], parts: Sequence[Array],
    kept: Sequence[Array],
) -> _Events:  # fmt: skip
    rows = [np.repeat(np.arange(len(a.threads)), len(p))[k] for a, p, k in zip(log, parts, kept, strict=True)]
    granule = np.concatenate([each[k] for each, k in zip(granules, kept, strict=True)])
    access = np.repeat(np.arange(len(log)), list(map(len, kept)))
    row, thread = np.concatenate(rows), np.concatenate([a.threads[r] for a, r in zip(log, rows, strict=True)])
    values = np.concatenate([_granules(each, size)[k] for each, k in zip(log, kept, strict=True)])
    order = np.lexsort((access, granule))
    plain = np.array([each.writes and not each.reads and each.values is not None for each in log])[access]
    order = order[~_repeated(granule[order], access[order], threads.warp[thread[order]], values[order], plain[order])]
    granule, access, row, thread, values = (each[order] for each in (granule, access, row, thread, values))

    def of(field: str) -> Array:
        return np.concatenate([getattr(a, field)[r] for a, r in zip(log, rows, strict=True)])[order]

    copies = np.array([each.copies for each in log])[access]
    flags = {name: np.array([getattr(a, name) for a in log])[access] for name in ("writes", "reads", "atomic")}
    return _Events(
        log, granule, access, access, row, thread, threads.warp[thread], threads.block[thread], of("own"), of("clock"),
        of("met"), copies, np.where(copies < 0, thread, threads.count + access), flags["writes"], flags["reads"],
        flags["atomic"], values, np.array([each.values is not None for each in log])[access],
    )  # fmt: skip


def _repeated(granule: Array, access: Array, warp: Array, values: Array, plain: Array) -> Array:
    """Writes of equal bytes between a first and a last one, all by threads of one warp at one time: what is not ordered
    with one of them, and by another thread, is not ordered with the first or with the last one either."""
    same = (granule[1:] == granule[:-1]) & (access[1:] == access[:-1]) & (warp[1:] == warp[:-1]) & plain[1:]
    same &= (values[1:] == values[:-1]).all(axis=1)
    return np.concatenate(([False], same)) & np.concatenate((same, [False]))


def _granules(access: ThreadAccess, size: int) -> Array:
    """What it writes into each granule that it touches; zeros where that is not known."""
    if access.values is None:
        return np.zeros((len(access.threads) * (access.bytes // size), size), "u1")
    return access.values.reshape(-1, size)


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
    may = (events.actor[earlier] != events.actor[later]) & (events.block[earlier] == events.block[later])
    may &= ~(events.atomic[earlier] & events.atomic[later])
    a, b = earlier[may], later[may]
    copy_a, copy_b, own, clock = events.copies[a] >= 0, events.copies[b] >= 0, events.own[a], events.clock[b]
    column = np.where(copy_a, events.copies[a], events.warp[a] % warps)
    ordered = table[clock, column] >= own
    if fenced and (through := ordered & ~copy_a & copy_b & events.writes[a]).any():
        ordered[through] = table[clock[through], column[through] + fenced * warps] >= own[through]
    ordered |= (events.warp[a] == events.warp[b]) & ~copy_a & ~copy_b & (events.met[b] >= own)
    return a[~ordered], b[~ordered]


def _gather(
    events: _Events, earlier: Array, later: Array, size: int, pairs: dict[tuple[int, int], ThreadRace],
    reads: dict[int, Array],
) -> None:  # fmt: skip
    for mine in (earlier, later):
        reading = mine[events.reads[mine] & ~events.writes[mine]]
        for members in _alike(events.access[reading]):
            access = events.log[events.access[reading[members[0]]]]
            marked = reads.setdefault(access.time, np.zeros(len(access.threads), "u1"))
            marked[events.row[reading[members]]] = 1
    _, firsts = np.unique(events.access[earlier] * len(events.log) + events.access[later], return_index=True)
    for place in firsts:
        one, other = events.log[events.access[earlier[place]]], events.log[events.access[later[place]]]
        a, b = earlier[place], later[place]
        race = ThreadRace(one, int(events.thread[a]), other, int(events.thread[b]), int(events.granule[a]) * size)
        pairs.setdefault((one.time, other.time), race)


def _alike(keys: Array) -> Iterator[Array]:
    """The places of each key, in ascending order."""
    if len(keys):
        order = np.argsort(keys, kind="stable")
        yield from np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)


def _unlike(events: _Events, earlier: Array, later: Array) -> tuple[Array, Array]:
    """The pairs but for two writes of equal bytes."""
    a, b = earlier, later
    alike = events.writes[a] & events.writes[b] & events.valued[a] & events.valued[b]
    alike &= (events.values[a] == events.values[b]).all(axis=1)
    return a[~alike], b[~alike]
