"""Loads and stores, through pointers and through views: which lanes touch which bytes, and the log of it.

A lane that would leave its allocation is recorded as undefined behaviour (TV302) and then takes no part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from ...frontend.bytecode.enums import MemoryOrdering
from ...frontend.bytecode.model import (
    GatherScatterViewType,
    Op,
    PartitionViewType,
    PointerType,
    ScalarType,
)
from ...results.codes import TV
from .access_log import BoxFootprint, Footprint, PointFootprint, StoredBits, TileFootprint, tile_shape
from .addresses import index_space
from .rounding import from_bits, to_bits
from .tiles import tile_type
from .values import (
    APPROXIMATE,
    OVERFLOWED,
    UNKNOWN_ORIGIN,
    UNSPECIFIED,
    Array,
    NotModelled,
    TensorView,
    Tile,
    TileView,
    Token,
    carrier,
    joint_taint,
    stand_in,
    taint_bits,
)

if TYPE_CHECKING:
    from .machine import BlockInterpreter, Rule

Region: TypeAlias = Array | tuple[Array | slice, ...] | EllipsisType

PADDING: Final[dict[str, float]] = {
    "zero": 0.0,
    "neg_zero": -0.0,
    "nan": float("nan"),
    "pos_inf": float("inf"),
    "neg_inf": float("-inf"),
}


@dataclass(frozen=True, slots=True)
class LiveLanes:
    """The live lanes of one access in one origin.

    ``region`` indexes the tile's lanes (slices of a box, a bool mask, or all); ``offsets`` are their byte offsets in
    the allocation, shaped as ``tile[region]``.
    """

    origin: int
    allocation: int
    footprint: Footprint
    region: Region
    offsets: Array


# -------------------------------------------------------------------------------------- pointer accesses
def element_of(op: Op, name: str) -> ScalarType:
    """The pointee of the pointer tile ``name``."""
    element = tile_type(op.value(name)).element
    assert isinstance(element, PointerType)
    return addressable(op, element.pointee)


def addressable(op: Op, element: ScalarType) -> ScalarType:
    if element.packed:
        raise NotModelled(f"{op.name} of 4-bit elements")
    return element


def pointer_reach(run: BlockInterpreter, op: Op, width: int) -> tuple[list[LiveLanes], Array | None]:
    """Where the live lanes of a pointer access go, one `LiveLanes` per origin.

    Lanes whose mask or address is open are left out; the second result is their taint (``None`` if there are none).
    """
    pointer, mask = run.tile(op, "ptr"), run.optional_tile(op, "mask")
    shape = pointer.data.shape
    assert pointer.origin is not None
    live = np.ones(shape, np.bool_) if mask is None else np.array(np.broadcast_to(mask.data, shape))
    left_out = None
    masked = None if mask is None else run.conduct.open_lanes(mask)
    if masked is not None:
        left_out = np.array(np.broadcast_to(masked, shape))
        run.leave_out(op, left_out, "mask", np.unique(pointer.origin).tolist())
        live &= left_out == 0
    addressed = run.conduct.open_lanes(pointer)
    if addressed is not None:
        taint = np.where(live, addressed, np.uint8(0))
        unclear = taint & np.uint8(0xFF & ~OVERFLOWED)
        if unclear.any():
            run.leave_out(op, unclear, "address", np.unique(pointer.origin).tolist())
            left_out = unclear if left_out is None else left_out | unclear
            live &= unclear == 0
        overflowed = live & (taint & OVERFLOWED != 0)
        if overflowed.any():
            run.undefined(op, TV.ARITHMETIC_UNDEFINED, "a live lane's address computation overflows")
            live &= ~overflowed
    if not live.any():
        return [], left_out
    if pointer.origin.ndim == 0:
        groups = [(int(pointer.origin), live)]
    else:
        numbers = np.broadcast_to(pointer.origin, shape)
        groups = [(int(number), live & (numbers == number)) for number in np.unique(numbers[live])]
    found = (_settle(run, op, origin, lanes, pointer.data[lanes], width) for origin, lanes in groups)
    return [reach for reach in found if reach is not None], left_out


def _settle(run: BlockInterpreter, op: Op, number: int, lanes: Array, addresses: Array, width: int) -> LiveLanes | None:
    """Keep the lanes whose elements lie inside the allocation and are aligned; record the others."""
    if number == UNKNOWN_ORIGIN:
        raise NotModelled(f"{op.name} at {op.offset:#x} through a pointer of unknown origin")
    origin = run.memory.image.origins[number]
    allocation = run.memory.image.allocation_of(number)
    offsets = (addresses - np.uint64(allocation.base)).view(np.int64)
    inside = (offsets >= 0) & (offsets <= allocation.size - width)
    if not inside.all():
        worst = int(addresses[~inside][0])
        run.undefined(op, TV.POINTER_OUT_OF_ALLOCATION, f"{op.name} leaves {origin.name}", number, worst)
    aligned = (addresses & np.uint64(width - 1)) == 0
    if not aligned[inside].all():
        worst = int(addresses[inside & ~aligned][0])
        run.undefined(
            op,
            TV.POINTER_OUT_OF_ALLOCATION,
            f"{op.name} of {origin.name} is not aligned to {width} bytes",
            number,
            worst,
        )
    kept = inside & aligned
    if kept.all() and lanes.all():
        points = PointFootprint(offsets + allocation.base, width)
        return LiveLanes(number, origin.allocation, points, ..., offsets.reshape(lanes.shape))
    if not kept.all():
        lanes = lanes.copy()
        lanes[lanes] = kept
        offsets = offsets[kept]
        if not len(offsets):
            return None
    return LiveLanes(number, origin.allocation, PointFootprint(offsets + allocation.base, width), lanes, offsets)


# ----------------------------------------------------------------------------------------- view accesses
@dataclass(frozen=True, slots=True)
class TileAxis:
    """Where a tile lies along one view dimension, in elements of its tensor dimension ``dim``.

    Lane i is at ``start + i``, or at ``start + rows[i]`` (unsigned) along the sparse dimension of a gather view.
    """

    dim: int
    start: int
    length: int
    rows: Array | None = None

    @property
    def first(self) -> int:
        return self.start + (0 if self.rows is None else int(self.rows[0]))

    @property
    def last(self) -> int:
        """The largest coordinate of a lane."""
        return self.start + (self.length - 1 if self.rows is None else int(self.rows.max()))

    def room(self, size: int) -> int:
        """How many lanes are below ``size``, where none is sparse."""
        return min(self.length, max(size - self.start, 0))

    def inside(self, size: int) -> tuple[Array | slice, Array]:
        """The lanes below ``size``, and their coordinates relative to ``start``."""
        if self.rows is None:
            count = self.room(size)
            return slice(0, count), np.arange(count)
        lanes = np.flatnonzero(self.rows < min(max(size - self.start, 0), (1 << 63) - 1))
        return lanes, self.rows[lanes]


def _tile_axes(run: BlockInterpreter, op: Op, view: TileView) -> tuple[list[TileAxis], int]:
    """The axes of the accessed tile, and the taint of what the view and its index depend on."""
    taint = view.tensor.taint
    kind = view.type
    axes: list[TileAxis] = []
    for axis, (value, dim) in enumerate(zip(op.group("index"), _dim_map(view), strict=True)):
        tile = run.values[value]
        assert isinstance(tile, Tile)
        taint |= taint_bits(tile.taint)
        length = kind.tile[axis]
        if isinstance(kind, GatherScatterViewType) and axis == kind.sparse_dim:
            rows = np.minimum(tile.data.astype(np.uint64), np.uint64((1 << 63) - 1))  # beyond any shape either way
            axes.append(TileAxis(dim, 0, length, rows.reshape(-1).view(np.int64)))
        elif isinstance(kind, GatherScatterViewType):
            axes.append(TileAxis(dim, int(tile.data), length))
        else:
            step = length if isinstance(kind, PartitionViewType) else kind.traversal[axis]
            axes.append(TileAxis(dim, int(tile.data) * step, length))
    return axes, taint


def _check_view(run: BlockInterpreter, op: Op, view: TileView, axes: list[TileAxis]) -> bool:
    """Record a tile index outside the index space and broken in-bounds promises; false if nothing may be accessed."""
    kind, tensor = view.type, view.tensor

    def undefined(code: TV, message: str) -> None:
        first = [0] * len(tensor.shape)
        for axis in axes:
            first[axis.dim] = axis.first
        place = sum(at * stride for at, stride in zip(first, tensor.strides, strict=True))
        corner = tensor.base + place * tensor.element.bytes
        run.undefined(op, code, message, tensor.origin, corner, tuple(first))

    promised = op.attributes.get("inbounds") or ()
    for number, axis in enumerate(axes):
        size = tensor.shape[axis.dim]
        if number < len(promised) and promised[number] and axis.last >= size:
            undefined(TV.INBOUNDS_PROMISE, f"the tile leaves dimension {number} of size {size}")
    if isinstance(kind, GatherScatterViewType):
        return True
    steps = kind.tile if isinstance(kind, PartitionViewType) else kind.traversal
    for number, (axis, step, space) in enumerate(zip(axes, steps, index_space(view), strict=True)):
        if axis.start // step >= space:
            undefined(
                TV.TILE_OUT_OF_INDEX_SPACE, f"tile index {axis.start // step} of {space} tiles along dimension {number}"
            )
            return False
    return True


def _dim_map(view: TileView) -> tuple[int, ...]:
    kind = view.type
    return tuple(range(len(kind.tile))) if isinstance(kind, GatherScatterViewType) else tuple(kind.dim_map)


def view_reach(run: BlockInterpreter, op: Op) -> tuple[list[LiveLanes], Array | None]:
    """Where the lanes of a view access go: the part of the tile that lies inside the tensor.

    An access with an open index is left out; the second result is then its (0-d) taint.
    """
    view = run.tile_view(op, "view")
    tensor = view.tensor
    addressable(op, tensor.element)
    axes, taint = _tile_axes(run, op, view)
    open_ = run.conduct.opened(np.asarray(taint, np.uint8))
    if open_:
        run.leave_out(op, open_, "index", [tensor.origin])
        return [], open_
    if not _check_view(run, op, view, axes):
        return [], None
    found = _gathered(op, tensor, axes) if isinstance(view.type, GatherScatterViewType) else _tiled(op, tensor, axes)
    return [] if found is None else _settle_box(run, op, tensor.origin, *found), None


def _tiled(op: Op, tensor: TensorView, axes: list[TileAxis]) -> tuple[TileFootprint, tuple[slice, ...]] | None:
    """What the tile touches, and its lanes inside the tensor; ``None`` if there are none.  No axis is sparse."""
    width, base = tensor.element.bytes, tensor.base
    counts: list[int] = []
    steps: list[int] = []
    for axis in axes:
        count = axis.room(tensor.shape[axis.dim])
        if not count:
            return None
        stride = _followed(op, tensor.strides[axis.dim] * width, axis.start + count - 1)
        base += axis.start * stride
        counts.append(count)
        steps.append(stride if count > 1 else 0)
    return TileFootprint(base, tile_shape(tuple(counts), tuple(steps), width)), tuple(map(slice, counts))


def _gathered(
    op: Op, tensor: TensorView, axes: list[TileAxis]
) -> tuple[BoxFootprint, tuple[Array | slice, ...]] | None:
    """The same, of a view one axis of which may be sparse."""
    width, base = tensor.element.bytes, tensor.base
    region: list[Array | slice] = []
    offsets: list[Array] = []
    for axis in axes:
        lanes, coordinates = axis.inside(tensor.shape[axis.dim])
        if not len(coordinates):
            return None
        region.append(lanes)
        last = int(coordinates.max())
        stride = _followed(op, tensor.strides[axis.dim] * width, axis.start + last)
        base += axis.start * stride
        offsets.append(coordinates * np.int64(stride) if last else coordinates)
    return BoxFootprint(base, tuple(offsets), width), tuple(region)


def _followed(op: Op, stride: int, last: int) -> int:
    """The bytes from element to element, if the element ``last`` can be addressed with them."""
    if last * stride >= 1 << 62:
        raise NotModelled(f"{op.name} at {op.offset:#x} {stride} bytes apart per element")
    return stride


def _settle_box(
    run: BlockInterpreter, op: Op, number: int, box: BoxFootprint | TileFootprint, region: Region
) -> list[LiveLanes]:
    if number == UNKNOWN_ORIGIN:
        raise NotModelled(f"{op.name} at {op.offset:#x} through a pointer of unknown origin")
    origin, allocation = run.memory.image.origins[number], run.memory.image.allocation_of(number)
    end = allocation.base + allocation.size
    if box.low >= allocation.base and box.end <= end and box.low % box.width == 0:
        return [LiveLanes(number, origin.allocation, box, region, box.grid(allocation.base))]
    if not 0 <= box.low < box.end < 1 << 63:
        run.undefined(op, TV.POINTER_OUT_OF_ALLOCATION, f"{op.name} leaves {origin.name}", number, box.low)
        return []
    tile = run.tile_view(op, "view").type.tile
    lanes = np.zeros(tile, np.bool_)
    lanes[region] = True
    reach = _settle(run, op, number, lanes, box.addresses().astype(np.uint64), box.width)
    return [] if reach is None else [reach]


# --------------------------------------------------------------------------------------- doing the access
def read_lanes(run: BlockInterpreter, reaches: Iterable[LiveLanes], into: Tile, element: ScalarType) -> Tile:
    """``into`` with the lanes of ``reaches`` replaced by what memory holds."""
    data, taint = into.data, into.taint
    for reach in reaches:
        bits = run.memory.load(reach.allocation, reach.offsets, element.bytes)
        data[reach.region] = from_bits(bits, element)
        marks = run.memory.taint(reach.allocation, reach.offsets, element.bytes)
        if taint is not None or marks is not None:
            taint = np.zeros(data.shape, np.uint8) if taint is None else np.array(np.broadcast_to(taint, data.shape))
            taint[reach.region] = 0 if marks is None else marks
    return Tile(data, taint if taint_bits(taint) else None)


def write_lanes(run: BlockInterpreter, op: Op, reaches: Iterable[LiveLanes], tile: Tile, element: ScalarType) -> None:
    for reach in reaches:
        marks = tile.taint
        if marks is not None:
            marks = np.broadcast_to(marks, tile.data.shape)[reach.region]
            run.writes(op, marks, element_namer(run, reach))
        bits = np.asarray(to_bits(tile.data[reach.region], element))
        run.memory.store(reach.allocation, reach.offsets, bits)
        run.memory.set_taint(reach.allocation, reach.offsets, element.bytes, marks)


def element_namer(run: BlockInterpreter, reach: LiveLanes) -> Callable[[int], str]:
    """Names the element that a (flat) lane of ``reach`` goes to."""
    image = run.memory.image
    base = image.allocations[reach.allocation].base
    return lambda lane: image.origins[reach.origin].element(base + int(reach.offsets.reshape(-1)[lane]))


def _bits_left(run: BlockInterpreter, op: Op, reach: LiveLanes, tile: Tile, element: ScalarType) -> StoredBits | None:
    """What a plain store of ``tile`` leaves where the launch allows equal values; rounding that may differ is no matter
    here, as all blocks round alike."""
    allowed = run.memory.image.origins[reach.origin].name in run.program.entry.equal_stores
    if not allowed or op.attributes["ord"] != MemoryOrdering.WEAK:
        return None
    bits = np.asarray(to_bits(tile.data[reach.region], element)).reshape(-1)
    taint = np.zeros((), np.uint8) if tile.taint is None else tile.taint
    marks = np.broadcast_to(taint, tile.data.shape)[reach.region].reshape(-1)
    return StoredBits(bits, marks & np.uint8(0xFF & ~APPROXIMATE) != 0)


def log_store(run: BlockInterpreter, op: Op, reaches: Iterable[LiveLanes], tile: Tile, element: ScalarType) -> Token:
    """`log_all` of a store, with what it leaves where that matters."""
    waits = run.waits(op)
    for reach in reaches:
        left = _bits_left(run, op, reach, tile, element)
        waits = run.log.record(op, "store", reach.origin, None, reach.footprint, waits, left)
    return Token(waits)


def log_all(
    run: BlockInterpreter, op: Op, kind: str, reaches: Iterable[LiveLanes], *, reads: bool, writes: bool
) -> Token:
    """Record the access; lanes of several origins are parts of one access, so later parts wait for earlier ones."""
    waits = run.waits(op)
    for reach in reaches:
        footprint = reach.footprint
        waits = run.log.record(
            op, kind, reach.origin, footprint if reads else None, footprint if writes else None, waits
        )
    return Token(waits)


def opened(tile: Tile, left_out: Array | None) -> Tile:
    """``tile`` with the taint of lanes that may or may not have been read."""
    return tile if left_out is None else Tile(tile.data, joint_taint(tile, Tile(tile.data, left_out)))


def padded(shape: tuple[int, ...], element: ScalarType, padding: str | None) -> Tile:
    """A tile of the view's padding value; without one its lanes are unspecified."""
    if padding is None:
        return Tile(np.zeros(shape, carrier(element)), np.full(shape, UNSPECIFIED, np.uint8))
    return Tile(np.full(shape, PADDING[padding] if element.is_float else 0, carrier(element)))


def _load_pointer(run: BlockInterpreter, op: Op) -> tuple[Tile, Token]:
    element = element_of(op, "ptr")
    shape = tile_type(op.results[0]).shape
    reaches, left_out = pointer_reach(run, op, element.bytes)
    token = log_all(run, op, "load", reaches, reads=True, writes=False)
    if op in run.program.footprints:
        return stand_in(tile_type(op.results[0])), token
    pad = run.optional_tile(op, "pad")
    if pad is None:
        start = Tile(np.zeros(shape, carrier(element)), np.full(shape, UNSPECIFIED, np.uint8))
    else:
        start = Tile(np.array(np.broadcast_to(pad.data, shape)), pad.taint)
    return read_lanes(run, reaches, opened(start, left_out), element), token


def _store_pointer(run: BlockInterpreter, op: Op) -> Token:
    element = element_of(op, "ptr")
    reaches, _ = pointer_reach(run, op, element.bytes)
    value = run.tile(op, "val")
    token = log_store(run, op, reaches, value, element)
    if op not in run.program.footprints:
        write_lanes(run, op, reaches, value, element)
    return token


def load_view(run: BlockInterpreter, op: Op) -> tuple[Tile, Token]:
    view = run.tile_view(op, "view")
    element = addressable(op, view.tensor.element)
    reaches, left_out = view_reach(run, op)
    token = log_all(run, op, "load", reaches, reads=True, writes=False)
    if op in run.program.footprints:
        return stand_in(tile_type(op.results[0])), token
    start = padded(tile_type(op.results[0]).shape, element, view.type.padding)
    return read_lanes(run, reaches, opened(start, left_out), element), token


def store_view(run: BlockInterpreter, op: Op) -> Token:
    element = addressable(op, run.tile_view(op, "view").tensor.element)
    reaches, _ = view_reach(run, op)
    value = run.tile(op, "tile")
    token = log_store(run, op, reaches, value, element)
    if op not in run.program.footprints:
        write_lanes(run, op, reaches, value, element)
    return token


RULES: Final[dict[str, Rule]] = {
    "load_ptr_tko": _load_pointer,
    "store_ptr_tko": _store_pointer,
    "load_view_tko": load_view,
    "store_view_tko": store_view,
}
