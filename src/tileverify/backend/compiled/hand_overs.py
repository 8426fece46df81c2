"""What a block hands to others by a release, and takes from them by an acquire: for all of its threads.

One thread makes the atomic for the whole block.  So what tokens order before a release has to be over for that thread,
whichever thread did it, and what they order behind an acquire has to know of it (`clocks`):

    released   a write of the block, to a byte that the bytecode writes before the release:
               ordered(write, release), and none is made at a later time, where the bytecode writes it no more
    acquired   an access of the block, to a byte that the bytecode touches behind the acquire alone:
               ordered(acquire, access), and none is made at an earlier time

Bytes that other accesses of the block touch, which tokens leave beside the release or acquire, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..interpreter.access_log import BlockLog, DynamicAccess
from .both_runs import Reference
from .code_differences import CodeDifference, DifferenceKind
from .machine.machine import ThreadMachine
from .machine.memory import ThreadAccess
from .machine.types import Array
from .memory_orders import ORDERS, scoped_pairs

_RELEASES, _ACQUIRES = ORDERS["release"], ORDERS["acquire"]


@dataclass(frozen=True, slots=True)
class _Events:
    """Of one block: one for each byte that a thread touches by an access that is not scoped."""

    place: Array
    time: Array
    warp: Array
    own: Array
    clock: Array
    column: Array
    writes: Array
    number: Array


def broken_hand_overs(machine: ThreadMachine, reference: Reference) -> Iterator[CodeDifference]:
    """The first one, if there is any."""
    for number, log in enumerate(reference.logs):
        pairs = [(mine, place, theirs) for mine, place, theirs in scoped_pairs(machine, number, log)
                 if theirs.ordering in _RELEASES | _ACQUIRES]  # fmt: skip
        if not pairs:
            continue
        events = _events(machine, number)
        for mine, place, theirs in pairs:
            (row, *_) = np.flatnonzero((mine.places == place) & (machine.threads.block[mine.threads] == number))
            for orders, find in ((_RELEASES, _unreleased), (_ACQUIRES, _unacquired)):
                found = find(machine, events, mine, int(row), log, theirs) if theirs.ordering in orders else None
                if found is not None:
                    what, other = found
                    lines = [machine.entry.instructions[each].line for each in (other, mine.number)]
                    lines = lines if find is _unreleased else lines[::-1]
                    text = f"block {log.block} {what}"
                    yield CodeDifference(DifferenceKind.ORDER, text, (theirs.op,), tuple(lines))
                    return


def _events(machine: ThreadMachine, block: int) -> _Events:
    columns: dict[str, list[Array]] = {name: [] for name in _Events.__slots__}
    warps = machine.clocks.warps
    for access in machine.memory.log:
        kept = np.flatnonzero(machine.threads.block[access.threads] == block)
        if access.atomic or access.scoped or not len(kept):
            continue
        rows = np.repeat(kept, access.bytes)
        columns["place"].append((access.places[kept][:, None] + np.arange(access.bytes)).ravel())
        columns["time"].append(np.full(len(rows), access.time))
        columns["warp"].append(machine.threads.warp[access.threads[rows]] % warps)
        columns["own"].append(access.own[rows])
        columns["clock"].append(access.clock[rows])
        columns["column"].append(np.full(len(rows), access.copies))
        columns["writes"].append(np.full(len(rows), access.writes))
        columns["number"].append(np.full(len(rows), access.number))
    return _Events(**{name: np.concatenate(each) if each else np.zeros(0, "i8") for name, each in columns.items()})


def _unreleased(
    machine: ThreadMachine, events: _Events, mine: ThreadAccess, row: int, log: BlockLog, theirs: DynamicAccess
) -> tuple[str, int] | None:  # fmt: skip
    """What is wrong with a write that is not over for the thread that releases, and its instruction."""
    places = _only(
        machine, log, theirs, [each for each in log.accesses if each.weak and each.orders(theirs)], writes=True
    )
    again = [each for each in log.accesses if each.weak and each.writes is not None and theirs.orders(each)]
    late = events.writes.astype("?") & (events.time > mine.time)
    late &= np.isin(events.place, np.setdiff1d(places, _bytes(machine, again)))
    if late.any():
        return "stores behind its release what it releases", int(events.number[np.argmax(late)])
    about = np.flatnonzero(events.writes.astype("?") & (events.time < mine.time) & np.isin(events.place, places))
    known = machine.clocks.rows[int(mine.clock[row])]
    warp = int(machine.threads.warp[mine.threads[row]]) % machine.clocks.warps
    column = np.where(events.column[about] >= 0, events.column[about], events.warp[about])
    over = known[column] >= events.own[about]
    over |= (events.column[about] < 0) & (events.warp[about] == warp)
    if over.all():
        return None
    what = "releases what another thread of its block may not have stored yet, as no barrier is between"
    return what, int(events.number[about[np.argmin(over)]])


def _unacquired(
    machine: ThreadMachine, events: _Events, mine: ThreadAccess, row: int, log: BlockLog, theirs: DynamicAccess
) -> tuple[str, int] | None:  # fmt: skip
    """What is wrong with an access that does not know of the acquire, and its instruction."""
    behind = [each for each in log.accesses if each.weak and theirs.orders(each)]
    places = _only(machine, log, theirs, behind, writes=False)
    early = (events.time < mine.time) & np.isin(events.place, places)
    if early.any():
        return "takes before its acquire what it acquires", int(events.number[np.argmax(early)])
    about = np.flatnonzero((events.time > mine.time) & np.isin(events.place, places))
    warp = int(machine.threads.warp[mine.threads[row]]) % machine.clocks.warps
    rows = np.array([machine.clocks.rows[int(each)][warp] for each in np.unique(events.clock[about])])
    knows = rows[np.searchsorted(np.unique(events.clock[about]), events.clock[about])] if len(about) else np.zeros(0)
    after = (knows >= mine.own[row]) | (events.warp[about] == warp)
    if after.all():
        return None
    what = "acquires what another thread of its block may have taken before, as no barrier is between"
    return what, int(events.number[about[np.argmin(after)]])


def _only(
    machine: ThreadMachine, log: BlockLog, theirs: DynamicAccess, wanted: Sequence[DynamicAccess], *, writes: bool
) -> Array:  # fmt: skip
    """The bytes of ``wanted`` that no access touches which stands beside ``theirs``."""
    beside = [each for each in log.accesses if each.weak and not each.orders(theirs) and not theirs.orders(each)]
    if not writes:  # an access before the acquire may touch it, too, at any time
        beside += [each for each in log.accesses if each.weak and each.orders(theirs)]
    mine = _bytes(machine, [each for each in wanted if each.writes is not None or not writes])
    return np.setdiff1d(mine, _bytes(machine, beside))


def _bytes(machine: ThreadMachine, accesses: Sequence[DynamicAccess]) -> Array:
    parts = []
    for access in accesses:
        for footprint in access.footprints:
            starts, ends = footprint.runs
            places = machine.memory.places(starts.astype("u8"), 1, starts)
            parts += [np.arange(place, place + length) for place, length in zip(places, ends - starts, strict=True)]
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, "i8")
