"""Data races of a trace, by the memory model.

Two accesses race if they touch one byte, at least one of them writes it, happens-before orders them in neither
direction, and they are not morally strong: two accesses of one block are if a token path relates them or both are
scoped, two of different blocks if both scopes include the other's block, and scopes help only where the elements are of
one width.  Program order orders nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from ...frontend.bytecode.model import Op
from ...results.codes import BETWEEN_BLOCKS, TV
from .access_log import DynamicAccess, Event, Footprint, Trace
from .conflicts import (
    AccessColumns,
    common_byte,
    conflicting_byte,
    covered_by_loop_exit,
    differing_byte,
    doubled_lanes,
    members,
    race_code,
)
from .happens_before import HappensBefore, covers
from .machine import Budget, GridPoint
from .ordering import spread
from .values import Array

CHUNK: Final = 1 << 20
"""Meetings of runs that are spelled out at a time."""
EXAMINED_COST: Final = 1 << 10
"""Steps that examining one pair of accesses costs."""


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses that race on the byte at ``address``; ``second`` is ``None`` for two lanes of one store.

    ``first`` happened first in the trace.
    """

    code: TV
    address: int
    first_block: GridPoint
    first: DynamicAccess
    second_block: GridPoint | None = None
    second: DynamicAccess | None = None


def find_races(trace: Trace, loops: Mapping[Op, tuple[Op, ...]], budget: Budget | None = None) -> list[Race]:
    """One race for each obligation and pair of ops that races: TV101 to TV103, TV201 and TV202.

    ``loops``: the loops around every op (`conflicts.loops_around`).
    """
    return _Detector(trace, loops, budget or Budget(1 << 62)).found()


@dataclass(slots=True)
class _Detector:
    trace: Trace
    loops: Mapping[Op, tuple[Op, ...]]
    budget: Budget
    order: HappensBefore = field(init=False)
    position: dict[Event, int] = field(init=False)

    def __post_init__(self) -> None:
        self.order = HappensBefore(self.trace)
        self.position = {event: place for place, event in enumerate(self.trace.order)}

    def found(self) -> list[Race]:
        return [*self._lanes(), *self._inside(), *self._between()]

    # ------------------------------------------------------------------------------------- in one block
    def _lanes(self) -> Iterator[Race]:
        told: set[Op] = set()
        for number, log in enumerate(self.trace.logs):
            for conflict in doubled_lanes(log):
                if conflict.first.op not in told and (number, conflict.first.number) in self.position:
                    told.add(conflict.first.op)
                    yield Race(TV.DUPLICATE_LANES, conflict.address, log.block, conflict.first)

    def _inside(self) -> Iterator[Race]:
        told: set[tuple[Op, Op]] = set()
        for number, log in enumerate(self.trace.logs):
            table = AccessColumns(log.accesses)
            for second in log.accesses:
                pairs = table.meets(second) & ~members(second.waits, len(log.accesses))
                pairs[second.number :] = False
                if not second.weak:
                    pairs &= ~table.may_meet(second, ~table.weak)
                for place in np.flatnonzero(pairs):
                    first = log.accesses[int(place)]
                    if (first.op, second.op) in told:
                        continue
                    address = self._raced(number, first, second)
                    if address is not None:
                        told.add((first.op, second.op))
                        yield self._race(
                            TV.UNORDERED_IN_BLOCK, address, (number, first.number), (number, second.number)
                        )

    def _raced(self, block: int, first: DynamicAccess, second: DynamicAccess) -> int | None:
        """The byte on which two accesses of one block race, which no token path relates."""
        self.budget.spend(EXAMINED_COST)
        events = (block, first.number), (block, second.number)
        if not all(event in self.position for event in events):
            return None
        byte = conflicting_byte(first, second)
        if byte is None or covered_by_loop_exit(self.trace.logs[block], self.loops, first, second):
            return None
        if not self.order.synchronises:
            return byte
        return self._unordered_byte(*events, _conflicting_bytes(first, second))

    def _unordered_byte(self, one: Event, other: Event, common: Array) -> int | None:
        first, second = sorted((one, other), key=self.position.__getitem__)
        return self.order.unordered_byte(first, second, common)

    def _race(self, code: TV, address: int, one: Event, other: Event) -> Race:
        first, second = sorted((one, other), key=self.position.__getitem__)
        logs = self.trace.logs
        return Race(
            code,
            address,
            logs[first[0]].block,
            self.trace.access(first),
            logs[second[0]].block,
            self.trace.access(second),
        )

    # ----------------------------------------------------------------------------------- between blocks
    def _between(self) -> Iterator[Race]:
        table = _Touches(self.trace)
        for one, other in table.meetings():
            for first, second in table.suspects(one, other):
                self.budget.spend(EXAMINED_COST)
                address = self._unordered(first, second, table.footprints[one], table.footprints[other])
                if address is not None:
                    address = differing_byte(self.trace.access(first), self.trace.access(second), address)
                if address is not None:
                    table.settled(first, second)
                    code = race_code(self.trace.access(first), self.trace.access(second))
                    yield self._race(code, address, first, second)

    def _unordered(self, one: Event, other: Event, mine: Footprint, theirs: Footprint) -> int | None:
        if not self.order.synchronises:
            return common_byte(mine, theirs)
        first, second = sorted((one, other), key=self.position.__getitem__)
        if self.order.ordered(first, second):
            return None
        return self.order.unordered_byte(first, second, _common_bytes(mine, theirs))


def _bytes(footprint: Footprint) -> Array:
    return spread(footprint.addresses(), footprint.width)


def _common_bytes(first: Footprint, second: Footprint) -> Array:
    return np.intersect1d(_bytes(first), _bytes(second))


def _conflicting_bytes(first: DynamicAccess, second: DynamicAccess) -> Array:
    """The bytes that both touch and at least one writes."""
    found = [
        _common_bytes(mine, other)
        for mine in first.footprints
        for other in second.footprints
        if mine is first.writes or other is second.writes
    ]
    return np.unique(np.concatenate(found))


@dataclass(slots=True)
class _Members:
    """The accesses with one footprint, in columns; ``writes``: this footprint is what they write."""

    events: list[Event] = field(default_factory=list)
    rows: list[tuple[int, int, bool, bool, bool, int]] = field(default_factory=list)
    columns: Columns = field(init=False)

    def close(self) -> None:
        self.columns = Columns(*(np.array(column) for column in zip(*self.rows, strict=True)))


class Columns(NamedTuple):
    blocks: Array
    ops: Array
    writes: Array
    weak: Array
    covering: Array
    width: Array


class _Touches:
    """All accesses of a trace by footprint, so that accesses of one place are compared with others once."""

    def __init__(self, trace: Trace) -> None:
        self.footprints: list[Footprint] = []
        self._trace = trace
        self._members: list[_Members] = []
        self._ops: dict[Op, int] = {}
        numbers: dict[tuple[bytes, bytes], int] = {}
        for event, access in trace.accesses():
            op = self._ops.setdefault(access.op, len(self._ops))
            for footprint in access.footprints:
                starts, ends = footprint.runs
                key = (starts.tobytes(), ends.tobytes())
                if key not in numbers:
                    numbers[key] = len(self.footprints)
                    self.footprints.append(footprint)
                    self._members.append(_Members())
                members = self._members[numbers[key]]
                members.events.append(event)
                writes, wide = footprint is access.writes, footprint.width
                members.rows.append((event[0], op, writes, access.weak, covers(access), wide))
        for members in self._members:
            members.close()
        self._told = np.zeros((len(self._ops), len(self._ops), len(BETWEEN_BLOCKS)), np.bool_)
        self._writes = np.array([bool(m.columns.writes.any()) for m in self._members], np.bool_)
        self._width = np.array([int(m.columns.width[0]) for m in self._members], np.int64)
        self._plain = np.array(
            [
                not m.columns.covering.all() or bool((m.columns.width != m.columns.width[0]).any())
                for m in self._members
            ],
            np.bool_,
        )

    def settled(self, first: Event, second: Event) -> None:
        """These race: no other pair of the same ops with the same obligation is asked for."""
        mine, theirs = self._trace.access(first), self._trace.access(second)
        one, other = self._ops[mine.op], self._ops[theirs.op]
        code = BETWEEN_BLOCKS.index(race_code(mine, theirs))
        self._told[one, other, code] = self._told[other, one, code] = True

    def meetings(self) -> Iterator[tuple[int, int]]:
        """Numbers of footprints that share a byte, one of them written, unless all are scoped and of one width."""
        if not self._writes.any():
            return
        owners = np.repeat(np.arange(len(self.footprints)), [len(f.runs[0]) for f in self.footprints])
        starts = np.concatenate([f.runs[0] for f in self.footprints])
        ends = np.concatenate([f.runs[1] for f in self.footprints])
        order = np.argsort(starts, kind="stable")
        owners, starts, ends = owners[order], starts[order], ends[order]
        written = self._writes[owners]
        # A run meets the written ones that start inside it; a written run meets those that start behind its start.
        inside = _ranges(starts[written], starts, ends, "left")
        behind = _ranges(starts, starts[written], ends[written], "right")
        everyone, writers = np.arange(len(owners)), np.flatnonzero(written)
        seen: set[int] = set()
        for base, others, (low, high) in ((everyone, writers, inside), (writers, everyone, behind)):
            for mine, theirs in _spelled_out(low, high):
                one, other = owners[base[mine]], owners[others[theirs]]
                plain = self._plain[one] | self._plain[other] | (self._width[one] != self._width[other])
                # One number for each pair: NumPy sorts rows much slower.
                pairs = np.minimum(one, other)[plain] * len(self.footprints) + np.maximum(one, other)[plain]
                for pair in np.unique(pairs).tolist():
                    if pair not in seen:
                        seen.add(pair)
                        yield divmod(pair, len(self.footprints))

    def suspects(self, one: int, other: int) -> Iterator[tuple[Event, Event]]:
        """Accesses of different blocks with these footprints of which one writes, and whose scopes do not help."""
        members = self._members[other]
        theirs = members.columns
        for place, (event, mine) in enumerate(zip(self._members[one].events, self._members[one].rows, strict=True)):
            block, op, writes, weak, covering, width = mine
            strong = theirs.covering & covering & (theirs.width == width)
            pairs = (theirs.blocks != block) & (theirs.writes | writes) & ~strong
            if one == other:
                pairs[: place + 1] = False
            codes = np.where(theirs.weak & weak, np.where(theirs.writes & writes, 0, 1), 2)
            for partner in np.flatnonzero(pairs & ~self._told[op, theirs.ops, codes]):
                if not self._told[op, theirs.ops[partner], codes[partner]]:
                    yield event, members.events[int(partner)]


def _ranges(others: Array, starts: Array, ends: Array, side: str) -> tuple[Array, Array]:
    """For each interval, which of the sorted ``others`` lie in it; its own start counts with side ``left``."""
    low = np.searchsorted(others, starts, side="left" if side == "left" else "right")
    return low, np.searchsorted(others, ends, side="left")


def _spelled_out(low: Array, high: Array) -> Iterator[tuple[Array, Array]]:
    """Pairs (i, j) with low[i] <= j < high[i], in pieces of bounded size."""
    count = np.maximum(high - low, 0)
    total = np.cumsum(count)
    begin = 0
    while begin < len(low):
        done = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, done + CHUNK, side="right")))
        here = count[begin:end]
        mine = np.repeat(np.arange(begin, end), here)
        theirs = np.arange(int(here.sum())) - np.repeat(np.cumsum(here) - here, here) + np.repeat(low[begin:end], here)
        yield mine, theirs
        begin = end
