"""Steps: where memory and pointers begin, arithmetic on pointers, layouts over memory and their tilings.

Names are conventions that claims share with the contract: `x.address`, `xs[].shape[0]`, the contents of `x` as `x`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..contract.terms import (
    ONE,
    ZERO,
    Function,
    Scope,
    Sort,
    Term,
    TermKind,
    add,
    and_,
    apply,
    ceildiv,
    const,
    eq,
    ite,
    le,
    linear_parts,
    lt,
    mul,
    product,
    scale,
    sub,
    substitute,
    var,
)
from ..contract.terms.launch_wide import OWN, Opaque, bits_of, launch_function, launch_variable
from ..contract.variables import ADDRESS_MAX, argument_address
from ..frontend.bytecode.model import (
    GatherScatterViewType,
    Op,
    PartitionViewType,
    ScalarType,
    StridedViewType,
    TensorViewType,
)
from ..frontend.bytecode.model import Value as SsaValue
from ..frontend.symbolic.summary import Origin, OriginKind, ViewFootprint
from .agreement import Address, Layout, NotFollowed, Tiling, Value, lane, lanes
from .evaluator import Step, SummaryChecker, pointee, scalar, shape, values_of, width
from .steps_integers import element, read_unsigned, signed, stored

NAMES: Final = {
    OriginKind.PARAMETER: "p",
    OriginKind.LIST: "l",
    OriginKind.LIST_ELEMENT: "e",
    OriginKind.GLOBAL: "g",
    OriginKind.LOCAL: "a",
    OriginKind.SHARED_LOCAL: "a",
}


def memory_name(origin: Origin) -> str:
    """The name of the memory behind ``origin`` among what may be written; ``?`` may be any."""
    return f"{NAMES[origin.kind]}:{origin.name}" if origin.kind in NAMES else "?"


def first_byte(origin: Origin) -> Term:
    """The address of an origin's first byte."""
    if origin.address is not None:
        return origin.address
    if origin.index is not None:
        return apply(list_word(origin.name, "address"), origin.index)
    if origin.kind is OriginKind.LIST:
        return launch_variable(f"descriptors of {origin.name}", 0, ADDRESS_MAX)
    return argument_address(origin.name)


def list_word(name: str, word: str) -> Function:
    """A word of the descriptors of list ``name``, by row."""
    return launch_function(f"{name}[].{word}", 0, ADDRESS_MAX)


def as_coordinates(offset: Term, origin: Origin, element: ScalarType) -> tuple[Term, ...] | None:
    """The element of the array that lies ``offset`` bytes behind its first, where that can be read off.

    Each summand of the offset belongs to one dimension: to the one whose stride is a factor of it, or, without such a
    factor, to the one dimension with a stride of numbers.  `None` where a summand has no dimension, or two.  That the
    coordinates lead back to the offset is checked in the end.
    """
    sizes, strides = origin.shape, origin.strides or (ONE,)
    if origin.strides and element.bytes != origin.element_bytes:
        return None
    named = {stride: d for d, stride in enumerate(strides) if stride.kind is not TermKind.CONST}
    numbered = [d for d, stride in enumerate(strides) if stride.kind is TermKind.CONST]
    if len(named) + len(numbered) < len(strides):
        return None
    several = [d for d in numbered if d < len(sizes) and sizes[d] is not ONE]
    if len(several) > 1:
        return None
    home = next(iter(several or numbered[-1:]), None)
    found: list[Term] = [ZERO] * len(strides)
    constant, summands = linear_parts(offset)
    for factor, part in (*summands, *(((constant, ONE),) if constant else ())):
        factors = list(part.args) if part.kind is TermKind.PRODUCT else [part]
        owners = [stride for stride in named if stride in factors]
        dim = named[owners[0]] if owners else home
        if len(owners) > 1 or dim is None:
            return None
        unit = element.bytes * (1 if owners else strides[dim].value)
        if not unit or factor % unit:
            return None
        if owners:
            factors.remove(owners[0])
        found[dim] = add(found[dim], scale(factor // unit, product(factors)))
    back = scale(element.bytes, add(*(mul(at, stride) for at, stride in zip(found, strides, strict=True))))
    if back is not offset:
        raise NotFollowed("coordinates that do not lead back to their address")
    return tuple(found)


# -------------------------------------------------------------------------------------------------------- loaded values
# What a load gives.
#
# Memory that no block writes holds what it held when the launch began: one function of the element, the same in all
# blocks.  Which memory that is, is claimed (`written`), and `accesses` holds every write against the claim.  What any
# other load gives may be anything.


_WEAK = "weak"


def of_pointer(ev: SummaryChecker, op: Op, pointer: Address, mask: Term | None) -> Value:
    """The tile that a load of pointers gives; masked lanes hold ``pad``, or anything."""
    result = op.results[0]
    if scalar(result).is_float:
        return _float_at(ev, op, pointer, mask)
    if pointer.origin.kind is OriginKind.LIST:
        value: Value = _word_of_addresses(ev, op, pointer)
    elif unchanged(ev, op, pointer.origin):
        value = _at_first(ev, op, pointer.origin, pointer.offset)
    else:
        value = ev.any_value(op, result)
    pad = op.optional("pad")
    if mask is None:
        return value
    otherwise = ev.value(pad) if pad is not None else ev.any_value(op, result, suffix=".masked")
    return _choice(mask, value, otherwise)


def of_view(ev: SummaryChecker, op: Op, view: Tiling, place: ViewFootprint) -> Value:
    """The tile that a load of a view gives; lanes outside hold 0 if the view pads with it, or anything."""
    result = op.results[0]
    if scalar(result).is_float:
        return _float_in(ev, op, view, place)
    if place.origin.kind is OriginKind.LIST and place.origin.name in ev.addresses:
        return ev.any_value(op, result)
    if place.origin.kind is OriginKind.LIST and memory_name(place.origin) not in ev.claims.written:
        return _descriptor(ev, op, view, place)
    if not unchanged(ev, op, place.origin):
        return ev.any_value(op, result)
    elements = add(*(mul(at, stride) for at, stride in zip(place.coordinates, place.strides, strict=True)))
    value = _at_first(ev, op, place.origin, add(place.base, scale(place.element_bytes, elements)))
    zeros = view.padding == "zero"
    outside = element(0, scalar(result).bits) if zeros else ev.any_value(op, result, suffix=".outside")
    return _choice(_inside(view, place), value, outside)


def _float_at(ev: SummaryChecker, op: Op, pointer: Address, mask: Term | None) -> Opaque:
    """A float has no term but that of its bits, where the contract allows equal stores."""
    if not ev.entry.equal_stores or not unchanged(ev, op, pointer.origin) or pointer.origin.kind is OriginKind.LIST:
        return OWN
    pad = op.optional("pad")
    padding = _any_bits(ev, op, ".masked") if pad is None else bits_of(ev.value(pad))
    if padding is None:
        return OWN
    value = _at_first(ev, op, pointer.origin, pointer.offset)
    return Opaque(False, value if mask is None else ite(mask, value, padding))


def _float_in(ev: SummaryChecker, op: Op, view: Tiling, place: ViewFootprint) -> Opaque:
    if not ev.entry.equal_stores or not unchanged(ev, op, place.origin) or place.origin.kind is OriginKind.LIST:
        return OWN
    elements = add(*(mul(at, stride) for at, stride in zip(place.coordinates, place.strides, strict=True)))
    inside = _at_first(ev, op, place.origin, add(place.base, scale(place.element_bytes, elements)))
    padding = ZERO if view.padding == "zero" else _any_bits(ev, op, ".outside")
    return Opaque(False, ite(_inside(view, place), inside, padding))


def _any_bits(ev: SummaryChecker, op: Op, suffix: str) -> Term:
    function = ev.declared(Function(ev.name(op, suffix), Scope.BLOCK))
    return apply(function, *ev.iterations, *lanes(shape(op.results[0])))


def _word_of_addresses(ev: SummaryChecker, op: Op, pointer: Address) -> Value:
    """Of a list that is passed as addresses, each 64-bit word is where one array begins; other loads give anything."""
    result, name, at = op.results[0], pointer.origin.name, pointer.offset
    constant, parts = linear_parts(at)
    whole = all(factor % 8 == 0 for factor in (constant, *(factor for factor, _ in parts)))
    if name not in ev.addresses or not whole or scalar(result).bits != 64 or not unchanged(ev, op, pointer.origin):
        return ev.any_value(op, result)
    ev.ranks[name] = 0
    number = add(const(constant // 8), *(scale(factor // 8, part) for factor, part in parts))
    return apply(ev.declared(list_word(name, "address")), number)


def unchanged(ev: SummaryChecker, op: Op, origin: Origin) -> bool:
    """Whether the load sees what was there before the launch: no block writes there, and it is no synchronisation."""
    own = origin.kind in (OriginKind.LOCAL, OriginKind.SHARED_LOCAL)
    return op.attributes["ord"] == _WEAK and not own and not may_be_written(ev, origin)


def may_be_written(ev: SummaryChecker, origin: Origin) -> bool:
    """As it is claimed; what may overlap memory that is written, is."""
    written = ev.claims.written
    if "?" in written or origin.kind is OriginKind.UNKNOWN:
        return True
    if origin.kind is OriginKind.LIST:
        return memory_name(origin) in written
    beside = {name for group in ev.may_overlap if origin.name in group for name in group}
    names = {memory_name(origin), *(f"p:{name}" for name in beside), *(f"e:{name}" for name in beside)}
    return bool(names & written)


def _at_first(ev: SummaryChecker, op: Op, origin: Origin, offset: Term) -> Term:
    """What lay ``offset`` bytes behind ``origin`` when the launch began."""
    kind, read_as = origin.kind, scalar(op.results[0])
    name = {OriginKind.LIST_ELEMENT: f"{origin.name}[]", OriginKind.GLOBAL: f"global {origin.name}"}.get(
        kind, origin.name
    )
    row = () if origin.index is None else (origin.index,)
    native = ev.elements.setdefault(memory_name(origin), read_as) == read_as
    array = origin.name if native and not read_as.is_float and kind is OriginKind.PARAMETER else None
    if not native:
        name = f"{name} as {read_as.name}"
    place = as_coordinates(offset, origin, read_as)
    if place is None:
        name, array, place = f"{name} at byte", None, (offset,)
    low, high, sort = (None, None, Sort.INT) if read_as.is_float else values_of(read_as)
    return apply(ev.declared(launch_function(name, low, high, sort, array)), *row, *place)


def _inside(view: Tiling, place: ViewFootprint) -> Term:
    """Which lanes lie in the layout.  Along a dimension of one element per tile an index of the index space does, and
    another is at fault (TV301)."""
    partial = [view.dims[d] for d, size in enumerate(view.tile) if size > 1 or view.by_element]
    limits = [(place.coordinates[dim], place.shape[dim]) for dim in partial]
    return and_(*(and_(le(ZERO, at), lt(at, size)) for at, size in limits))


def _descriptor(ev: SummaryChecker, op: Op, view: Tiling, place: ViewFootprint) -> Term:
    """A row of a list's table: of each array its address, its sizes and its strides, in words of 64 bits."""
    words = place.shape[-1]
    table = len(place.shape) == 2 and place.base is ZERO and words.kind is TermKind.CONST and words.value % 2 == 1
    if not table or place.element_bytes != 8 or place.strides != (words, ONE):
        raise NotFollowed("a list's descriptors that are no table of rows")
    name, rank = place.origin.name, words.value // 2
    ev.ranks[name] = rank
    row, column = place.coordinates
    names = ["address", *(f"{what}[{d}]" for what in ("shape", "strides") for d in range(rank))]
    value = ZERO if view.padding == "zero" else ev.any_value(op, op.results[0], suffix=".outside")
    assert isinstance(value, Term)
    for number in range(len(names) - 1, -1, -1):
        word = apply(ev.declared(list_word(name, names[number])), row)
        value = ite(eq(column, const(number)), word, value)
    return value


def _choice(condition: Term, then: Value, otherwise: Value) -> Term:
    assert isinstance(then, Term)
    assert isinstance(otherwise, Term)
    return ite(condition, then, otherwise)


# ------------------------------------------------------------------------------------------------------- steps pointers
# Steps: where pointers come from, and arithmetic on them; layouts over memory and their tilings.


_NEAR: Final = 2**61
"""Bytes that can be added to an address, and another time, without leaving 64 bits."""


def offset(ev: SummaryChecker, op: Op) -> Address:
    """A byte offset is a whole number.  Where 64 bits do not hold it, the access lies outside its array anyway; only a
    second step could come back from there, so nothing is said of pointers that are moved far twice."""
    base, element = ev.address(op.value("ptr")), pointee(op.value("ptr"))
    if element.packed:
        raise NotFollowed("a pointer to elements of 4 bits")
    moved = scale(element.bytes, signed(ev.term(op.value("off")), width(op.value("off"))))
    if base.offset is not ZERO and not (_near(ev, base.offset) and _near(ev, moved)):
        return Address(Origin(OriginKind.UNKNOWN, "unknown", element.bytes), ZERO)
    return Address(base.origin, add(base.offset, moved))


def _near(ev: SummaryChecker, offset: Term) -> bool:
    low, high = ev.sizes.interval(offset)
    return low is not None and high is not None and low >= -_NEAR and high <= _NEAR


def ptr_to_ptr(ev: SummaryChecker, op: Op) -> Address:
    return ev.address(op.value("s"))


def ptr_to_int(ev: SummaryChecker, op: Op) -> Term:
    pointer = ev.address(op.value("s"))
    ev.cast[linear_parts(first_byte(pointer.origin))[1]] = pointer.origin
    return ev.wrapped(64, add(first_byte(pointer.origin), pointer.offset))


def int_to_ptr(ev: SummaryChecker, op: Op) -> Address:
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


def _in_list(ev: SummaryChecker, op: Op, factor: int, part: Term) -> Origin | None:
    for name, rank in ev.ranks.items():
        if factor == 1 and part.kind is TermKind.APPLY and part.function == list_word(name, "address"):
            (index,) = part.args
            if any(each.kind is TermKind.VAR and each.symbol.scope is Scope.LANE for each in index.free):
                raise NotFollowed("arrays of a list that differ from lane to lane")
            words = [tuple(list_word(name, f"{what}[{d}]") for d in range(rank)) for what in ("shape", "strides")]
            sizes, strides = (tuple(apply(ev.declared(word), index) for word in row) for row in words)
            return Origin(OriginKind.LIST_ELEMENT, name, pointee(op.result).bytes, sizes, strides, index=index)
    return None


def get_global(ev: SummaryChecker, op: Op) -> Address:
    name = op.attributes["name"]
    found = next(item for item in ev.module.globals if item.name == name)
    unit = found.alignment or found.value.scalar.bytes
    place = var(f"global {name}.address", Scope.BLOCK, 0, ADDRESS_MAX // unit)
    ev.known.add(place.symbol)
    size = const(found.value.scalar.stored_bytes(found.type.size))
    kind, element = OriginKind.GLOBAL, pointee(op.result)
    return Address(Origin(kind, name, element.bytes, extent=size, alignment=unit, address=scale(unit, place)), ZERO)


def alloca(ev: SummaryChecker, op: Op) -> Address:
    """Memory of the block's own, at another place in every iteration."""
    element, unit, count = pointee(op.result), op.attributes["align"], op.attributes["num_elem"]
    name = f"local#{ev.ordinal[op]}"
    place = ev.declared(Function(f"{name}.address", Scope.BLOCK, 0, ADDRESS_MAX // unit))
    size = const((count + 1) // 2 if element.packed else count * element.bytes)
    kind = OriginKind.SHARED_LOCAL if "global" in op.flags else OriginKind.LOCAL
    address = scale(unit, apply(place, *ev.iterations))
    return Address(Origin(kind, name, element.bytes, extent=size, alignment=unit, address=address), ZERO)


# ------------------------------------------------------------------------------------------------------- layouts
def make_tensor_view(ev: SummaryChecker, op: Op) -> Layout:
    """Sizes and strides that the type leaves open are operands, without sign."""
    declared, pointer = op.result.type, ev.address(op.value("base"))
    assert isinstance(declared, TensorViewType)

    def numbers(fixed: Sequence[int | None], operands: Sequence[SsaValue]) -> tuple[Term, ...]:
        rest = list(operands)
        return tuple(read_unsigned(ev, rest.pop(0)) if number is None else const(number) for number in fixed)

    sizes = numbers(declared.shape, op.group("shape"))
    strides = numbers(declared.strides, op.group("strides"))
    return Layout(pointer.origin, pointer.offset, declared.element, sizes, strides)


def make_tiling(ev: SummaryChecker, op: Op) -> Tiling:
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


def tile_at(ev: SummaryChecker, view: Tiling, operands: Sequence[SsaValue], inbounds: Sequence[bool]) -> ViewFootprint:
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


def get_tensor_shape(ev: SummaryChecker, op: Op) -> tuple[Term, ...]:
    return _told(ev, op, ev.layout(op.value("src")).shape, "size")


def get_index_space_shape(ev: SummaryChecker, op: Op) -> tuple[Term, ...]:
    view = ev.tiling(op.value("src"))
    sizes = [view.layout.shape[dim] for dim in view.dims]
    tiles = [size if count is None else count for count, size in zip(_tiles(view), sizes, strict=True)]
    return _told(ev, op, tiles, "number of tiles")


def _told(ev: SummaryChecker, op: Op, numbers: Sequence[Term], what: str) -> tuple[Term, ...]:
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
