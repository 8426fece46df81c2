"""What blocks did: their memory accesses and what each waits for, in order, undefined behaviour, words to the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from typing import Final, Protocol, TypeAlias

import numpy as np

from ...frontend.bytecode.enums import MemoryOrdering, MemoryScope
from ...frontend.bytecode.model import Op
from .values import Array, BudgetSpent, InterpreterStop, OpenUse, UndefinedBehaviour

MAX_ACCESSES: Final = 1 << 14


class Footprint(Protocol):
    """The elements one access touches; ``low`` is its first byte, ``end`` the one behind its last."""

    @property
    def width(self) -> int:
        """Bytes of an element."""
        ...

    @property
    def low(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def runs(self) -> Runs:
        """The touched bytes as disjoint intervals in ascending order: their starts and their ends."""
        ...

    def addresses(self) -> Array:
        """One int64 address per element, in lane order."""
        ...


Runs: TypeAlias = tuple[Array, Array]


@dataclass(frozen=True)
class BoxFootprint:
    """Elements at ``base`` plus one of each ``axes`` (int64 byte offsets): a tile of a strided view."""

    base: int
    axes: tuple[Array, ...]
    width: int

    @cached_property
    def low(self) -> int:
        return self.base + sum(int(axis.min()) for axis in self.axes)

    @cached_property
    def end(self) -> int:
        return self.base + sum(int(axis.max()) for axis in self.axes) + self.width

    def addresses(self) -> Array:
        return self.grid().reshape(-1)

    def grid(self, origin: int = 0) -> Array:
        """The addresses in the shape of the box, counted from ``origin``."""
        return self._sums(self.axes) + (self.base - origin)

    @cached_property
    def runs(self) -> Runs:
        """An axis of adjacent elements is one run, so that a tile of a matrix costs its rows only."""
        for number, axis in enumerate(self.axes):
            if len(axis) > 1 and (np.diff(axis) == self.width).all():
                starts = self._sums(self.axes[:number] + self.axes[number + 1 :]).reshape(-1) + (self.base + axis[0])
                return _merged(starts, len(axis) * self.width)
        return _merged(self.addresses(), self.width)

    def _sums(self, axes: tuple[Array, ...]) -> Array:
        return np.asarray(reduce(np.add.outer, axes, np.zeros((), np.int64)))


@dataclass(frozen=True)
class TileShape:
    """What tiles at different places have in common: ``counts`` elements along each axis, ``steps`` bytes apart.

    No step is negative, and no count 0.
    """

    counts: tuple[int, ...]
    steps: tuple[int, ...]
    width: int

    @cached_property
    def extent(self) -> int:
        """Bytes from the first one to behind the last."""
        return sum((count - 1) * step for count, step in zip(self.counts, self.steps, strict=True)) + self.width

    @cached_property
    def offsets(self) -> Array:
        """Of each element from the first, in the shape of the tile."""
        return self._at_zero.grid()

    @cached_property
    def runs(self) -> Runs:
        return self._at_zero.runs

    @cached_property
    def _at_zero(self) -> BoxFootprint:
        axes = (np.arange(count) * np.int64(step) for count, step in zip(self.counts, self.steps, strict=True))
        return BoxFootprint(0, tuple(axes), self.width)


tile_shape: Final = lru_cache(maxsize=64)(TileShape)
"""The same for equal arguments: most blocks of a launch access tiles of a few shapes."""


@dataclass(frozen=True)
class TileFootprint:
    """The elements of a tile whose first one is at ``low``."""

    low: int
    shape: TileShape

    @property
    def width(self) -> int:
        return self.shape.width

    @property
    def end(self) -> int:
        return self.low + self.shape.extent

    def addresses(self) -> Array:
        return self.grid().reshape(-1)

    def grid(self, origin: int = 0) -> Array:
        """The addresses in the shape of the tile, counted from ``origin``."""
        return self.shape.offsets + (self.low - origin)

    @cached_property
    def runs(self) -> Runs:
        starts, ends = self.shape.runs
        return starts + self.low, ends + self.low


@dataclass(frozen=True)
class PointFootprint:
    """Elements at ``points`` (a flat int64 array that is not empty)."""

    points: Array
    width: int

    @cached_property
    def low(self) -> int:
        return int(self.points.min())

    @cached_property
    def end(self) -> int:
        return int(self.points.max()) + self.width

    def addresses(self) -> Array:
        return self.points

    @cached_property
    def runs(self) -> Runs:
        return _merged(self.points, self.width)


def _merged(starts: Array, length: int) -> Runs:
    """The union of the intervals of ``length`` bytes at ``starts``."""
    starts = np.sort(starts)
    apart = np.flatnonzero(starts[1:] > starts[:-1] + length)
    return starts[np.concatenate(([0], apart + 1))], starts[np.concatenate((apart, [len(starts) - 1]))] + length


@dataclass(frozen=True, slots=True)
class StoredBits:
    """What a store left in each element of its footprint, in lane order: raw ``bits``; ``open``: nobody knows them."""

    bits: Array
    open: Array


@dataclass(frozen=True, slots=True)
class DynamicAccess:
    """One execution of a memory op; ``reads`` and ``writes`` are ``None`` where it does neither.

    ``waits``: bit set of the earlier accesses it waits for.  ``scope``: ``None`` for weak accesses.
    ``iterations``: the numbers of the iterations that it stands in, the outermost loop's first.  ``stored``: of a store
    into an array in which the launch allows equal values.
    """

    number: int
    op: Op
    kind: str
    ordering: MemoryOrdering
    scope: MemoryScope | None
    origin: int
    reads: Footprint | None
    writes: Footprint | None
    waits: int
    time: int
    iterations: tuple[int, ...] = ()
    stored: StoredBits | None = None

    @property
    def weak(self) -> bool:
        return self.ordering == MemoryOrdering.WEAK

    @property
    def footprints(self) -> tuple[Footprint, ...]:
        """Reads and writes, once where they are the same."""
        if self.reads is self.writes:
            return () if self.reads is None else (self.reads,)
        return tuple(f for f in (self.reads, self.writes) if f is not None)

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return self.footprints[0].width

    @property
    def low(self) -> int:
        return min(f.low for f in self.footprints)

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return max(f.end for f in self.footprints)

    def orders(self, other: DynamicAccess) -> bool:
        """This access is in the token history of ``other`` (of the same block)."""
        return bool(other.waits >> self.number & 1)


@dataclass(frozen=True, slots=True)
class Printed:
    """One execution of `print_tko`, formatted."""

    op: Op
    text: str
    time: int


@dataclass(frozen=True, slots=True)
class FailedAssertion:
    """The first failure of an `assert`: ``lanes`` of its condition are false, ``position`` is the first of them.

    ``unspecified``: none is false, but the specification leaves these open.
    """

    op: Op
    message: str
    position: tuple[int, ...]
    lanes: int
    unspecified: bool
    time: int


@dataclass(frozen=True, slots=True)
class LoopRun:
    """One execution of a loop, in ``iterations`` of those around it: so many iterations of its own were ``entered``."""

    op: Op
    iterations: tuple[int, ...]
    entered: int


@dataclass(slots=True)
class BlockLog:
    """Accesses and events of one block, in the order the interpreter met them (which orders nothing).

    ``stopped``: why the run ended before the block did; what it logged until then happened all the same.
    ``left_out``: accesses, or lanes of them, that are not in the log because an open value decides about them.
    ``open_uses``: open values that were stored or assumed about in a run that goes on all the same.
    ``loops``: those that have ended; ``iterations``: where in the others the block is.
    """

    block: tuple[int, int, int]
    accesses: list[DynamicAccess] = field(default_factory=list)
    events: list[UndefinedBehaviour] = field(default_factory=list)
    stopped: InterpreterStop | None = None
    left_out: list[str] = field(default_factory=list)
    open_uses: list[OpenUse] = field(default_factory=list)
    printed: list[Printed] = field(default_factory=list)
    assertions: list[FailedAssertion] = field(default_factory=list)
    loops: list[LoopRun] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    time: int = 0

    @property
    def silent(self) -> bool:
        """Whether there was nothing to report but accesses."""
        return not (self.events or self.left_out or self.open_uses)

    def tick(self) -> int:
        self.time += 1
        return self.time

    def record(
        self,
        op: Op,
        kind: str,
        origin: int,
        reads: Footprint | None,
        writes: Footprint | None,
        waits: int,
        stored: StoredBits | None = None,
    ) -> int:
        """Log an access; returns the waits of a token that it produces."""
        number = len(self.accesses)
        if number >= MAX_ACCESSES:
            raise BudgetSpent(f"the block makes more than {MAX_ACCESSES} accesses")
        self.accesses.append(
            DynamicAccess(
                number=number,
                op=op,
                kind=kind,
                ordering=MemoryOrdering(op.attributes["ord"]),
                scope=None if (scope := op.attributes.get("scope")) is None else MemoryScope(scope),
                origin=origin,
                reads=reads,
                writes=writes,
                waits=waits,
                time=self.tick(),
                iterations=tuple(self.iterations),
                stored=stored,
            )
        )
        return waits | 1 << number

    def leave_loop(self, op: Op, entered: int) -> None:
        """The loop that was entered last has ended."""
        self.iterations.pop()
        self.loops.append(LoopRun(op, tuple(self.iterations), entered))


# ---------------------------------------------------------------------------------------------------------------- trace
# The accesses of all blocks in the order in which they happened.


Event: TypeAlias = tuple[int, int]
"""An access of a trace: the number of its block in ``logs`` and its own in the block's log."""


@dataclass(frozen=True, slots=True)
class Trace:
    """``order``: every access of ``logs``, each behind all those that its token waits for.

    What a read returned follows from the order: the latest write before it, byte by byte.
    """

    logs: tuple[BlockLog, ...]
    order: tuple[Event, ...]

    @classmethod
    def in_order_of(cls, logs: Sequence[BlockLog], moments: Sequence[Sequence[tuple[int, int, int] | None]]) -> Trace:
        """The trace of accesses that happened at ``moments`` (per block and access; ``None``: never)."""
        happened = [
            (moment, (block, number))
            for block, times in enumerate(moments)
            for number, moment in enumerate(times)
            if moment is not None
        ]
        return cls(tuple(logs), tuple(event for _, event in sorted(happened)))

    def access(self, event: Event) -> DynamicAccess:
        block, number = event
        return self.logs[block].accesses[number]

    def accesses(self) -> Iterator[tuple[Event, DynamicAccess]]:
        """All accesses in the order in which they happened."""
        for event in self.order:
            yield event, self.access(event)
