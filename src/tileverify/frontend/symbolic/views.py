"""Rules for tensor views and their tilings: layouts over memory, and where a tile of one lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...contract.terms import ZERO, Term, add, ceildiv, const, lt, scale, substitute
from ...results.codes import TV
from ..bytecode.model import (
    GatherScatterViewType,
    Op,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    Value,
)
from .integers import from_number, zero_extended
from .lanes import lane, moved
from .machine import Machine, Rule, element_bits, shape_of
from .summary import ViewFootprint
from .values import TensorView, TileView


def make_tensor_view(m: Machine, op: Op) -> TensorView:
    """Sizes and strides are in the type, except the dynamic ones, which are unsigned operands."""
    type = op.result.type
    assert isinstance(type, TensorViewType)
    pointer = m.pointer(op.value("base"))
    return TensorView(
        pointer.origin,
        pointer.offset,
        type.element,
        _filled(m, type.shape, op.group("shape")),
        _filled(m, type.strides, op.group("strides")),
    )


def _filled(m: Machine, static: Sequence[int | None], dynamic: Sequence[Value]) -> tuple[Term, ...]:
    rest = iter(dynamic)

    def next_operand() -> Term:
        value = next(rest)
        return zero_extended(m, m.term(value), element_bits(value))

    return tuple(const(size) if size is not None else next_operand() for size in static)


def make_tile_view(m: Machine, op: Op) -> TileView:
    tensor, type = m.tensor(op.value("s")), op.result.type
    match type:
        case PartitionViewType(tile, _, dim_map, padding):
            return TileView(tensor, tile, tile, dim_map, padding)
        case StridedViewType(tile, traversal, _, dim_map, padding):
            return TileView(tensor, tile, traversal, dim_map, padding)
        case GatherScatterViewType(tile, _, sparse, padding):
            steps = (1,) * len(tile)
            return TileView(tensor, tile, steps, tuple(range(len(tile))), padding, element_index=True, sparse=sparse)
    raise AssertionError(type)


def index_space(view: TileView) -> tuple[Term | None, ...]:
    """Tiles per view dimension; None where indices count elements."""
    if view.element_index:
        return (None,) * len(view.tile)
    return tuple(
        ceildiv(view.tensor.shape[dim], const(step)) for dim, step in zip(view.dim_map, view.step, strict=True)
    )


def footprint(m: Machine, view: TileView, indices: Sequence[Value], inbounds: Sequence[bool]) -> ViewFootprint:
    """Where the tile at ``indices`` lies: coordinate ``index * step + lane`` along each view dimension.

    Indices are unsigned.  Of a gather/scatter view one index is a 1-D tile: its lane is the view's sparse dimension.
    """
    tensor = view.tensor
    index = []
    for d, value in enumerate(indices):
        number = zero_extended(m, m.term(value), element_bits(value))
        if d == view.sparse:
            number = substitute(number, moved(shape_of(value), [lane(d, view.tile[d])]))
        index.append(number)
    coordinates = [ZERO] * len(tensor.shape)
    for d, dim in enumerate(view.dim_map):
        start = scale(view.step[d], index[d])
        coordinates[dim] = start if d == view.sparse else add(start, lane(d, view.tile[d]))
    return ViewFootprint(
        origin=tensor.origin,
        base=tensor.base,
        shape=tensor.shape,
        strides=tensor.strides,
        element_bytes=tensor.element.bytes,
        coordinates=tuple(coordinates),
        index=tuple(index),
        index_space=index_space(view),
        tile=view.tile,
        step=view.step,
        dim_map=view.dim_map,
        inbounds=tuple(inbounds) or (False,) * len(view.tile),
        packed=tensor.element.packed,
    )


def tensor_shape(m: Machine, op: Op) -> tuple[Term, ...]:
    return _sizes(m, op, m.tensor(op.value("src")).shape, "size")


def index_space_shape(m: Machine, op: Op) -> tuple[Term, ...]:
    """Of a gather/scatter view, whose indices count elements, the sizes of the tensor."""
    view = m.view(op.value("src"))
    spaces = [
        view.tensor.shape[view.dim_map[d]] if space is None else space for d, space in enumerate(index_space(view))
    ]
    return _sizes(m, op, spaces, "number of tiles")


def _sizes(m: Machine, op: Op, sizes: Sequence[Term], what: str) -> tuple[Term, ...]:
    """Unsigned results of the op's type; a size that does not fit is undefined (TV402)."""
    results = []
    for d, (size, result) in enumerate(zip(sizes, op.results, strict=True)):
        bits = element_bits(result)
        m.promise(op, TV.ARITHMETIC_UNDEFINED, lt(size, const(1 << bits)), f"{what} along dimension {d} fits i{bits}")
        results.append(from_number(m, size, bits))
    return tuple(results)


RULES: Final[dict[str, Rule]] = {
    "make_tensor_view": make_tensor_view,
    "make_partition_view": make_tile_view,
    "make_strided_view": make_tile_view,
    "make_gather_scatter_view": make_tile_view,
    "get_tensor_shape": tensor_shape,
    "get_index_space_shape": index_space_shape,
}
