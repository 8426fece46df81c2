"""Memory under a schedule: a store may land later than it runs, a load may see what stood there earlier.

The model orders the accesses of a block by token paths alone (Tile IR specification, memory model): not by program
order, nor by control, data or address dependences.  Here every access happens at one moment of a common clock:

* an atomic when it runs;
* a store when it runs, or at any later moment before an access that waits for it happens (also after the end of its
  block), at the latest when its block waits for another one or nothing else can happen;
* a load when it runs, or at any earlier moment after all that it waits for has happened: then it returns what memory
  held at that moment.

In every run the moments thus respect all token paths, and every load returns the latest earlier store: the run is one
after the other of all accesses of all blocks, in an order that extends the token order.  The model allows each such
order, for it demands no more than that loads and atomics see a write that happens-before does not hide, and that the
writes of one location have one order that agrees with happens-before.  A release waits for what its token covers
before it happens, and nothing else; what waits for an acquire happens after it.

Not every outcome that the model allows comes up: no load happens later than it runs, so a store does not overtake an
earlier load of its own block; and the elements of one access happen together, though lanes of a weak store that meet
land in either order.  Races of that kind are for the detector (`races`), which looks at token paths and not at values.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count, islice
from random import Random
from typing import Final, TypeVar

import numpy as np

from .conflicts import members
from .memory import Memory, MemoryImage
from .values import Array

HISTORY_BYTES: Final = 1 << 26
"""Old contents that are kept for early loads; loads go back no further."""
LIKELY: Final = 0.5
"""How often a store or load is moved where that is drawn."""
SOON: Final = 0.25
"""How often a delayed store lands before the next access of its block."""

Moment = tuple[int, int, int]
"""When an access happened: clock, 0 for what moved the clock and 1 for loads after that, running number."""

Range = tuple[int, int, int]
"""Allocation, first byte offset, the one behind the last."""


@dataclass(slots=True)
class _Write:
    allocation: int
    offsets: Array
    bits: Array
    marks: Array | None = None


@dataclass(slots=True)
class _Delayed:
    """The writes of the block's accesses ``first`` up to ``end`` (the parts of one store)."""

    first: int
    end: int
    writes: list[_Write]

    def awaited(self, waits: int) -> bool:
        return bool(waits >> self.first & ((1 << (self.end - self.first)) - 1))


@dataclass(frozen=True, slots=True)
class _Overwritten:
    """What stood at flat ``offsets`` (sorted, one for each byte) until ``time``."""

    time: int
    allocation: int
    offsets: Array
    old: Array
    marks: Array | None

    @property
    def size(self) -> int:
        return int(self.offsets.nbytes + self.old.nbytes)


class TimedMemory(Memory):
    """The memory that all blocks share, with a clock and, for early loads, what was overwritten.

    ``changes``: where stores changed a byte.  As long as none is added, a block that waits has nothing new to see.
    """

    def __init__(self, image: MemoryImage, *, history: bool) -> None:
        super().__init__(image)
        self.clock = 0
        self.changes: list[Range] = []
        self.forgotten = 0
        self._sequence = 0
        self._remembers = history
        self._history: deque[_Overwritten] = deque()
        self._by_allocation: dict[int, deque[_Overwritten]] = {}
        self._kept = 0

    def tick(self) -> Moment:
        """The moment of the next atomic or of the next store to land."""
        self.clock += 1
        return self._moment(self.clock, 0)

    def moment_of_load(self, time: int) -> Moment:
        return self._moment(time, 1)

    def _moment(self, time: int, phase: int) -> Moment:
        self._sequence += 1
        return time, phase, self._sequence

    def store(self, allocation: int, offsets: Array, bits: Array) -> None:
        old = self.load(allocation, offsets, bits.dtype.itemsize)
        if np.array_equal(old, bits):
            return
        self.changes.append(_range(allocation, offsets, bits.dtype.itemsize))
        if self._remembers:
            self._remember(allocation, offsets, old)
        super().store(allocation, offsets, bits)

    def _remember(self, allocation: int, offsets: Array, old: Array) -> None:
        marks = self.taint(allocation, offsets, old.dtype.itemsize)
        places, which = np.unique(spread(offsets, old.dtype.itemsize), return_index=True)
        taint = None if marks is None else np.repeat(marks.reshape(-1), old.dtype.itemsize)[which]
        entry = _Overwritten(self.clock, allocation, places, _bytes(old)[which], taint)
        self._history.append(entry)
        self._by_allocation.setdefault(allocation, deque()).append(entry)
        self._kept += entry.size
        while self._kept > HISTORY_BYTES:
            dropped = self._history.popleft()
            self._by_allocation[dropped.allocation].popleft()
            self._kept -= dropped.size
            self.forgotten = dropped.time

    def changed(self, since: int, places: Iterable[Range]) -> bool:
        """Something in ``places`` changed after the first ``since`` changes."""
        new = self.changes[since:]
        return any(a == b and low < other_end and other_low < end
                   for a, low, end in new for b, other_low, other_end in places)  # fmt: skip

    def moments_of_change(self, allocation: int, offsets: Array, width: int, since: int) -> list[int]:
        """Moments after ``since`` at which something in the range of these elements was overwritten."""
        return [each.time for each in self._overwritten(allocation, offsets, width, since)]

    def _overwritten(self, allocation: int, offsets: Array, width: int, since: int) -> Iterator[_Overwritten]:
        """What was overwritten in the range of these elements after ``since``, the latest first."""
        if not offsets.size:
            return
        low, end = int(offsets.min()), int(offsets.max()) + width
        for each in reversed(self._by_allocation.get(allocation, ())):
            if each.time <= since:
                return
            if each.offsets[0] < end and each.offsets[-1] >= low:
                yield each

    def load_at(self, time: int, allocation: int, offsets: Array, width: int) -> tuple[Array, Array | None]:
        """Elements and their taint as they stood at ``time``."""
        now = self.load(allocation, offsets, width)
        marks = self.taint(allocation, offsets, width)
        if time >= self.clock or not offsets.size:
            return now, marks
        places = spread(offsets, width)
        found = _bytes(now).copy()
        taint = np.zeros(len(places), np.uint8) if marks is None else np.repeat(marks.reshape(-1), width)
        for each in self._overwritten(allocation, offsets, width, time):
            at = np.minimum(np.searchsorted(each.offsets, places), len(each.offsets) - 1)
            hit = each.offsets[at] == places
            found[hit] = each.old[at[hit]]
            taint[hit] = 0 if each.marks is None else each.marks[at[hit]]
        elements = found.view(now.dtype).reshape(now.shape)
        return elements, np.bitwise_or.reduce(taint.reshape(*now.shape, width), axis=-1)


class OrderedMemory(Memory):
    """What one block sees of `TimedMemory`.

    ``moments``: when each of its accesses happened, ``None`` for stores on their way; ``reads``: where it has looked.
    """

    def __init__(self, shared: TimedMemory, order: AccessOrder, source: Random) -> None:
        super().__init__(shared.image)
        self._shared = shared
        self._order = order
        self._source = source
        self._delayed: list[_Delayed] = []
        self._held: list[_Write] = []
        self._effect = ""
        self._movable = False
        self._waits = 0
        self._floor = 0
        self._time: int | None = None
        self.moments: list[Moment | None] = []
        self.reads: list[Range] = []

    # -------------------------------------------------------------------------------- around one access
    def begin(self, effect: str, scoped: bool, waits: int) -> None:
        """An access is about to run that waits for the block's accesses ``waits``: what these delayed, lands."""
        self._effect, self._waits, self._time = effect, waits, None
        self._movable = self._order is AccessOrder.RANDOM or (self._order is AccessOrder.EXTREME and not scoped)
        self._land([each for each in self._delayed if each.awaited(waits) or self._soon()])
        if effect == "read_write":
            self._moment = self._shared.tick()

    def end(self, first: int, end: int) -> None:
        """It was the block's accesses ``first`` up to ``end`` of the log."""
        if self._effect == "read":
            time = self._shared.clock if self._time is None else self._time
            self.moments += (self._shared.moment_of_load(time) for _ in range(first, end))
        elif self._effect == "read_write":
            self.moments += [self._moment] * (end - first)
        else:
            self.moments += [None] * (end - first)
            made, self._held = _Delayed(first, end, self._held), []
            self._delayed.append(made)
            if not self._movable or (self._order is AccessOrder.RANDOM and self._source.random() >= LIKELY):
                self._land([made])

    def settle(self) -> None:
        """All delayed stores land, and later loads are no earlier than now."""
        self._land(self._delayed)
        self._floor = self._shared.clock

    @property
    def settled(self) -> bool:
        return not self._delayed

    def _soon(self) -> bool:
        return self._order is AccessOrder.RANDOM and self._source.random() < SOON

    def _land(self, chosen: list[_Delayed]) -> None:
        """Delayed stores never wait for each other, so any order of landing will do."""
        if not chosen:
            return
        self._delayed = [each for each in self._delayed if each not in chosen]
        if self._order is AccessOrder.EXTREME:
            chosen = chosen[::-1]
        elif self._order is AccessOrder.RANDOM:
            chosen = self._source.sample(chosen, len(chosen))
        for each in chosen:
            self.moments[each.first : each.end] = [self._shared.tick()] * (each.end - each.first)
            for write in each.writes:
                self._write(write)

    def _write(self, write: _Write) -> None:
        offsets, bits, marks = write.offsets.reshape(-1), write.bits.reshape(-1), write.marks
        if marks is not None:
            marks = np.broadcast_to(marks, write.offsets.shape).reshape(-1)
        backwards = self._order is AccessOrder.EXTREME or (
            self._order is AccessOrder.RANDOM and self._source.random() < LIKELY
        )
        if backwards:
            offsets, bits, marks = offsets[::-1], bits[::-1], None if marks is None else marks[::-1]
        self._shared.store(write.allocation, offsets, bits)
        self._shared.set_taint(write.allocation, offsets, bits.dtype.itemsize, marks)

    # ------------------------------------------------------------------------------- what the rules call
    def load(self, allocation: int, offsets: Array, width: int) -> Array:
        if offsets.size:
            self.reads.append(_range(allocation, offsets, width))
        if self._effect != "read":
            return self._shared.load(allocation, offsets, width)
        if self._time is None:
            self._time = self._time_of_load(allocation, offsets, width)
        return self._shared.load_at(self._time, allocation, offsets, width)[0]

    def taint(self, allocation: int, offsets: Array, width: int) -> Array | None:
        if self._effect != "read" or self._time is None:
            return self._shared.taint(allocation, offsets, width)
        return self._shared.load_at(self._time, allocation, offsets, width)[1]

    def store(self, allocation: int, offsets: Array, bits: Array) -> None:
        if self._effect == "write":
            self.stores += bool(bits.size)
            self._held.append(_Write(allocation, offsets, bits.copy()))
        else:
            before = len(self._shared.changes)
            self._shared.store(allocation, offsets, bits)
            self.stores += len(self._shared.changes) != before

    def set_taint(self, allocation: int, offsets: Array, width: int, taint: Array | None) -> None:
        if self._effect == "write":
            self._held[-1].marks = taint
        else:
            self._shared.set_taint(allocation, offsets, width, taint)

    def leave_open(self, allocation: int) -> None:
        self._shared.leave_open(allocation)

    def allocate_local(self, name: str, size: int) -> int:
        return self._shared.allocate_local(name, size)

    def bytes_of(self, allocation: int) -> Array:
        return self._shared.bytes_of(allocation)

    def _time_of_load(self, allocation: int, offsets: Array, width: int) -> int:
        now = self._shared.clock
        if not self._movable:
            return now
        earliest = max(self._floor, self._shared.forgotten, self._waited())
        if self._order is AccessOrder.EXTREME:
            return earliest
        changes = self._shared.moments_of_change(allocation, offsets, width, earliest)
        if not changes or self._source.random() >= LIKELY:
            return now
        return self._source.choice(changes) - 1

    def _waited(self) -> int:
        """The clock when the last access that the current one waits for had happened."""
        count = len(self.moments)
        if not self._waits or not count:
            return 0
        chosen = np.flatnonzero(members(self._waits, count))
        return max((moment[0] for moment in (self.moments[i] for i in chosen) if moment is not None), default=0)


def _range(allocation: int, offsets: Array, width: int) -> Range:
    return allocation, int(offsets.min()), int(offsets.max()) + width


def spread(offsets: Array, width: int) -> Array:
    """One offset for each byte of the elements, flat."""
    return np.asarray((offsets.reshape(-1, 1) + np.arange(width)).reshape(-1))


def _bytes(elements: Array) -> Array:
    return np.ascontiguousarray(elements).reshape(-1).view(np.uint8)


# ------------------------------------------------------------------------------------------------------------- schedule
# Schedules: in which order the blocks of a launch run, and how far accesses of one block move apart.


T = TypeVar("T")


class BlockOrder(Enum):
    """Which block goes on.  All but the last run a block until it ends or waits for another one."""

    SEQUENTIAL = "in order"
    REVERSED = "in reverse order"
    SHUFFLED = "in random order"
    INTERLEAVED = "interleaved"


class AccessOrder(Enum):
    """When accesses of one block happen that no token path orders.

    ``PROGRAM``: as written.  ``EXTREME``: weak stores as late and weak loads as early as their tokens allow.
    ``RANDOM``: any stores and loads, as drawn.
    """

    PROGRAM = "accesses as written"
    EXTREME = "weak stores late and weak loads early"
    RANDOM = "accesses moved at random"


@dataclass(frozen=True, slots=True)
class Schedule:
    """One way through a launch; the same schedule gives the same run."""

    blocks: BlockOrder = BlockOrder.SEQUENTIAL
    accesses: AccessOrder = AccessOrder.PROGRAM
    seed: int = 0

    def __str__(self) -> str:
        drawn = self.blocks in (BlockOrder.SHUFFLED, BlockOrder.INTERLEAVED) or self.accesses is AccessOrder.RANDOM
        parts = [f"blocks {self.blocks.value}"]
        if self.accesses is not AccessOrder.PROGRAM:
            parts.append(self.accesses.value)
        return ", ".join([*parts, f"seed {self.seed}"] if drawn else parts)

    def arranged(self, blocks: Sequence[T], source: Random) -> list[T]:
        """``blocks`` in the order in which they start."""
        arranged = list(blocks)
        if self.blocks is BlockOrder.REVERSED:
            arranged.reverse()
        elif self.blocks is not BlockOrder.SEQUENTIAL:
            source.shuffle(arranged)
        return arranged


def standard_schedules(number: int, seed: int = 0) -> tuple[Schedule, ...]:
    """``number`` different schedules: plain and extreme orders first, then ones that are drawn from ``seed`` on."""
    return tuple(islice(_all_schedules(seed), number))


def _all_schedules(seed: int) -> Iterator[Schedule]:
    yield Schedule(BlockOrder.SEQUENTIAL)
    yield Schedule(BlockOrder.REVERSED)
    yield Schedule(BlockOrder.SEQUENTIAL, AccessOrder.EXTREME)
    yield Schedule(BlockOrder.INTERLEAVED, AccessOrder.RANDOM, seed)
    yield Schedule(BlockOrder.REVERSED, AccessOrder.EXTREME)
    for place in count(seed):
        yield Schedule(BlockOrder.INTERLEAVED, AccessOrder.PROGRAM, place)
        yield Schedule(BlockOrder.SHUFFLED, AccessOrder.RANDOM, place)
        yield Schedule(BlockOrder.INTERLEAVED, AccessOrder.RANDOM, place + 1)
