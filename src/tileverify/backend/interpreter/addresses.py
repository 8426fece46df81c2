"""Pointers, views and what they describe; block ids and the grid; tokens, which only pass on what they wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ...frontend.bytecode.model import (
    GatherScatterViewType,
    Op,
    PartitionViewType,
    PointerType,
    ScalarType,
    StridedViewType,
    TensorViewType,
)
from ...results.codes import TV
from .integers import bits_of
from .memory import Provenance
from .tiles import tile_type
from .values import (
    OVERFLOWED,
    NotModelled,
    TensorView,
    Tile,
    TileView,
    Token,
    as_signed,
    joint_taint,
    taint_bits,
    with_taint,
    wrapped,
)

if TYPE_CHECKING:
    from .machine import BlockInterpreter, GridPoint, Rule


# -------------------------------------------------------------------------------------------- pointers
def _pointee(kind: object) -> ScalarType:
    assert isinstance(kind, PointerType)
    return kind.pointee


def _offset(run: BlockInterpreter, op: Op) -> Tile:
    """``ptr + off * size``: off is signed; the product may not overflow i64, the sum may not leave u64."""
    pointer, count = run.tile(op, "ptr"), run.tile(op, "off")
    pointee = _pointee(tile_type(op.result).element)
    if pointee.packed:
        raise NotModelled("offset of a pointer to 4-bit elements")
    size = pointee.bytes
    steps = np.asarray(as_signed(count.data, bits_of(op.value("off")))).astype(np.int64)
    limit = (1 << 63) // size
    fits = (steps < limit) & (steps >= -limit)
    move = steps * np.int64(size)
    address = np.asarray(pointer.data + move.view(np.uint64))
    fits = fits & ((address >= pointer.data) == (move >= 0))
    taint = with_taint(joint_taint(pointer, count), np.asarray(~fits), OVERFLOWED)
    return Tile(address, taint, pointer.origin)


def _pointer_to_integer(run: BlockInterpreter, op: Op) -> Tile:
    source = run.tile(op, "s")
    return Tile(source.data, source.taint)


def _integer_to_pointer(run: BlockInterpreter, op: Op) -> Tile:
    """The origin of each address is what stands there: descriptors of lists hold true base addresses."""
    source = run.tile(op, "s")
    distinct, which = np.unique(source.data, return_inverse=True)
    origins = np.array([run.memory.image.origin_at(int(address)) for address in distinct], np.int64)
    return Tile(source.data, source.taint, np.asarray(origins[which]).reshape(source.data.shape))


def _pointer_to_pointer(run: BlockInterpreter, op: Op) -> Tile:
    return run.tile(op, "s")


def _get_global(run: BlockInterpreter, op: Op) -> Tile:
    name = op.attributes["name"]
    if name not in run.program.globals:
        raise NotModelled(f"the global {name}")
    number = run.program.globals[name]
    return Tile(np.asarray(run.memory.image.origins[number].base, np.uint64), None, np.asarray(number))


def _alloca(run: BlockInterpreter, op: Op) -> Tile:
    pointee = _pointee(tile_type(op.result).element)
    count = op.attributes["num_elem"]
    size = (count + 1) // 2 if pointee.packed else count * pointee.bytes
    name = f"alloca@{op.offset:#x}"
    allocation = run.memory.allocate_local(name, size)
    base = run.memory.image.allocations[allocation].base
    origin = run.memory.image.add_origin(Provenance(name, allocation, base, size, pointee.bytes))
    return Tile(np.asarray(base, np.uint64), None, np.asarray(origin))


# ----------------------------------------------------------------------------------------------- views
def _make_tensor_view(run: BlockInterpreter, op: Op) -> TensorView:
    kind = op.result.type
    assert isinstance(kind, TensorViewType)
    base = run.tile(op, "base")
    taint = taint_bits(base.taint)
    layouts = []
    for declared, operand in ((kind.shape, "shape"), (kind.strides, "strides")):
        dynamic = iter(run.tiles(op, operand))
        numbers = []
        for static in declared:
            if static is None:
                tile = next(dynamic)
                taint |= taint_bits(tile.taint)
                static = int(tile.data)
            numbers.append(static)
        layouts.append(tuple(numbers))
    assert base.origin is not None
    return TensorView(kind.element, int(base.data), int(base.origin), layouts[0], layouts[1], taint)


def _make_view(run: BlockInterpreter, op: Op) -> TileView:
    kind = op.result.type
    assert isinstance(kind, PartitionViewType | StridedViewType | GatherScatterViewType)
    return TileView(kind, run.tensor_view(op, "s"))


def index_space(view: TileView) -> tuple[int, ...]:
    """Tiles per view dimension: ceildiv(shape, tile), or ceildiv(shape, traversal) for strided views.

    A gather/scatter view counts elements: its indices are element offsets.
    """
    kind, shape = view.type, view.tensor.shape
    if isinstance(kind, GatherScatterViewType):
        return shape
    steps = kind.tile if isinstance(kind, PartitionViewType) else kind.traversal
    return tuple(-(-shape[axis] // step) for axis, step in zip(kind.dim_map, steps, strict=True))


def _sizes(run: BlockInterpreter, op: Op, sizes: tuple[int, ...], taint: int) -> tuple[Tile, ...]:
    tiles = []
    for size, result in zip(sizes, op.results, strict=True):
        bits = bits_of(result)
        if size >> bits and not taint:
            run.undefined(op, TV.ARITHMETIC_UNDEFINED, f"{op.name}: {size} does not fit i{bits}")
        lane = wrapped(np.asarray(size & ((1 << bits) - 1), np.uint64), bits)
        tiles.append(Tile(lane, np.asarray(taint, np.uint8) if taint else None))
    return tuple(tiles)


def _get_tensor_shape(run: BlockInterpreter, op: Op) -> tuple[Tile, ...]:
    view = run.tensor_view(op, "src")
    return _sizes(run, op, view.shape, view.taint)


def _get_index_space_shape(run: BlockInterpreter, op: Op) -> tuple[Tile, ...]:
    view = run.tile_view(op, "src")
    return _sizes(run, op, index_space(view), view.tensor.taint)


# ------------------------------------------------------------------------------------------------ grid
def _triple(point: GridPoint) -> tuple[Tile, ...]:
    return tuple(Tile(np.asarray(coordinate, np.uint32)) for coordinate in point)


def _block_id(run: BlockInterpreter, op: Op) -> tuple[Tile, ...]:
    return _triple(run.block)


def _grid_size(run: BlockInterpreter, op: Op) -> tuple[Tile, ...]:
    return _triple(run.grid)


RULES: Final[dict[str, Rule]] = {
    "offset": _offset,
    "ptr_to_int": _pointer_to_integer,
    "int_to_ptr": _integer_to_pointer,
    "ptr_to_ptr": _pointer_to_pointer,
    "get_global": _get_global,
    "alloca": _alloca,
    "make_tensor_view": _make_tensor_view,
    "make_partition_view": _make_view,
    "make_strided_view": _make_view,
    "make_gather_scatter_view": _make_view,
    "get_tensor_shape": _get_tensor_shape,
    "get_index_space_shape": _get_index_space_shape,
    "get_tile_block_id": _block_id,
    "get_num_tile_blocks": _grid_size,
}


# --------------------------------------------------------------------------------------------------------------- tokens
# Token ops: they touch no memory, they only pass on what their tokens wait for.


def _make(run: BlockInterpreter, op: Op) -> Token:
    return Token(0)


def _join(run: BlockInterpreter, op: Op) -> Token:
    waits = 0
    for value in op.group("tokens"):
        token = run.values[value]
        assert isinstance(token, Token)
        waits |= token.waits
    return Token(waits)


def _pass(run: BlockInterpreter, op: Op) -> Token:
    return Token(run.waits(op))


def _fence(run: BlockInterpreter, op: Op) -> Token:
    return Token(run.waits(op, "s"))


TOKEN_RULES: Final[dict[str, Rule]] = {
    "make_token": _make,
    "join_tokens": _join,
    "gdc_wait_tko": _pass,
    "gdc_launch_dependents_tko": _pass,
    "memory_fence_alias_tko": _fence,
}
