"""What lies outside: the elements that an access reaches beyond its array, its view or its promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...frontend.bytecode.model import GatherScatterViewType, Op
from ...results.codes import TV
from ..interpreter import DynamicAccess, UndefinedBehaviour
from ..interpreter.accesses import element_of
from ..interpreter.machine import BlockRun
from ..interpreter.memory import Provenance
from ..interpreter.values import UNKNOWN_ORIGIN, Array, TileView
from .onlooker import Onlooker
from .shared_elements import Named, box, name_elements


class OutsideWatch(Onlooker):
    """Names what accesses reach outside: ``found``, by the time of the event of undefined behaviour."""

    def __init__(self) -> None:
        self.found: dict[int, Named] = {}

    def look(
        self, run: BlockRun, op: Op, accesses: Sequence[DynamicAccess], events: Sequence[UndefinedBehaviour]
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


def _named(run: BlockRun, op: Op, code: TV, events: Sequence[UndefinedBehaviour]) -> Iterator[Named | None]:
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
def _lanes_outside(run: BlockRun, op: Op, event: UndefinedBehaviour) -> Named | None:
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


def _live_addresses(run: BlockRun, op: Op, origin: int) -> Array:
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
