"""Steps: where pointers come from, and arithmetic on them; layouts over memory and their tilings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..contract.terms import (
    ZERO,
    Function,
    Scope,
    Term,
    TermKind,
    add,
    apply,
    ceildiv,
    const,
    linear_parts,
    lt,
    scale,
    sub,
    substitute,
    var,
)
from ..contract.variables import ADDRESS_MAX
from ..frontend.bytecode.model import (
    GatherScatterViewType,
    Op,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
)
from ..frontend.bytecode.model import Value as SsaValue
from ..frontend.symbolic.summary import Origin, OriginKind, ViewFootprint
from .checked_values import Address, Layout, NotFollowed, Tiling, lane
from .evaluator import Evaluator, Step, pointee, shape, width
from .origins import first_byte, list_word
from .steps_integers import read_unsigned, signed, stored

_NEAR: Final = 2**61
"""Bytes that can be added to an address, and another time, without leaving 64 bits."""


def offset(ev: Evaluator, op: Op) -> Address:
    """A byte offset is a whole number.  Where 64 bits do not hold it, the access lies outside its array anyway; only a
    second step could come back from there, so nothing is said of pointers that are moved far twice."""
    base, element = ev.address(op.value("ptr")), pointee(op.value("ptr"))
    if element.packed:
        raise NotFollowed("a pointer to elements of 4 bits")
    moved = scale(element.bytes, signed(ev.term(op.value("off")), width(op.value("off"))))
    if base.offset is not ZERO and not (_near(ev, base.offset) and _near(ev, moved)):
        return Address(Origin(OriginKind.UNKNOWN, "unknown", element.bytes), ZERO)
    return Address(base.origin, add(base.offset, moved))


def _near(ev: Evaluator, offset: Term) -> bool:
    low, high = ev.sizes.interval(offset)
    return low is not None and high is not None and low >= -_NEAR and high <= _NEAR


def ptr_to_ptr(ev: Evaluator, op: Op) -> Address:
    return ev.address(op.value("s"))


def ptr_to_int(ev: Evaluator, op: Op) -> Term:
    pointer = ev.address(op.value("s"))
    ev.cast[linear_parts(first_byte(pointer.origin))[1]] = pointer.origin
    return ev.wrapped(64, add(first_byte(pointer.origin), pointer.offset))


def int_to_ptr(ev: Evaluator, op: Op) -> Address:
    """An address that the kernel took, and something; or that of an array of a list, which a word of descriptors holds.

    Whichever memory the number is taken to lie in, accesses outside of that are at fault.
    """
    number = ev.term(op.value("s"))
    if number.kind is TermKind.WRAP and number.payload == 64:
        number = number.args[0]
    for summand in linear_parts(number)[1]:
        origin = ev.cast.get((summand,)) or _in_list(ev, op, *summand)
        if origin is not None:
            return Address(origin, sub(number, first_byte(origin)))
    raise NotFollowed("an integer becomes a pointer")


def _in_list(ev: Evaluator, op: Op, factor: int, part: Term) -> Origin | None:
    for name, rank in ev.ranks.items():
        if factor == 1 and part.kind is TermKind.APPLY and part.function == list_word(name, "address"):
            (index,) = part.args
            if any(each.kind is TermKind.VAR and each.symbol.scope is Scope.LANE for each in index.free):
                raise NotFollowed("arrays of a list that differ from lane to lane")
            words = [tuple(list_word(name, f"{what}[{d}]") for d in range(rank)) for what in ("shape", "strides")]
            sizes, strides = (tuple(apply(ev.declared(word), index) for word in row) for row in words)
            return Origin(OriginKind.LIST_ELEMENT, name, pointee(op.result).bytes, sizes, strides, index=index)
    return None


def get_global(ev: Evaluator, op: Op) -> Address:
    name = op.attributes["name"]
    found = next(item for item in ev.module.globals if item.name == name)
    unit = found.alignment or found.value.scalar.bytes
    place = var(f"global {name}.address", Scope.BLOCK, 0, ADDRESS_MAX // unit)
    ev.known.add(place.symbol)
    size = const(found.value.scalar.stored_bytes(found.type.size))
    kind, element = OriginKind.GLOBAL, pointee(op.result)
    return Address(Origin(kind, name, element.bytes, extent=size, alignment=unit, address=scale(unit, place)), ZERO)


def alloca(ev: Evaluator, op: Op) -> Address:
    """Memory of the block's own, at another place in every iteration."""
    element, unit, count = pointee(op.result), op.attributes["align"], op.attributes["num_elem"]
    name = f"local#{ev.ordinal[op]}"
    place = ev.declared(Function(f"{name}.address", Scope.BLOCK, 0, ADDRESS_MAX // unit))
    size = const((count + 1) // 2 if element.packed else count * element.bytes)
    kind = OriginKind.SHARED_LOCAL if "global" in op.flags else OriginKind.LOCAL
    address = scale(unit, apply(place, *ev.iterations))
    return Address(Origin(kind, name, element.bytes, extent=size, alignment=unit, address=address), ZERO)


# ------------------------------------------------------------------------------------------------------- layouts
def make_tensor_view(ev: Evaluator, op: Op) -> Layout:
    """Sizes and strides that the type leaves open are operands, without sign."""
    declared, pointer = op.result.type, ev.address(op.value("base"))
    assert isinstance(declared, TensorViewType)

    def numbers(fixed: Sequence[int | None], operands: Sequence[SsaValue]) -> tuple[Term, ...]:
        rest = list(operands)
        return tuple(read_unsigned(ev, rest.pop(0)) if number is None else const(number) for number in fixed)

    sizes = numbers(declared.shape, op.group("shape"))
    strides = numbers(declared.strides, op.group("strides"))
    return Layout(pointer.origin, pointer.offset, declared.element, sizes, strides)


def make_tiling(ev: Evaluator, op: Op) -> Tiling:
    layout, declared = ev.layout(op.value("s")), op.result.type
    match declared:
        case PartitionViewType(tile, _, dims, padding):
            return Tiling(layout, tile, tile, dims, padding)
        case StridedViewType(tile, step, _, dims, padding):
            return Tiling(layout, tile, step, dims, padding)
        case GatherScatterViewType(tile, _, sparse, padding):
            every = tuple(range(len(tile)))
            return Tiling(layout, tile, (1,) * len(tile), every, padding, by_element=True, sparse=sparse)
    raise NotFollowed("a view of an unknown kind")


def tile_at(ev: Evaluator, view: Tiling, operands: Sequence[SsaValue], inbounds: Sequence[bool]) -> ViewFootprint:
    """The elements of the tile at an index: element ``index * step + lane`` along each view dimension."""
    layout, index = view.layout, []
    coordinates: list[Term] = [ZERO] * len(layout.shape)
    for d, operand in enumerate(operands):
        number = read_unsigned(ev, operand)
        own = lane(d, view.tile[d])
        if d == view.sparse:  # one index for each lane: the lane of a 1-D tile becomes that of the view's dimension
            number = substitute(number, {lane(0, size): own for size in shape(operand) if size > 1})
        index.append(number)
        first = scale(view.step[d], number)
        coordinates[view.dims[d]] = first if d == view.sparse else add(first, own)
    return ViewFootprint(
        origin=layout.origin,
        base=layout.base,
        shape=layout.shape,
        strides=layout.strides,
        element_bytes=layout.element.bytes,
        coordinates=tuple(coordinates),
        index=tuple(index),
        index_space=_tiles(view),
        tile=view.tile,
        step=view.step,
        dim_map=view.dims,
        inbounds=tuple(inbounds) or (False,) * len(view.tile),
        packed=layout.element.packed,
    )


def _tiles(view: Tiling) -> tuple[Term | None, ...]:
    """How many tiles there are along each view dimension."""
    if view.by_element:
        return (None,) * len(view.tile)
    return tuple(ceildiv(view.layout.shape[dim], const(step)) for dim, step in zip(view.dims, view.step, strict=True))


def get_tensor_shape(ev: Evaluator, op: Op) -> tuple[Term, ...]:
    return _told(ev, op, ev.layout(op.value("src")).shape, "size")


def get_index_space_shape(ev: Evaluator, op: Op) -> tuple[Term, ...]:
    view = ev.tiling(op.value("src"))
    sizes = [view.layout.shape[dim] for dim in view.dims]
    tiles = [size if count is None else count for count, size in zip(_tiles(view), sizes, strict=True)]
    return _told(ev, op, tiles, "number of tiles")


def _told(ev: Evaluator, op: Op, numbers: Sequence[Term], what: str) -> tuple[Term, ...]:
    told = []
    for d, (number, result) in enumerate(zip(numbers, op.results, strict=True)):
        bits = width(result)
        ev.promise(op, lt(number, const(1 << bits)), f"{what} along dimension {d} fits i{bits}")
        told.append(stored(ev, number, bits))
    return tuple(told)


STEPS: Final[dict[str, Step]] = {
    "offset": offset,
    "ptr_to_ptr": ptr_to_ptr,
    "ptr_to_int": ptr_to_int,
    "int_to_ptr": int_to_ptr,
    "get_global": get_global,
    "alloca": alloca,
    "make_tensor_view": make_tensor_view,
    "make_partition_view": make_tiling,
    "make_strided_view": make_tiling,
    "make_gather_scatter_view": make_tiling,
    "get_tensor_shape": get_tensor_shape,
    "get_index_space_shape": get_index_space_shape,
}
