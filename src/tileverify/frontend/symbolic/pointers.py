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
    choice,
    const,
    le,
    linear_parts,
    scale,
    sub,
    var,
)
from ...contract.variables import ADDRESS_MAX
from ..bytecode.model import Op
from .integers import number
from .lanes import lane_terms, mentions_lanes
from .machine import Machine, Rule, element_bits, pointee, shape_of
from .origin_addresses import address_of, list_word
from .summary import Origin, OriginKind
from .values import Pointer, unknown_origin

_FAR: Final = 2**61

PACKED: Final = "a pointer to 4-bit elements, two of which share an address; access them through a tile view"
"""Views of them are followed.  tileiras 13.5 refuses tiles of such pointers, and pointers to i4 in any version."""


def list_element(m: Machine, name: str, index: Term, element_bytes: int) -> Origin:
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


def offset(m: Machine, op: Op) -> Pointer:
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


def pointer_to_pointer(m: Machine, op: Op) -> Pointer:
    return m.pointer(op.value("s"))


def pointer_to_integer(m: Machine, op: Op) -> Term:
    pointer = m.pointer(op.value("s"))
    address = add(address_of(pointer.origin), pointer.offset)
    m.address_origins[linear_parts(address_of(pointer.origin))[1]] = pointer.origin
    return m.wrap(64, address)


def integer_to_pointer(m: Machine, op: Op) -> Pointer:
    """An integer that is one known address plus something keeps that origin; any other points anywhere."""
    address = m.term(op.value("s"))
    if address.kind is TermKind.WRAP and address.payload == 64:
        address = address.args[0]  # pointer arithmetic is modulo 2**64 anyway
    origins = [origin for c, t in linear_parts(address)[1] if (origin := _origin_at(m, op, c, t)) is not None]
    if len(origins) == 1:
        return Pointer(origins[0], sub(address, address_of(origins[0])))
    return Pointer(unknown_origin(pointee(op.result).bytes), ZERO)


def _origin_at(m: Machine, op: Op, coefficient: int, term: Term) -> Origin | None:
    """The memory whose address ``coefficient * term`` is."""
    known = m.address_origins.get(((coefficient, term),))
    if known is None and coefficient == 1 and (name := _list_of(m, term)):
        return list_element(m, name, term.args[0], pointee(op.result).bytes)
    return known


def _list_of(m: Machine, term: Term) -> str:
    """The list whose row holds this address, or an empty string."""
    if term.kind is TermKind.APPLY:
        for name in m.list_ranks:
            if term.function == list_word(name, "address"):
                return name
    return ""


def get_global(m: Machine, op: Op) -> Pointer:
    name = op.attributes["name"]
    found = next(item for item in m.module.globals if item.name == name)
    element = pointee(op.result)
    stored = found.value.scalar.stored_bytes(found.type.size)
    # All blocks find it at one place, but no launch can be asked for that: a launch variable would get into clauses.
    alignment = found.alignment or found.value.scalar.bytes
    address = scale(alignment, var(f"global {name}.address", Scope.BLOCK, 0, ADDRESS_MAX // alignment))
    origin = Origin(OriginKind.GLOBAL, name, element.bytes, extent=const(stored), alignment=alignment, address=address)
    return Pointer(origin, ZERO)


def alloca(m: Machine, op: Op) -> Pointer:
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
