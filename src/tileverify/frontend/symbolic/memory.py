"""Rules for the ops that touch memory: each records one site and gives back a value and a token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...contract.terms import (
    ONE,
    TRUE,
    ZERO,
    Function,
    Scope,
    Sort,
    Term,
    TermKind,
    add,
    and_,
    apply,
    const,
    eq,
    ite,
    le,
    linear_parts,
    lt,
    mul,
    product,
    scale,
)
from ...contract.terms.launch_wide import OWN, Opaque, bits_of, launch_function
from ...system.errors import UnsupportedOperation
from ..bytecode.enums import MemoryOrdering
from ..bytecode.location import user_frame
from ..bytecode.model import Op, ScalarType, Value
from . import pointers
from .integers import constant_element
from .machine import Rule, SymbolicExecutor, pointee, scalar_of, scalar_range, shape_of
from .pointers import PACKED
from .summary import Access, Origin, OriginKind, PointerFootprint, ViewFootprint, list_word
from .tokens import Token
from .values import Pointer, SymbolicValue, TileView, lane_terms, lanes_of
from .written import origin_key


def _mask(m: SymbolicExecutor, op: Op) -> Term:
    mask = op.optional("mask")
    return TRUE if mask is None else m.term(mask)


def _integer(m: SymbolicExecutor, value: Value) -> Term | None:
    """An integer operand, for the site; floats are not followed."""
    content = m.value(value)
    return content if isinstance(content, Term) else None


# -------------------------------------------------------------------------------------------- pointers
def _at_pointer(
    m: SymbolicExecutor,
    op: Op,
    access: Access,
    *,
    value: SymbolicValue | None = None,
    argument: Value | None = None,
    compare: Value | None = None,
) -> Token:
    pointer, element = m.pointer(op.value("ptr")), pointee(op.value("ptr"))
    if element.packed:
        raise m.unsupported(op, PACKED)
    return m.access(
        op,
        access,
        PointerFootprint(pointer.origin, pointer.offset, element.bytes),
        lanes_of(shape_of(op.value("ptr"))),
        m.token(op.optional("token")),
        _mask(m, op),
        value=value if isinstance(value, Term) else None,
        argument=None if argument is None else _integer(m, argument),
        compare=None if compare is None else _integer(m, compare),
        compared=compare is not None,
        stored=bits_of(m.value(argument)) if access is Access.WRITE and argument is not None else None,
    )


def load_pointer(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    value = of_pointer(m, op, m.pointer(op.value("ptr")), _mask(m, op))
    return value, _at_pointer(m, op, Access.READ, value=value)


def store_pointer(m: SymbolicExecutor, op: Op) -> Token:
    return _at_pointer(m, op, Access.WRITE, argument=op.value("val"))


def atomic_update(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    value = m.unknown(op, op.results[0])
    return value, _at_pointer(m, op, Access.ATOMIC, value=value, argument=op.value("arg"))


def compare_and_swap(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    value = m.unknown(op, op.results[0])
    token = _at_pointer(m, op, Access.ATOMIC, value=value, argument=op.value("val"), compare=op.value("cmp"))
    return value, token


# ----------------------------------------------------------------------------------------------- views
def _at_view(
    m: SymbolicExecutor,
    op: Op,
    access: Access,
    argument: str | None = None,
    read: Callable[..., SymbolicValue] | None = None,
) -> tuple[SymbolicValue | None, Token]:
    view = m.view(op.value("view"))
    place = pointers.footprint(m, view, op.group("index"), op.attributes.get("inbounds") or ())
    value = None if read is None else read(m, op, view, place)
    token = m.access(
        op,
        access,
        place,
        lanes_of(view.tile),
        m.token(op.optional("token")),
        value=value if isinstance(value, Term) else None,
        argument=None if argument is None else _integer(m, op.value(argument)),
        stored=bits_of(m.value(op.value(argument))) if op.name == "store_view_tko" and argument is not None else None,
    )
    return value, token


def load_view(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    value, token = _at_view(m, op, Access.READ, read=of_view)
    assert value is not None
    return value, token


def store_view(m: SymbolicExecutor, op: Op) -> Token:
    return _at_view(m, op, Access.WRITE, "tile")[1]


def reduce_into_view(m: SymbolicExecutor, op: Op) -> Token:
    return _at_view(m, op, Access.ATOMIC, "value")[1]


def multimem_load(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    """What several devices hold, reduced: never followed."""

    def read(m: SymbolicExecutor, op: Op, view: TileView, place: object) -> SymbolicValue:
        return m.unknown(op, op.results[0])

    value, token = _at_view(m, op, Access.READ, read=read)
    assert value is not None
    return value, token


def multimem_reduce(m: SymbolicExecutor, op: Op) -> Token:
    return _at_view(m, op, Access.ATOMIC, "tile")[1]


def undeclared_call(m: SymbolicExecutor, op: Op) -> Token:
    """Nobody knows what the code of a library touches: the launch has to declare it."""
    place, symbol = user_frame(op.location), op.attributes["callee"]
    raise UnsupportedOperation(
        f"'{symbol}' is code of a library, and the launch does not declare what it touches (TV902)",
        file=place.file if place else None,
        line=place.line if place else None,
        column=place.offset if place else None,
        op=op.name,
        advice=f'declare it in the launch spec: calls = {{ "{symbol}" = {{ reads = ["$0[128]"], writes = ["out"] }} }}',
    )


RULES: Final[dict[str, Rule]] = {
    "preview$call": undeclared_call,
    "load_ptr_tko": load_pointer,
    "store_ptr_tko": store_pointer,
    "atomic_rmw_tko": atomic_update,
    "atomic_cas_tko": compare_and_swap,
    "load_view_tko": load_view,
    "store_view_tko": store_view,
    "atomic_red_view_tko": reduce_into_view,
    "multimem_load_reduce_view_tko": multimem_load,
    "multimem_reduce_view_tko": multimem_reduce,
    "multimem_store_view_tko": store_view,
}


# ------------------------------------------------------------------------------------------------------------- contents
# What a load gives: the contents of memory as functions of the element.
#
# If no block of the launch writes an array, the same element has the same value in every block: an uninterpreted
# function, shared by the launch, of the element's coordinates.  `Function.array` names the array, so that data facts
# can speak of it.  Two ways to write one element's address may give two different applications; that loses an equality,
# never invents one.  Everything else that is loaded is a value of its own for each dynamic load and lane.
#
# Loads that take part in synchronisation (relaxed, acquire) are never treated as stable.


_WORD: Final = 8
"""Bytes of an address."""

OUTSIDE: Final = ".outside"
"""How the names of functions end that stand for lanes outside of a view without padding: these may be anything."""


def of_view(m: SymbolicExecutor, op: Op, view: TileView, place: ViewFootprint) -> SymbolicValue:
    """The tile that a ``load_view_tko`` gives."""
    element = _element(op)
    if element.is_float:
        return _float_of_view(m, op, view, place)
    described = place.origin.kind is OriginKind.LIST and place.origin.name not in m.addresses
    if described and not m.written.may_write(place.origin):
        return _descriptor(m, op, view, place)
    if not _stable(m, op, place.origin) or place.origin.kind is OriginKind.LIST:
        return m.unknown(op, op.results[0])
    inside = _inside(view, place)
    value = _content(m, place.origin, element, _byte_offset(place), inside)
    if view.padding == "zero":
        outside: SymbolicValue = constant_element(0, element.bits)
    else:
        outside = m.unknown(op, op.results[0], suffix=OUTSIDE)
    return _where(inside, value, outside)


def _inside(view: TileView, place: ViewFootprint) -> Term:
    """Which lanes lie inside the layout.

    Along a dimension of one element per tile every index in the index space is inside, and any other is undefined
    (TV301 asks for that), so nothing needs to be said.
    """
    partial = [place.dim_map[d] for d, size in enumerate(view.tile) if size > 1 or view.element_index]
    limits = ((place.coordinates[k], place.shape[k]) for k in partial)
    return and_(*(and_(le(ZERO, c), lt(c, size)) for c, size in limits))


def of_pointer(m: SymbolicExecutor, op: Op, pointer: Pointer, mask: Term) -> SymbolicValue:
    """The tile that a ``load_ptr_tko`` gives; lanes that are masked off give ``pad``, or anything."""
    element = _element(op)
    if element.is_float:
        return _float_of_pointer(m, op, pointer, mask)
    address = _address(m, op, pointer)
    if address is not None:
        value: SymbolicValue = address
    elif not _stable(m, op, pointer.origin) or pointer.origin.kind is OriginKind.LIST:
        value = m.unknown(op, op.results[0])
    else:
        value = _content(m, pointer.origin, element, pointer.offset, mask)
    pad = op.optional("pad")
    if pad is not None:
        return _where(mask, value, m.value(pad))
    return value if mask is TRUE else _where(mask, value, m.unknown(op, op.results[0], suffix=".masked"))


def _float_of_view(m: SymbolicExecutor, op: Op, view: TileView, place: ViewFootprint) -> Opaque:
    """Floats of a view: bits alone, and these only where the launch asks for them."""
    if not m.entry.equal_stores or not _stable(m, op, place.origin) or place.origin.kind is OriginKind.LIST:
        return OWN
    value = _content(m, place.origin, _element(op), _byte_offset(place), TRUE)
    outside = ZERO if view.padding == "zero" else _own_bits(m, op, OUTSIDE)
    return Opaque(False, ite(_inside(view, place), value, outside))


def _float_of_pointer(m: SymbolicExecutor, op: Op, pointer: Pointer, mask: Term) -> Opaque:
    pad = op.optional("pad")
    otherwise = None if pad is None else bits_of(m.value(pad))
    known = m.entry.equal_stores and _stable(m, op, pointer.origin) and pointer.origin.kind is not OriginKind.LIST
    if not known or (pad is not None and otherwise is None):
        return OWN
    value = _content(m, pointer.origin, _element(op), pointer.offset, mask)
    return Opaque(False, ite(mask, value, _own_bits(m, op, ".masked") if otherwise is None else otherwise))


def _own_bits(m: SymbolicExecutor, op: Op, suffix: str) -> Term:
    """Lanes that may hold anything, in each block and iteration something else."""
    function = m.symbol(op, Function(m.unique(op, suffix), Scope.BLOCK))
    return apply(function, *m.iterations, *lane_terms(shape_of(op.results[0])))


def _address(m: SymbolicExecutor, op: Op, pointer: Pointer) -> Term | None:
    """The address that a load takes from an array of addresses: word k is that of array k of the list.

    ``None`` for any other load, for one of half a word, and where the kernel may write into the array.
    """
    origin, words = pointer.origin, coordinates_of(pointer.offset, (), (ONE,), _WORD)
    if origin.kind is not OriginKind.LIST or origin.name not in m.addresses or words is None:
        return None
    if _element(op).bits != 8 * _WORD or not _stable(m, op, origin):
        return None
    m.list_ranks[origin.name] = 0
    return apply(list_word(origin.name, "address"), *words)


def _where(condition: Term, value: SymbolicValue, otherwise: SymbolicValue) -> Term:
    assert isinstance(value, Term)
    assert isinstance(otherwise, Term)
    return ite(condition, value, otherwise)


def _element(op: Op) -> ScalarType:
    return scalar_of(op.results[0])


def _stable(m: SymbolicExecutor, op: Op, origin: Origin) -> bool:
    """Whether the load sees what was there when the launch began; memory that the block made itself was not."""
    local = origin.kind in (OriginKind.LOCAL, OriginKind.SHARED_LOCAL)
    return op.attributes["ord"] == MemoryOrdering.WEAK and not local and not m.written.may_write(origin)


def _content(m: SymbolicExecutor, origin: Origin, element: ScalarType, offset: Term, live: Term) -> Term:
    """The element ``offset`` bytes behind ``origin``, whatever ``live`` says of the lane."""
    name = origin.name
    leading: tuple[Term, ...] = ()
    if origin.kind is OriginKind.LIST_ELEMENT:
        assert origin.index is not None
        name, leading = f"{origin.name}[]", (origin.index,)
    elif origin.kind is OriginKind.GLOBAL:
        name = f"global {origin.name}"
    native = m.elements.setdefault(origin_key(origin), element) == element
    array = origin.name if native and not element.is_float and origin.kind is OriginKind.PARAMETER else None
    if not native:
        name = f"{name} as {element.name}"
    coordinates = coordinates_of(offset, origin.shape, origin.strides or (const(1),), element.bytes)
    if coordinates is None or (origin.strides and element.bytes != origin.element_bytes):
        name, array, coordinates = f"{name} at byte", None, (offset,)
    low, high, sort = (None, None, Sort.INT) if element.is_float else scalar_range(element)
    return apply(launch_function(name, low, high, sort, array), *leading, *coordinates)


def coordinates_of(
    offset: Term, shape: Sequence[Term], strides: Sequence[Term], element_bytes: int
) -> tuple[Term, ...] | None:
    """Coordinates c with ``offset = element_bytes * sum(c[d] * strides[d])`` exactly, where they can be read off.

    Each summand must belong to one dimension: it has that dimension's stride as a factor, or no symbolic stride at all
    and goes to the one dimension with a constant stride.  Of several such, dimensions of one element are left out: any
    of these coordinates names the byte, and where it lies in the array, theirs is 0.
    """
    constant, summands = linear_parts(offset)
    symbolic = {stride: d for d, stride in enumerate(strides) if stride.kind is not TermKind.CONST}
    fixed = [d for d, stride in enumerate(strides) if stride.kind is TermKind.CONST]
    if len(symbolic) + len(fixed) < len(strides):
        return None
    longer = [d for d in fixed if d < len(shape) and shape[d] is not ONE]
    if len(longer) > 1:
        return None
    fixed = longer or fixed[-1:]
    coordinates = [ZERO] * len(strides)
    rest = [(constant, const(1))] if constant else []
    for coefficient, term in summands:
        factors = list(term.args) if term.kind is TermKind.PRODUCT else [term]
        owners = [stride for stride in symbolic if stride in factors]
        if not owners:
            rest.append((coefficient, term))
        elif len(owners) > 1 or coefficient % element_bytes:
            return None
        else:
            factors.remove(owners[0])
            dim = symbolic[owners[0]]
            coordinates[dim] = add(coordinates[dim], scale(coefficient // element_bytes, product(factors)))
    if rest:
        if not fixed:
            return None
        unit = element_bytes * strides[fixed[0]].value
        if unit == 0 or any(coefficient % unit for coefficient, _ in rest):
            return None
        coordinates[fixed[0]] = add(*(scale(coefficient // unit, term) for coefficient, term in rest))
    return tuple(coordinates)


def _byte_offset(place: ViewFootprint) -> Term:
    elements = add(*(mul(c, stride) for c, stride in zip(place.coordinates, place.strides, strict=True)))
    return add(place.base, scale(place.element_bytes, elements))


def _descriptor(m: SymbolicExecutor, op: Op, view: TileView, place: ViewFootprint) -> Term:
    """A row of a list's descriptor buffer: address, sizes, strides, one 64-bit word each.

    The buffer belongs to the launcher and nobody writes it.  A row outside the list lies outside the index space of its
    view (TV301), so the words need no choice for that; a word behind the last one is padding.
    """
    name, words = place.origin.name, place.shape[-1]
    if len(place.shape) != 2 or words.kind is not TermKind.CONST or words.value % 2 == 0 or place.base is not ZERO:
        raise m.unsupported(op, "a list descriptor that is not a table of rows")
    if place.element_bytes != 8 or place.strides != (words, ONE):
        raise m.unsupported(op, "rows of a list descriptor that are not 64-bit words one behind the other")
    rank = words.value // 2
    m.list_ranks[name] = rank
    row, word = place.coordinates
    columns = ["address", *(f"shape[{d}]" for d in range(rank)), *(f"strides[{d}]" for d in range(rank))]
    behind: SymbolicValue = ZERO if view.padding == "zero" else m.unknown(op, op.results[0], suffix=OUTSIDE)
    assert isinstance(behind, Term)
    value = behind
    for number, column in reversed(list(enumerate(columns))):
        value = ite(eq(word, const(number)), apply(list_word(name, column), row), value)
    return value
