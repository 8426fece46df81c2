"""What the two sides of a fault read and write at the first byte that they share.

The launch runs once more, on float arrays that count up, so that values tell the sides apart.  Where the accesses are
not the same ones then, because floats steer them, it runs on the contents of the witness.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np

from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import Block, ConcreteArray, ConcreteLaunch
from ...frontend.bytecode.model import Op, ScalarType, TileType
from ...results import ABOUT, SeenValues, SideAccess, SideName, SideValue
from ..interpreter import BlockLog, BoundLaunch, DynamicAccess, Memory, MemoryImage, UndefinedBehaviour
from ..interpreter.grid_runs import extent_bytes
from ..interpreter.machine import BlockInterpreter, Result, Rule
from ..interpreter.rounding import from_bits, round_to, to_bits
from ..interpreter.values import APPROXIMATE, Array, EndlessLoop, as_signed, storage, taint_bits

# ------------------------------------------------------------------------------------------------------- watched memory
# Memory that remembers what happens to one of its bytes.


@dataclass(frozen=True, slots=True)
class WatchedElement:
    """An element that holds the byte: its raw ``bits``, ``offset`` and ``width`` in bytes, and its taint."""

    bits: int
    offset: int
    width: int
    taint: int


@dataclass(frozen=True, slots=True)
class WatchedTouch:
    """A load, or a store with what was there ``before``; of one store several ``lanes`` may touch the byte."""

    lanes: tuple[WatchedElement, ...]
    before: WatchedElement | None = None


class WatchedMemory(Memory):
    """``touches``: what loads and stores did to byte ``byte`` of ``allocation``, in their order."""

    def __init__(self, image: MemoryImage, allocation: int, byte: int) -> None:
        super().__init__(image)
        self._allocation = allocation
        self._byte = byte
        self.touches: list[WatchedTouch] = []

    def load(self, allocation: int, offsets: Array, width: int) -> Array:
        found = super().load(allocation, offsets, width)
        lanes = self._watched(allocation, offsets, width)
        if len(lanes):
            marks = self._marks(allocation, offsets.reshape(-1)[lanes], width)
            self.touches.append(WatchedTouch(_lanes(found, offsets, lanes, marks)))
        return found

    def store(self, allocation: int, offsets: Array, bits: Array) -> None:
        lanes = self._watched(allocation, offsets, bits.dtype.itemsize)
        if len(lanes):
            places = offsets.reshape(-1)[lanes[:1]]
            old = super().load(allocation, places, bits.dtype.itemsize)
            marks = self._marks(allocation, places, bits.dtype.itemsize)
            (before,) = _lanes(old, places, np.zeros(1, np.int64), marks)
            self.touches.append(WatchedTouch(_lanes(bits, offsets, lanes, np.zeros(len(lanes), np.uint8)), before))
        super().store(allocation, offsets, bits)

    def set_taint(self, allocation: int, offsets: Array, width: int, taint: Array | None) -> None:
        """Told right after the store that it belongs to."""
        lanes = self._watched(allocation, offsets, width)
        if len(lanes) and taint_bits(taint):
            marks = np.broadcast_to(np.asarray(taint), offsets.shape).reshape(-1)[lanes]
            stored = self.touches[-1]
            tainted = (replace(lane, taint=int(mark)) for lane, mark in zip(stored.lanes, marks, strict=True))
            self.touches[-1] = replace(stored, lanes=tuple(tainted))
        super().set_taint(allocation, offsets, width, taint)

    def _watched(self, allocation: int, offsets: Array, width: int) -> Array:
        """The (flat) lanes that hold the byte."""
        if allocation != self._allocation:
            return np.zeros(0, np.int64)
        places = offsets.reshape(-1)
        return np.flatnonzero((places <= self._byte) & (self._byte < places + width))

    def _marks(self, allocation: int, places: Array, width: int) -> Array:
        taint = self.taint(allocation, places, width)
        return np.zeros(len(places), np.uint8) if taint is None else taint


def _lanes(bits: Array, offsets: Array, lanes: Array, marks: Array) -> tuple[WatchedElement, ...]:
    flat, places = bits.reshape(-1), offsets.reshape(-1)
    width = bits.dtype.itemsize
    return tuple(
        WatchedElement(int(flat[lane]), int(places[lane]), width, int(mark))
        for lane, mark in zip(lanes, marks, strict=True)
    )


# ---------------------------------------------------------------------------------------------------------- counting up
# Float arrays that count up, so that values tell where they come from.


PERIODS: Final = {"f8e8m0": 2, "f8e5m2": 7, "f8e4m3": 13, "bf16": 251}
PERIOD: Final = 2039
"""Prime, so that the rows of an array differ, and so small that the format holds every integer up to it."""
APART: Final = 101
"""By how much the first elements of two allocations differ."""
MOST_BYTES: Final = 1 << 24
"""Larger allocations stay as they are."""


def counting_floats(launch: ConcreteLaunch) -> dict[str, Array]:
    """The bytes of every allocation of floats: element i of allocation k holds ``1 + (i + 101 k) % 2039``.

    Formats with fewer exact integers repeat sooner.  What a witness gives contents to keeps them.
    """
    groups: dict[str, list[ConcreteArray]] = {}
    for name, array in launch.named_arrays():
        groups.setdefault(array.allocation or name, []).append(array)
    found = {}
    for number, (allocation, arrays) in enumerate(groups.items()):
        size = max(array.byte_offset + extent_bytes(array) for array in arrays)
        if 0 < size <= MOST_BYTES and len({array.dtype for array in arrays}) == 1 and all(map(_blank, arrays)):
            found[allocation] = _counting(arrays[0].dtype, size, APART * number)
    return found


def telling_contents(launch: ConcreteLaunch) -> Iterator[dict[str, Array]]:
    """Contents of float arrays that tell values apart: numbers that count up, then numbers of which each sum rounds."""
    counting = counting_floats(launch)
    yield counting
    types = {array.allocation or name: array.dtype for name, array in launch.named_arrays()}
    random = np.random.default_rng(0)
    rounding = {}
    for allocation, contents in counting.items():
        (name,) = ELEMENT_TYPES[types[allocation]].tile_ir
        element = ScalarType(name, 19 if name == "tf32" else ELEMENT_TYPES[types[allocation]].bits)
        numbers = round_to(random.standard_normal(-(-contents.size // element.bytes)), element)
        rounding[allocation] = np.ascontiguousarray(to_bits(numbers, element)).view(np.uint8)[: contents.size]
    yield rounding


def _blank(array: ConcreteArray) -> bool:
    return ELEMENT_TYPES[array.dtype].kind == "f" and not array.contents and not array.fill


def _counting(dtype: str, size: int, start: int) -> Array:
    (name,) = ELEMENT_TYPES[dtype].tile_ir
    element = ScalarType(name, 19 if name == "tf32" else ELEMENT_TYPES[dtype].bits)
    numbers = 1 + (start + np.arange(-(-size // element.bytes))) % PERIODS.get(dtype, PERIOD)
    bits = np.ascontiguousarray(to_bits(round_to(numbers.astype(np.float64), element), element))
    return bits.view(np.uint8)[:size]


# ------------------------------------------------------------------------------------------------------------- onlooker
# Looking on while one block runs alone: what each of its memory ops did to the log.


class AccessObserver(ABC):
    """A `interpreter.machine.Turn` that lets every access happen at once and looks at it afterwards."""

    def passes(self, op: Op) -> bool:
        return False

    def perform(self, run: BlockInterpreter, op: Op, rule: Rule) -> Result:
        accesses, events = len(run.log.accesses), len(run.log.events)
        result = rule(run, op)
        self.look(run, op, run.log.accesses[accesses:], run.log.events[events:])
        return result

    def spins(self, op: Op) -> None:
        raise EndlessLoop(f"the loop at {op.offset:#x} waits for another block")

    @abstractmethod
    def look(
        self, run: BlockInterpreter, op: Op, accesses: Sequence[DynamicAccess], events: Sequence[UndefinedBehaviour]
    ) -> None:
        """``op`` has just made ``accesses``, with ``events`` of undefined behaviour."""


# ---------------------------------------------------------------------------------------------------------- side values


@dataclass(frozen=True, slots=True)
class SeenSide:
    """One side as the replay saw it: ``a`` or ``b``, the block that ran and its access."""

    name: SideName
    block: Block
    access: DynamicAccess


class AccessWatch(AccessObserver):
    """Keeps what the accesses ``numbers`` of one block do to the watched byte, each if it is the only one of its op."""

    def __init__(self, memory: WatchedMemory, numbers: Sequence[int]) -> None:
        self._memory = memory
        self._numbers = frozenset(numbers)
        self._seen = len(memory.touches)
        self.touches: dict[int, WatchedTouch] = {}

    def look(
        self, run: BlockInterpreter, op: Op, accesses: Sequence[DynamicAccess], events: Sequence[UndefinedBehaviour]
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
