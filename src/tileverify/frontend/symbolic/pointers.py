"""Rules for pointers: where they come from, and arithmetic on them.

A pointer is (origin, byte offset), the offset a mathematical integer.  ``offset`` has undefined results when its
product or sum overflows 64 bits; no promise is made for that here, because a lane that is accessed with such an offset
lies outside its allocation (TV302 asks for exactly that, without wrapping), and a lane that is masked off needs none.
Only a second offset could come back from where the first has overflowed, p + 2**61 - 2**61 of 8-byte elements lies
inside again.  So of an offset x behind which another, y, is taken,

    x + y   if both are at most 2**61 bytes either way, so that no sum of an address with them leaves 64 bits;
    a number of this lane's own, which may be anything, else:  every address is the origin's plus some number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...contract.terms import (
    ZERO,
    Function,
    Scope,
    Term,
    TermKind,
    add,
    and_,
    apply,
    ceildiv,
    choice,
    const,
    le,
    linear_parts,
    lt,
    scale,
    sub,
    substitute,
    var,
)
from ...contract.variables import ADDRESS_MAX
from ...results.codes import TV
from ..bytecode.model import GatherScatterViewType, Op, PartitionViewType, StridedViewType, TensorViewType, Value
from .integers import from_number, number, zero_extended
from .machine import Rule, SymbolicExecutor, element_bits, pointee, shape_of
from .summary import Origin, OriginKind, ViewFootprint, address_of, list_word
from .values import Pointer, TensorView, TileView, lane, lane_terms, mentions_lanes, moved, unknown_origin

_FAR: Final = 2**61

PACKED: Final = "a pointer to 4-bit elements, two of which share an address; access them through a tile view"
"""Views of them are followed.  tileiras 13.5 refuses tiles of such pointers, and pointers to i4 in any version."""


def list_element(m: SymbolicExecutor, name: str, index: Term, element_bytes: int) -> Origin:
    """The array in row ``index`` of list ``name``; an index that differs between lanes names no single array."""
    if mentions_lanes(index):
        return unknown_origin(element_bytes)
    rank = m.list_ranks[name]
    return Origin(
        OriginKind.LIST_ELEMENT,
        name,
        element_bytes,
        tuple(apply(list_word(name, f"shape[{d}]"), index) for d in range(rank)),
        tuple(apply(list_word(name, f"strides[{d}]"), index) for d in range(rank)),
        index=index,
    )


def offset(m: SymbolicExecutor, op: Op) -> Pointer:
    pointer, elements = m.pointer(op.value("ptr")), m.term(op.value("off"))
    if pointee(op.value("ptr")).packed:
        raise m.unsupported(op, PACKED)
    counted = number(elements, element_bits(op.value("off")))
    step = scale(pointee(op.value("ptr")).bytes, counted)
    moved = add(pointer.offset, step)
    if pointer.offset is ZERO or (near(pointer.offset) and near(step)):
        return Pointer(pointer.origin, moved)
    anywhere = m.symbol(op, Function(m.unique(op), Scope.BLOCK))
    lost = apply(anywhere, *m.iterations, *lane_terms(shape_of(op.result)))
    return Pointer(pointer.origin, choice(and_(_is_near(pointer.offset), _is_near(step)), moved, lost))


def near(offset: Term) -> bool:
    """Whether a byte offset is so small that adding it to an address cannot overflow.

    Of a pointer that a loop carries, while the loop is examined, only the steps count: it is given up afterwards
    unless it moves in equal steps from a near place, and then everything in between is as near as its ends.
    """
    constant, summands = linear_parts(offset)
    known = add(const(constant), *(scale(c, t) for c, t in summands if not _is_carried(t)))
    return known.low is not None and known.high is not None and known.low >= -_FAR and known.high <= _FAR


def _is_near(offset: Term) -> Term:
    return and_(le(const(-_FAR), offset), le(offset, const(_FAR)))


def _is_carried(term: Term) -> bool:
    return term.kind is TermKind.APPLY and term.function.scope is Scope.ITERATION


def pointer_to_pointer(m: SymbolicExecutor, op: Op) -> Pointer:
    return m.pointer(op.value("s"))


def pointer_to_integer(m: SymbolicExecutor, op: Op) -> Term:
    pointer = m.pointer(op.value("s"))
    address = add(address_of(pointer.origin), pointer.offset)
    m.address_origins[linear_parts(address_of(pointer.origin))[1]] = pointer.origin
    return m.wrap(64, address)


def integer_to_pointer(m: SymbolicExecutor, op: Op) -> Pointer:
    """An integer that is one known address plus something keeps that origin; any other points anywhere."""
    address = m.term(op.value("s"))
    if address.kind is TermKind.WRAP and address.payload == 64:
        address = address.args[0]  # pointer arithmetic is modulo 2**64 anyway
    origins = [origin for c, t in linear_parts(address)[1] if (origin := _origin_at(m, op, c, t)) is not None]
    if len(origins) == 1:
        return Pointer(origins[0], sub(address, address_of(origins[0])))
    return Pointer(unknown_origin(pointee(op.result).bytes), ZERO)


def _origin_at(m: SymbolicExecutor, op: Op, coefficient: int, term: Term) -> Origin | None:
    """The memory whose address ``coefficient * term`` is."""
    known = m.address_origins.get(((coefficient, term),))
    if known is None and coefficient == 1 and (name := _list_of(m, term)):
        return list_element(m, name, term.args[0], pointee(op.result).bytes)
    return known


def _list_of(m: SymbolicExecutor, term: Term) -> str:
    """The list whose row holds this address, or an empty string."""
    if term.kind is TermKind.APPLY:
        for name in m.list_ranks:
            if term.function == list_word(name, "address"):
                return name
    return ""


def get_global(m: SymbolicExecutor, op: Op) -> Pointer:
    name = op.attributes["name"]
    found = next(item for item in m.module.globals if item.name == name)
    element = pointee(op.result)
    stored = found.value.scalar.stored_bytes(found.type.size)
    # All blocks find it at one place, but no launch can be asked for that: a launch variable would get into clauses.
    alignment = found.alignment or found.value.scalar.bytes
    address = scale(alignment, var(f"global {name}.address", Scope.BLOCK, 0, ADDRESS_MAX // alignment))
    origin = Origin(OriginKind.GLOBAL, name, element.bytes, extent=const(stored), alignment=alignment, address=address)
    return Pointer(origin, ZERO)


def alloca(m: SymbolicExecutor, op: Op) -> Pointer:
    element = pointee(op.result)
    kind = OriginKind.SHARED_LOCAL if "global" in op.flags else OriginKind.LOCAL
    name, alignment = m.numbering.local_name(op), op.attributes["align"]
    count = op.attributes["num_elem"]
    size = const((count + 1) // 2 if element.packed else count * element.bytes)
    # A place of the block's own, and another one in every iteration: never the same for two blocks.
    place = m.symbol(op, Function(f"{name}.address", Scope.BLOCK, 0, ADDRESS_MAX // alignment))
    address = scale(alignment, apply(place, *m.iterations))
    return Pointer(Origin(kind, name, element.bytes, extent=size, alignment=alignment, address=address), ZERO)


RULES: Final[dict[str, Rule]] = {
    "offset": offset,
    "ptr_to_ptr": pointer_to_pointer,
    "ptr_to_int": pointer_to_integer,
    "int_to_ptr": integer_to_pointer,
    "get_global": get_global,
    "alloca": alloca,
}


# ---------------------------------------------------------------------------------------------------------------- views
# Rules for tensor views and their tilings: layouts over memory, and where a tile of one lies.


def make_tensor_view(m: SymbolicExecutor, op: Op) -> TensorView:
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


def _filled(m: SymbolicExecutor, static: Sequence[int | None], dynamic: Sequence[Value]) -> tuple[Term, ...]:
    rest = iter(dynamic)

    def next_operand() -> Term:
        value = next(rest)
        return zero_extended(m, m.term(value), element_bits(value))

    return tuple(const(size) if size is not None else next_operand() for size in static)


def make_tile_view(m: SymbolicExecutor, op: Op) -> TileView:
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


def footprint(m: SymbolicExecutor, view: TileView, indices: Sequence[Value], inbounds: Sequence[bool]) -> ViewFootprint:
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


def tensor_shape(m: SymbolicExecutor, op: Op) -> tuple[Term, ...]:
    return _sizes(m, op, m.tensor(op.value("src")).shape, "size")


def index_space_shape(m: SymbolicExecutor, op: Op) -> tuple[Term, ...]:
    """Of a gather/scatter view, whose indices count elements, the sizes of the tensor."""
    view = m.view(op.value("src"))
    spaces = [
        view.tensor.shape[view.dim_map[d]] if space is None else space for d, space in enumerate(index_space(view))
    ]
    return _sizes(m, op, spaces, "number of tiles")


def _sizes(m: SymbolicExecutor, op: Op, sizes: Sequence[Term], what: str) -> tuple[Term, ...]:
    """Unsigned results of the op's type; a size that does not fit is undefined (TV402)."""
    results = []
    for d, (size, result) in enumerate(zip(sizes, op.results, strict=True)):
        bits = element_bits(result)
        m.promise(op, TV.ARITHMETIC_UNDEFINED, lt(size, const(1 << bits)), f"{what} along dimension {d} fits i{bits}")
        results.append(from_number(m, size, bits))
    return tuple(results)


VIEW_RULES: Final[dict[str, Rule]] = {
    "make_tensor_view": make_tensor_view,
    "make_partition_view": make_tile_view,
    "make_strided_view": make_tile_view,
    "make_gather_scatter_view": make_tile_view,
    "get_tensor_shape": tensor_shape,
    "get_index_space_shape": index_space_shape,
}
