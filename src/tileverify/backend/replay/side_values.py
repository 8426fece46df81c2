"""What the two sides of a fault read and write at the first byte that they share.

The launch runs once more, on float arrays that count up, so that values tell the sides apart.  Where the accesses are
not the same ones then, because floats steer them, it runs on the contents of the witness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...contract.concrete import Block, ConcreteLaunch
from ...frontend.bytecode.model import Op, ScalarType, TileType
from ...results import ABOUT, SeenValues, SideAccess, SideName, SideValue
from ..interpreter import BlockLog, BoundLaunch, DynamicAccess, UndefinedBehaviour
from ..interpreter.encodings import from_bits
from ..interpreter.machine import BlockRun
from ..interpreter.values import APPROXIMATE, Array, as_signed, storage
from .counting_up import counting_floats
from .onlooker import Onlooker
from .watched_memory import WatchedElement, WatchedMemory, WatchedTouch


@dataclass(frozen=True, slots=True)
class SeenSide:
    """One side as the replay saw it: ``a`` or ``b``, the block that ran and its access."""

    name: SideName
    block: Block
    access: DynamicAccess


class AccessWatch(Onlooker):
    """Keeps what the accesses ``numbers`` of one block do to the watched byte, each if it is the only one of its op."""

    def __init__(self, memory: WatchedMemory, numbers: Sequence[int]) -> None:
        self._memory = memory
        self._numbers = frozenset(numbers)
        self._seen = len(memory.touches)
        self.touches: dict[int, WatchedTouch] = {}

    def look(
        self, run: BlockRun, op: Op, accesses: Sequence[DynamicAccess], events: Sequence[UndefinedBehaviour]
    ) -> None:
        new = self._memory.touches[self._seen :]
        self._seen += len(new)
        for access in accesses:
            if access.number in self._numbers and len(new) == 1 and access.kind != "atomic":
                self.touches[access.number] = new[0]


Run: TypeAlias = Callable[[BoundLaunch, WatchedMemory, Block, AccessWatch], BlockLog]
"""Runs one block of a launch on a memory while somebody looks on."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Two accesses that meet on the byte at ``address``, and how to run them again.

    ``first`` and ``second`` ran in this order, on one memory if ``together``; without ``second`` two lanes of one store
    meet.
    """

    launch: ConcreteLaunch
    bind: Callable[[Mapping[str, Array]], BoundLaunch]
    run: Run
    first: SeenSide
    second: SeenSide | None
    together: bool
    address: int

    def values(self) -> SeenValues | None:
        """``None`` where nothing that is specified was read or written, or in memory that a block allocates."""
        counting = counting_floats(self.launch)
        for contents in [counting, {}] if counting else [{}]:
            bound = self.bind(contents)
            if self.first.access.origin >= len(bound.image.origins):
                return None  # memory that the block itself allocates has no place before it runs
            touches = self._again(bound)
            if touches is not None:
                origin = bound.image.origins[self.first.access.origin]
                sides = tuple(self._sides(touches, _Reading(self.launch, origin.name)))
                start = self.address - (self.address - origin.base) % origin.element_bytes
                return SeenValues(origin.element(start), sides, bool(contents)) if sides else None
        return None

    # --------------------------------------------------------------------------------------- the run
    def _again(self, bound: BoundLaunch) -> dict[str, WatchedTouch] | None:
        """What each side does to the byte, where that is known; ``None`` if they do not come there again."""
        origin = bound.image.origins[self.first.access.origin]
        byte = self.address - bound.image.allocations[origin.allocation].base
        memory = WatchedMemory(bound.image, origin.allocation, byte)
        sides = [side for side in (self.first, self.second) if side is not None]
        touches: dict[str, WatchedTouch] = {}
        for block in dict.fromkeys(side.block for side in sides):
            if not self.together:
                memory = WatchedMemory(bound.image, origin.allocation, byte)
            mine = [side for side in sides if side.block == block]
            watch = AccessWatch(memory, [side.access.number for side in mine])
            log = self.run(bound, memory, block, watch)
            if not all(_made_again(log, side.access) for side in mine):
                return None
            known = [side for side in mine if side.access.number in watch.touches]
            touches |= {side.name: watch.touches[side.access.number] for side in known}
        return touches

    # ------------------------------------------------------------------------------------- the values
    def _sides(self, touches: Mapping[str, WatchedTouch], reading: _Reading) -> Iterator[SideValue]:
        if self.second is None:
            touch = touches.get(self.first.name)
            names: tuple[SideName, ...] = ("a", "b")
            for name, lane in zip(names, touch.lanes[:2] if touch else (), strict=False):
                yield from _side(name, "store", reading(self.first.access.op, lane))
            return
        pairs = ((self.first, self.second), (self.second, self.first))
        for side, other in sorted(pairs, key=lambda pair: pair[0].name):
            touch, theirs = touches.get(side.name), touches.get(other.name)
            if touch is None:  # of atomics there is none
                continue
            lane, after = touch.lanes[0], None
            if side.access.kind == "load" and theirs is not None and theirs.before is not None:
                after = theirs.lanes[0]
                if (after.offset, after.width) != (lane.offset, lane.width):
                    after = None
                elif self.together and side is self.second:
                    lane = theirs.before
            op = side.access.op
            later = None if after is None else reading(op, after)
            kind: SideAccess = "load" if side.access.kind == "load" else "store"
            yield from _side(side.name, kind, reading(op, lane), later)


def _side(name: SideName, access: SideAccess, value: str | None, after: str | None = None) -> Iterator[SideValue]:
    if value is not None:
        yield SideValue(name, access, value, after)


def _made_again(log: BlockLog, access: DynamicAccess) -> bool:
    """Whether the block made this access again, on the same bytes and waiting for the same ones."""
    if access.number >= len(log.accesses):
        return False
    again = log.accesses[access.number]
    return (again.op, again.low, again.end, again.waits) == (access.op, access.low, access.end, access.waits)


class _Reading:
    """Reads elements of ``array``, as numbers of the type that an op accesses."""

    def __init__(self, launch: ConcreteLaunch, array: str) -> None:
        described = dict(launch.named_arrays()).get(array)
        self._unsigned = described is not None and described.dtype.startswith("u")

    def __call__(self, op: Op, lane: WatchedElement) -> str | None:
        """The number in words; ``None`` where the specification, or the order of blocks, leaves it open."""
        element = _element(op)
        if lane.taint & ~APPROXIMATE or lane.width != element.bytes:
            return None
        value = from_bits(np.array([lane.bits], storage(lane.width)), element)
        if element.is_integer and element.bits > 1 and not self._unsigned:
            value = as_signed(value, element.bits)
        return f"{ABOUT if lane.taint else ''}{value[0]}"


def _element(op: Op) -> ScalarType:
    """The element type of a load or a store."""
    names = [name for name in ("val", "tile") if name in op.operands]
    kind = op.value(names[0]).type if names else op.results[0].type
    assert isinstance(kind, TileType)
    assert isinstance(kind.element, ScalarType)
    return kind.element
