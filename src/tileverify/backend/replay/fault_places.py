"""Where a fault of a run lies: the blocks that show it, the event that answers a claim, the elements it concerns.

Blocks run apart, each from the initial memory, as for a claim about two of them (`replay`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice
from math import prod
from typing import Final

import numpy as np

from ...contract.launch import Block, ConcreteLaunch
from ...frontend.bytecode.model import GatherScatterViewType, Op
from ...results import Elements
from ...results.claim import Claim, Confirmation, Touch
from ...results.codes import BETWEEN_BLOCKS, EVENTS, INSIDE_BLOCK, TV
from ..interpreter import BlockLog, Budget, DynamicAccess, MemoryImage, UndefinedBehaviour
from ..interpreter.access_log import Footprint, Runs
from ..interpreter.accesses import element_of
from ..interpreter.conflicts import Conflict, doubled_lanes, races, unordered
from ..interpreter.machine import BlockInterpreter
from ..interpreter.memory import Provenance
from ..interpreter.values import UNKNOWN_ORIGIN, Array, TileView
from .side_values import AccessObserver, SeenSide

MOST_BLOCKS: Final = 16
"""Blocks that are run of one launch: those of the claim, then the first, and at the end of the grid the last."""
LAST_BLOCKS: Final = 2


def chosen_blocks(grid: Block, claim: Claim) -> list[Block]:
    """The blocks of the claim that the grid has, then others."""
    named = [block for block in (claim.block_a, claim.block_b) if block is not None]
    inside = [block for block in named if all(place < size for place, size in zip(block, grid, strict=True))]
    count = prod(grid)
    first = range(min(MOST_BLOCKS - LAST_BLOCKS, count))
    last = range(count - 1, max(count - 1 - LAST_BLOCKS, -1), -1)
    others = (numbered(number, grid) for number in chain(first, last))
    return list(islice(dict.fromkeys(chain(inside, others)), MOST_BLOCKS))


def numbered(number: int, grid: Block) -> Block:
    """The block with this number, x first: a grid has up to 2**72 blocks, which nobody should count through."""
    rest, x = divmod(number, grid[0])
    z, y = divmod(rest, grid[1])
    return x, y, z


def claimed(claim: Claim) -> frozenset[int]:
    """The ops that the claim names."""
    return frozenset(offset for offset in (claim.offset_a, claim.offset_b) if offset is not None)


def at_fault(
    logs: Sequence[BlockLog],
    claim: Claim,
    ops: frozenset[int] | None,
    loops: Mapping[Op, tuple[Op, ...]],
    budget: Budget,
) -> Iterator[Claim]:
    """The claim about every block, or pair of blocks, that shows such a fault at these ops; at any where there are
    none."""
    if claim.code in BETWEEN_BLOCKS:
        for first, second in combinations(logs, 2):
            if _race(first, second, claim.code, ops, budget):
                yield replace(claim, block_a=first.block, block_b=second.block)
        return
    for log in logs:
        if _faulty(log, claim.code, ops, loops, budget):
            yield replace(claim, block_a=log.block, block_b=None)


def faulty(logs: Sequence[BlockLog], loops: Mapping[Op, tuple[Op, ...]], budget: Budget) -> bool:
    """Whether the blocks show any fault at all."""
    if any(log.events for log in logs):
        return True
    pairs = any(_race(a, b, code, None, budget) for a, b in combinations(logs, 2) for code in BETWEEN_BLOCKS)
    return pairs or any(_faulty(log, code, None, loops, budget) for log in logs for code in INSIDE_BLOCK)


def _race(first: BlockLog, second: BlockLog, code: TV, ops: frozenset[int] | None, budget: Budget) -> bool:
    mine, other = (_of(log.accesses, ops) for log in (first, second))
    return any(True for _ in races(code, mine, other, lambda earlier, later: False, budget))


def _of(accesses: Sequence[DynamicAccess], ops: frozenset[int] | None) -> Sequence[DynamicAccess]:
    return accesses if ops is None else [access for access in accesses if access.op.offset in ops]


def _faulty(
    log: BlockLog, code: TV, ops: frozenset[int] | None, loops: Mapping[Op, tuple[Op, ...]], budget: Budget
) -> bool:
    if code in EVENTS:
        return any(event.code == code and (ops is None or event.offset in ops) for event in log.events)
    found = unordered(log, loops, budget) if code == TV.UNORDERED_IN_BLOCK else doubled_lanes(log)
    sides = ({a.op.offset for a in (each.first, each.second) if a is not None} for each in found)
    return any(ops is None or offsets <= ops for offsets in sides)


def at_stake(logs: Sequence[BlockLog], claim: Claim) -> bool:
    """Whether blocks got to what the claim is about; inside a block, one block to all of it.

    Between blocks, one that gets there alone counts, too: what kept the others away makes the launch a right one.
    """
    first = [log.block for log in logs if claim.offset_a in _touched(log)]
    if claim.offset_b is None:
        return bool(first)
    second = [log.block for log in logs if claim.offset_b in _touched(log)]
    if claim.code in BETWEEN_BLOCKS:
        return bool(first and second)
    return not set(first).isdisjoint(second)


def reach(logs: Sequence[BlockLog], claim: Claim) -> int:
    """Elements from the first to behind the last that one block touched at the claimed ops, in the block with most."""
    ops = claimed(claim)
    spans = [0]
    for log in logs:
        for op in ops:
            touched = [f for access in _of(log.accesses, frozenset({op})) for f in access.footprints]
            if touched:
                first, end = min(f.low for f in touched), max(f.end for f in touched)
                spans.append(-(-(end - first) // min(f.width for f in touched)))
    return max(spans)


def _touched(log: BlockLog) -> set[int]:
    """The ops that touched memory, or failed."""
    return {a.op.offset for a in log.accesses if a.footprints} | {event.offset for event in log.events}


# ----------------------------------------------------------------------------------------------------------- confirming
# What a run showed, as the answer to a claim: the conflict or event that it names, and where it lies.


MOST_OTHERS: Final = 256
"""Conflicts between other ops than the claimed ones that are kept while those are looked for."""


class NotConfirmed(Exception):
    """The replay did not show the fault; the text says why."""


def claimed_first(found: Iterable[Conflict], claim: Claim) -> Iterator[Conflict]:
    """Conflicts between the claimed ops before the others, of which it keeps some."""
    claimed = {offset for offset in (claim.offset_a, claim.offset_b) if offset is not None}
    others: list[Conflict] = []
    for conflict in found:
        if {access.op.offset for access in (conflict.first, conflict.second) if access is not None} == claimed:
            yield conflict
        else:
            others.append(conflict)
        if len(others) >= MOST_OTHERS:
            break
    yield from others


def turned_round(sides: Sequence[SeenSide], claim: Claim) -> bool:
    """Whether the first of two sides is the claim's second: the other block, or in one block the other op."""
    first, second = sides
    if claim.code in BETWEEN_BLOCKS:
        return first.block != claim.block_a
    ops = (first.access.op.offset, second.access.op.offset)
    return ops != (claim.offset_a, claim.offset_b) and ops == (claim.offset_b, claim.offset_a)


def excuse(*logs: BlockLog) -> str:
    """What kept the runs from being complete."""
    reasons = [f"block {log.block}: {log.stopped}" for log in logs if log.stopped is not None]
    reasons += [f"block {log.block}: {log.left_out[0]}" for log in logs if log.left_out]
    return "; ".join(dict.fromkeys(reasons))


def before(log: BlockLog, time: int) -> bool:
    """Whether the block met undefined behaviour before that time."""
    return any(event.time < time for event in log.events)


def confirm_event(
    image: MemoryImage, log: BlockLog, claim: Claim, outside: Mapping[int, Named], text: str
) -> Confirmation:
    """The claimed event, at the claimed op if it shows there, whatever else the block met before."""
    events = [event for event in log.events if event.code == claim.code]
    if not events:
        raise NotConfirmed(excuse(log) or f"no {claim.code} shows")
    event = next((event for event in events if event.offset == claim.offset_a), events[0])
    earlier = (other for other in log.events if other.time < event.time)
    if any(other.code != event.code and other.offset != event.offset for other in earlier):
        text += ", past another fault"
    array, element, byte = "", event.message, 0
    if event.origin is not None and event.address is not None and event.origin >= 0:
        origin = image.origins[event.origin]
        array, element = origin.name, origin.element(event.address)
        byte = event.address - image.allocations[origin.allocation].base
        if event.coordinates is not None:
            element = f"{origin.name}[{', '.join(map(str, event.coordinates))}]"
    named = outside.get(event.time, Named(element, None))
    touch = Touch(event.offset, access_kind(event.op), log.block)
    return Confirmation(array, named.text, byte, touch, None, text, named.elements)


def in_words(named: Named, launch: ConcreteLaunch) -> Named:
    """A row of a list's descriptors is an array of the list: ``xs[3]``."""
    elements = named.elements
    return box(elements.array, elements.ranges[:1]) if elements and elements.array in launch.lists else named


def access_kind(name: str) -> str:
    """``load``, ``store``, ``atomic`` for memory ops, else the op's own name."""
    return next((kind for kind in ("load", "store", "atomic") if name.startswith(kind)), name)


# -------------------------------------------------------------------------------------------------------------- outside
# What lies outside: the elements that an access reaches beyond its array, its view or its promise.


class OutsideWatch(AccessObserver):
    """Names what accesses reach outside: ``found``, by the time of the event of undefined behaviour."""

    def __init__(self) -> None:
        self.found: dict[int, Named] = {}

    def look(
        self, run: BlockInterpreter, op: Op, accesses: Sequence[DynamicAccess], events: Sequence[UndefinedBehaviour]
    ) -> None:
        for code, alike in _by_code(events).items():
            for event, named in zip(alike, _named(run, op, code, alike), strict=False):
                if named is not None:
                    self.found[event.time] = named


def _by_code(events: Sequence[UndefinedBehaviour]) -> dict[TV, list[UndefinedBehaviour]]:
    found: dict[TV, list[UndefinedBehaviour]] = {}
    for event in events:
        found.setdefault(event.code, []).append(event)
    return found


def _named(run: BlockInterpreter, op: Op, code: TV, events: Sequence[UndefinedBehaviour]) -> Iterator[Named | None]:
    """What the events of one code and one execution of ``op`` are about, in their order."""
    if code == TV.POINTER_OUT_OF_ALLOCATION and "ptr" in op.operands:
        yield from (_lanes_outside(run, op, event) for event in events)
    elif code in (TV.TILE_OUT_OF_INDEX_SPACE, TV.INBOUNDS_PROMISE) and "view" in op.operands:
        view, corner = run.tile_view(op, "view"), events[0].coordinates
        if corner is None or isinstance(view.type, GatherScatterViewType):
            return
        tile = [(start, start + 1) for start in corner]
        for size, k in zip(view.type.tile, view.type.dim_map, strict=True):
            tile[k] = (corner[k], corner[k] + size)
        name = run.memory.image.origins[view.tensor.origin].name
        for ranges in [tile] if code == TV.TILE_OUT_OF_INDEX_SPACE else _behind_the_end(op, view, tile):
            yield box(name, ranges)


def _behind_the_end(op: Op, view: TileView, tile: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """For every promised dimension that the tile leaves: the part of it behind the end, clipped in the others."""
    assert not isinstance(view.type, GatherScatterViewType)
    shape = view.tensor.shape
    clipped = [(start, max(start + 1, min(end, size))) for (start, end), size in zip(tile, shape, strict=True)]
    promised = op.attributes.get("inbounds") or ()
    for k, held in zip(view.type.dim_map, promised, strict=False):
        start, end = tile[k]
        if held and end > shape[k]:
            yield [*clipped[:k], (max(start, shape[k]), end), *clipped[k + 1 :]]


# ----------------------------------------------------------------------------------------------- pointers
def _lanes_outside(run: BlockInterpreter, op: Op, event: UndefinedBehaviour) -> Named | None:
    """The elements behind the end of the array that live lanes reach."""
    if event.origin is None or event.origin == UNKNOWN_ORIGIN:
        return None
    origin = run.memory.image.origins[event.origin]
    width = element_of(op, "ptr").bytes
    starts = np.unique(_live_addresses(run, op, event.origin))
    outside = starts[(starts < origin.base) | (starts > origin.base + origin.size - width)]
    if event.address not in outside:
        return None  # this one is inside, but not aligned
    return name_elements(_unbounded(origin), [(outside, outside + width)])


def _live_addresses(run: BlockInterpreter, op: Op, origin: int) -> Array:
    pointer, mask = run.tile(op, "ptr"), run.optional_tile(op, "mask")
    shape = pointer.data.shape
    live = np.broadcast_to(np.asarray(pointer.origin) == origin, shape)
    for tile in (pointer, mask):
        if tile is not None and tile.taint is not None:
            live = live & (np.broadcast_to(tile.taint, shape) == 0)
    if mask is not None:
        live = live & np.broadcast_to(mask.data, shape)
    return np.asarray(pointer.data[live], np.int64)


def _unbounded(origin: Provenance) -> Provenance:
    """The layout without an end, so that ``x[10]`` names what follows ``x[9]``."""
    if not origin.strides or not max(origin.strides):
        return origin
    outermost = origin.strides.index(max(origin.strides))
    shape = tuple(1 << 62 if k == outermost else size for k, size in enumerate(origin.shape or ()))
    return replace(origin, shape=shape, size=1 << 62)


# ------------------------------------------------------------------------------------------------------ shared elements
# Which elements of an array two accesses share: as a box of index ranges where they form one.


MOST_ELEMENTS: Final = 1 << 22
"""Of more elements than these the first one is named, and how many there are."""


@dataclass(frozen=True, slots=True)
class Named:
    """Elements in words; ``elements`` where they have indices."""

    text: str
    elements: Elements | None


# ------------------------------------------------------------------------------------------- which bytes
def shared_runs(first: DynamicAccess, second: DynamicAccess | None) -> list[Runs]:
    """The bytes that both accesses touch and one of them writes; of one access alone, those that two lanes write."""
    if second is None:
        assert first.writes is not None
        return [_doubled(first.writes)]
    return [
        _intersection(mine.runs, other.runs)
        for mine in first.footprints
        for other in second.footprints
        if mine is first.writes or other is second.writes
    ]


def _doubled(footprint: Footprint) -> Runs:
    addresses, counts = np.unique(footprint.addresses(), return_counts=True)
    starts = addresses[counts > 1]
    return starts, starts + footprint.width


def _intersection(first: Runs, second: Runs) -> Runs:
    """The common parts of two lists of disjoint intervals in ascending order."""
    (starts, ends), (other_starts, other_ends) = first, second
    low = np.searchsorted(other_ends, starts, side="right")
    high = np.searchsorted(other_starts, ends, side="left")
    met = np.maximum(high - low, 0)
    mine, other = np.repeat(np.arange(len(starts)), met), _counted(low, met)
    return np.maximum(starts[mine], other_starts[other]), np.minimum(ends[mine], other_ends[other])


def _counted(firsts: Array, counts: Array) -> Array:
    """``firsts[0], firsts[0] + 1, ...``, ``counts[0]`` of them, and so on for every start."""
    before = np.cumsum(counts) - counts
    return np.asarray(np.arange(int(counts.sum())) + np.repeat(firsts - before, counts))


# ---------------------------------------------------------------------------------------- which elements
def name_elements(origin: Provenance, runs: Sequence[Runs]) -> Named:
    """The elements of ``origin`` that the bytes of ``runs`` (absolute addresses, at least one) belong to."""
    starts, ends = (np.concatenate(parts) - origin.base for parts in zip(*runs, strict=True))
    width = origin.element_bytes
    firsts, counts = starts // width, -(-ends // width) - starts // width
    first = origin.element(origin.base + int(firsts.min()) * width)
    if int(counts.sum()) > MOST_ELEMENTS:
        return _without_box(origin, first, int(counts.sum()))
    storage = np.unique(_counted(firsts, counts))
    coordinates = coordinates_of(origin, storage)
    if coordinates is None:
        return _and_more(first, len(storage), None)
    ranges = tuple((int(axis.min()), int(axis.max()) + 1) for axis in coordinates)
    if prod(end - start for start, end in ranges) != len(storage):
        return _without_box(origin, first, len(storage))
    return box(origin.name, ranges)


def _without_box(origin: Provenance, first: str, count: int) -> Named:
    return _and_more(first, count, Elements(origin.name, (), count))


def _and_more(first: str, count: int, elements: Elements | None) -> Named:
    return Named(f"{first} and {count - 1} more" if count > 1 else first, elements)


def box(array: str, ranges: Sequence[tuple[int, int]]) -> Named:
    """``out[3, 0:64]``, half-open as Python's slices."""
    axes = (str(start) if end == start + 1 else f"{start}:{end}" for start, end in ranges)
    count = prod(end - start for start, end in ranges)
    return Named(f"{array}[{', '.join(axes)}]", Elements(array, tuple(ranges), count))


def coordinates_of(origin: Provenance, storage: Array) -> list[Array] | None:
    """The index of every element, by dimension, as `Provenance.element` reads it; ``None`` without a layout."""
    if origin.shape is None or origin.strides is None:
        return None
    if (storage < 0).any() or (storage * origin.element_bytes >= origin.size).any():
        return None
    rest, index = storage, [np.zeros_like(storage)] * len(origin.shape)
    for axis in sorted(range(len(index)), key=origin.strides.__getitem__, reverse=True):
        if origin.strides[axis]:
            index[axis] = np.minimum(rest // origin.strides[axis], origin.shape[axis] - 1)
            rest = rest - index[axis] * origin.strides[axis]
    return None if rest.any() else index
