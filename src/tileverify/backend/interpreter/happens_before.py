"""Happens-before over a trace: token paths inside blocks, and releases that acquires observed between them.

From the Tile IR specification (memory model): an acquire that reads what a release wrote, or what a chain of atomic
read-modify-writes made of it (its release sequence), on the same location, synchronises with the release, provided
that the scope of each covers the other's block.  What the release waits for by tokens then comes before what waits for
the acquire.  A plain store ends a release sequence.

An access of a tile is one memory operation for each element, without order among them.  So the elements of a release
that no acquire observed are not published by it, and the elements of an acquire that observed nothing are ordered
after nothing: an order may hold for some bytes of two accesses only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from .access_log import DynamicAccess, Event, Footprint, Trace
from .conflicts import ACQUIRES, COVERS_BLOCKS, RELEASES
from .ordering import spread
from .values import Array

Known: TypeAlias = Mapping[int, int]
"""Accesses by block: a bit set over the numbers in each block's log."""

NOTHING: Final[Known] = {}


def covers(access: DynamicAccess) -> bool:
    """Its scope includes every block of the grid."""
    return access.scope in COVERS_BLOCKS


def _strong(first: Event, one: DynamicAccess, second: Event, other: DynamicAccess) -> bool:
    """Both are scoped, and each scope includes the other's block."""
    return (covers(one) and covers(other)) or (first[0] == second[0] and not one.weak and not other.weak)


def _joined(first: Known, second: Known) -> Known:
    if not first or not second or first is second:
        return first or second
    joined = dict(first)
    for block, accesses in second.items():
        joined[block] = joined.get(block, 0) | accesses
    return joined


def _has(known: Known, event: Event) -> bool:
    return bool(known.get(event[0], 0) >> event[1] & 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Sequence:
    """A release sequence on one location: its releases, the last one first, and what they publish.

    ``everywhere`` is what any scope that covers all blocks learns; ``inside`` what a block learns from its own
    releases, of whatever scope.  A head that ``acquires`` as well publishes what it learnt itself.
    """

    head: Event
    covering: bool
    acquires: bool
    before: _Sequence | None
    everywhere: Known
    inside: Mapping[int, Known]

    @classmethod
    def extended(cls, before: _Sequence | None, head: Event, access: DynamicAccess, known: Known) -> _Sequence:
        covering, acquires = covers(access), access.ordering in ACQUIRES
        everywhere, inside = NOTHING, dict[int, Known]()
        if before is not None:
            everywhere, inside = before.everywhere, dict(before.inside)
            if acquires:
                known = _joined(known, before.learnt(head[0], covering))
        inside[head[0]] = _joined(inside.get(head[0], NOTHING), known)
        everywhere = _joined(everywhere, known) if covering else everywhere
        return cls(head, covering, acquires, before, everywhere, inside)

    def learnt(self, block: int, covering: bool) -> Known:
        own = self.inside.get(block, NOTHING)
        return _joined(self.everywhere, own) if covering else own

    def has(self, release: Event, block: int, covering: bool) -> bool:
        """An acquire in ``block`` observes ``release``, itself or through heads that acquire.

        Along each step the scopes of the two include each other's block.
        """
        readers = {(block, covering)}
        part: _Sequence | None = self
        while part is not None:
            owner = part.head[0]
            if any(reader == owner or (wide and part.covering) for reader, wide in readers):
                if part.head == release:
                    return True
                if part.acquires:
                    readers.add((owner, part.covering))
            part = part.before
        return False


@dataclass(frozen=True, slots=True)
class _Written:
    """Who wrote an element last, how wide, and the release sequence that this continues."""

    event: Event
    width: int
    sequence: _Sequence | None


@dataclass(frozen=True, slots=True)
class _Observed:
    """Elements (addresses of all their bytes, sorted) of an acquire that read from ``sequence``."""

    sequence: _Sequence
    places: Array


class HappensBefore:
    """The order of a trace.  Without an acquire that observed a release it is the token order."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.observed: dict[Event, list[_Observed]] = {}
        self._after: dict[Event, Known] = {}
        self._acquired = [0] * len(trace.logs)
        self._foreign: dict[Event, Known] = {}
        _Sweep(self).run()

    @property
    def synchronises(self) -> bool:
        return bool(self.observed)

    def ordered(self, first: Event, second: Event) -> bool:
        """All of ``first`` comes before all of ``second``."""
        block, number = first
        if block == second[0] and self.trace.access(second).waits >> number & 1:
            return True
        return _has(self.before(second), first)

    def unordered_byte(self, first: Event, second: Event, common: Sequence[int] | Array) -> int | None:
        """The lowest byte of ``common`` on which ``first`` does not come before ``second``."""
        if self.ordered(first, second):
            return None
        places = np.asarray(common, np.int64)
        left = np.ones(len(places), np.bool_)
        for observed in self._observations(first, second):
            left &= ~np.isin(places, observed.places)
        return int(places[left].min()) if left.any() else None

    def before(self, event: Event) -> Known:
        """What comes before all of ``event`` through acquires that it waits for."""
        block, number = event
        rest = self.trace.logs[block].accesses[number].waits & self._acquired[block]
        key = (block, rest)
        if not rest:
            return NOTHING
        if key not in self._foreign:
            known = NOTHING
            while rest:
                acquire = rest.bit_length() - 1
                known = _joined(known, self._after[block, acquire])
                rest &= ~(self.trace.logs[block].accesses[acquire].waits | 1 << acquire)
            self._foreign[key] = known
        return self._foreign[key]

    def gained(self, event: Event, observed: list[_Observed], known: Known) -> None:
        """``event`` is an acquire that learnt ``known``."""
        self.observed[event] = observed
        self._after[event] = _joined(self.before(event), known)
        self._acquired[event[0]] |= 1 << event[1]

    def published(self, event: Event) -> Known:
        """What ``event`` publishes as a release: all it waits for, and itself if it is a single element."""
        block, number = event
        access = self.trace.access(event)
        alone = access.writes is not None and access.writes.end - access.writes.low == access.writes.width
        return _joined(self.before(event), {block: access.waits | (int(alone) << number)})

    def _observations(self, first: Event, second: Event) -> Iterator[_Observed]:
        """Bytes of ``first`` that come before ``second``: through its own elements, or observed as a release's."""
        own = [(each, self.learnt(second, each)) for each in self.observed.get(second, ())]
        yield from (each for each, learnt in own if _has(learnt, first) or self._is_part(first, second, each))
        if self.trace.access(first).ordering not in RELEASES:
            return
        for acquire, observations in self.observed.items():
            for seen in observations:
                if not self._is_part(first, acquire, seen):
                    continue
                if self.ordered(acquire, second):
                    yield seen
                else:
                    yield from (
                        _Observed(each.sequence, np.intersect1d(each.places, seen.places))
                        for each, learnt in own
                        if _has(learnt, acquire)
                    )

    def learnt(self, acquire: Event, observed: _Observed) -> Known:
        return observed.sequence.learnt(acquire[0], covers(self.trace.access(acquire)))

    def _is_part(self, release: Event, acquire: Event, observed: _Observed) -> bool:
        return observed.sequence.has(release, acquire[0], covers(self.trace.access(acquire)))


class _Sweep:
    """Walks the trace and keeps, for every byte that releases write and acquires read, who wrote it last."""

    def __init__(self, order: HappensBefore) -> None:
        self.order = order
        self.trace = order.trace
        self.places = _meeting_bytes(order.trace)
        self.last = np.zeros(len(self.places), np.int64)
        self.written: list[_Written | None] = [None]
        self._known: Footprint | None = None
        self._found = self.last, self.last

    def run(self) -> None:
        if not len(self.places):
            return
        low, high = int(self.places[0]), int(self.places[-1])
        for event, access in self.trace.accesses():
            if access.low > high or access.end <= low:
                continue
            if access.weak or access.kind == "store":
                if access.writes is not None:
                    self._stored(event, access)
            elif access.writes is None:
                assert access.reads is not None
                self._read(event, access, access.reads)
            else:
                assert access.reads is not None
                sources = self._read(event, access, access.reads)
                self._updated(event, access, access.writes, sources)

    def _elements(self, footprint: Footprint) -> tuple[Array, Array]:
        """Bytes of whole elements of the footprint: their addresses and their places, one row for each element."""
        if footprint is not self._known:  # an atomic asks for what it reads and for what it writes
            spans = np.unique(footprint.addresses())[:, None] + np.arange(footprint.width)
            at = np.minimum(np.searchsorted(self.places, spans), len(self.places) - 1)
            whole = (self.places[at] == spans).all(axis=1)
            self._known, self._found = footprint, (spans[whole], at[whole])
        return self._found

    def _stored(self, event: Event, access: DynamicAccess) -> None:
        """A store starts a release sequence of its own or ends the one there was."""
        assert access.writes is not None
        self._end(access.writes)
        if access.ordering in RELEASES:
            head = _Sequence.extended(None, event, access, self.order.published(event))
            _, at = self._elements(access.writes)
            self.last[at] = self._note(_Written(event, access.writes.width, head))

    def _end(self, footprint: Footprint) -> None:
        touched = spread(footprint.addresses(), footprint.width)
        at = np.minimum(np.searchsorted(self.places, touched), len(self.places) - 1)
        self.last[at[self.places[at] == touched]] = 0

    def _read(self, event: Event, access: DynamicAccess, footprint: Footprint) -> dict[int, _Sequence]:
        """What each element reads from; an acquire learns from it.  The sequences, by number in ``written``."""
        spans, at = self._elements(footprint)
        found: dict[int, _Sequence] = {}
        observed: list[_Observed] = []
        known = NOTHING
        for number, rows in self._groups(at):
            source = self.written[number]
            if source is None or source.sequence is None or source.width != footprint.width:
                continue
            if not _strong(source.event, self.trace.access(source.event), event, access):
                continue
            found[number] = source.sequence
            seen = _Observed(source.sequence, np.sort(spans[rows].reshape(-1)))
            learnt = self.order.learnt(event, seen)
            if access.ordering in ACQUIRES and learnt:
                known = _joined(known, learnt)
                observed.append(seen)
        if observed:
            self.order.gained(event, observed, known)
        return found

    def _updated(
        self, event: Event, access: DynamicAccess, footprint: Footprint, sources: Mapping[int, _Sequence]
    ) -> None:
        """An atomic continues the sequences that it read from and is part of them if it releases."""
        _, at = self._elements(footprint)
        groups = list(self._groups(at))
        self._end(footprint)
        for number, rows in groups:
            sequence = sources.get(number)
            if access.ordering in RELEASES:
                sequence = _Sequence.extended(sequence, event, access, self.order.published(event))
            if sequence is not None:
                self.last[at[rows]] = self._note(_Written(event, footprint.width, sequence))

    def _groups(self, at: Array) -> Iterator[tuple[int, Array]]:
        """Rows of ``at`` by who wrote them last; 0 for rows whose bytes were not written together."""
        if not len(at):
            return
        last = self.last[at]
        whole = np.where((last == last[:, :1]).all(axis=1), last[:, 0], 0)
        for number in np.unique(whole):
            yield int(number), np.flatnonzero(whole == number)

    def _note(self, written: _Written) -> int:
        self.written.append(written)
        return len(self.written) - 1


def _meeting_bytes(trace: Trace) -> Array:
    """The bytes that some release writes and some acquire reads, in ascending order."""
    released, acquired = [], []
    for _, access in trace.accesses():
        if access.ordering in RELEASES and access.writes is not None:
            released.append(spread(access.writes.addresses(), access.writes.width))
        if access.ordering in ACQUIRES and access.reads is not None:
            acquired.append(spread(access.reads.addresses(), access.reads.width))
    if not released or not acquired:
        return np.zeros(0, np.int64)
    return np.intersect1d(np.concatenate(released), np.concatenate(acquired))
