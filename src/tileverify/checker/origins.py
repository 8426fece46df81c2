"""Where memory begins, and what is in it when a launch begins.

Names are conventions that claims share with the contract: `x.address`, `xs[].shape[0]`, the contents of `x` as `x`.
"""

from __future__ import annotations

from typing import Final

from ..contract.terms import (
    ONE,
    ZERO,
    Function,
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
from ..contract.terms.launch_wide import OWN, launch_function, launch_variable
from ..contract.variables import ADDRESS_MAX, argument_address
from ..frontend.bytecode.model import Op, ScalarType
from ..frontend.symbolic.summary import Origin, OriginKind, ViewFootprint
from .checked_values import Address, NotFollowed, Tiling, Value
from .evaluator import Evaluator, scalar, values_of
from .steps_integers import element

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


def of_pointer(ev: Evaluator, op: Op, pointer: Address, mask: Term | None) -> Value:
    """The tile that a load of pointers gives; masked lanes hold ``pad``, or anything."""
    result = op.results[0]
    if scalar(result).is_float:
        return OWN
    if unchanged(ev, op, pointer.origin) and pointer.origin.kind is not OriginKind.LIST:
        value: Value = _at_first(ev, op, pointer.origin, pointer.offset)
    else:
        value = ev.any_value(op, result)
    pad = op.optional("pad")
    if mask is None:
        return value
    otherwise = ev.value(pad) if pad is not None else ev.any_value(op, result, suffix=".masked")
    return _choice(mask, value, otherwise)


def of_view(ev: Evaluator, op: Op, view: Tiling, place: ViewFootprint) -> Value:
    """The tile that a load of a view gives; lanes outside hold 0 if the view pads with it, or anything."""
    result = op.results[0]
    if scalar(result).is_float:
        return OWN
    if place.origin.kind is OriginKind.LIST and memory_name(place.origin) not in ev.claims.written:
        return _descriptor(ev, op, view, place)
    if not unchanged(ev, op, place.origin):
        return ev.any_value(op, result)
    elements = add(*(mul(at, stride) for at, stride in zip(place.coordinates, place.strides, strict=True)))
    value = _at_first(ev, op, place.origin, add(place.base, scale(place.element_bytes, elements)))
    zeros = view.padding == "zero"
    outside = element(0, scalar(result).bits) if zeros else ev.any_value(op, result, suffix=".outside")
    return _choice(_inside(view, place), value, outside)


def unchanged(ev: Evaluator, op: Op, origin: Origin) -> bool:
    """Whether the load sees what was there before the launch: no block writes there, and it is no synchronisation."""
    own = origin.kind in (OriginKind.LOCAL, OriginKind.SHARED_LOCAL)
    return op.attributes["ord"] == _WEAK and not own and not may_be_written(ev, origin)


def may_be_written(ev: Evaluator, origin: Origin) -> bool:
    """As it is claimed; what may overlap memory that is written, is."""
    written = ev.claims.written
    if "?" in written or origin.kind is OriginKind.UNKNOWN:
        return True
    if origin.kind is OriginKind.LIST:
        return memory_name(origin) in written
    beside = {name for group in ev.may_overlap if origin.name in group for name in group}
    names = {memory_name(origin), *(f"p:{name}" for name in beside), *(f"e:{name}" for name in beside)}
    return bool(names & written)


def _at_first(ev: Evaluator, op: Op, origin: Origin, offset: Term) -> Term:
    """What lay ``offset`` bytes behind ``origin`` when the launch began."""
    kind, read_as = origin.kind, scalar(op.results[0])
    name = {OriginKind.LIST_ELEMENT: f"{origin.name}[]", OriginKind.GLOBAL: f"global {origin.name}"}.get(
        kind, origin.name
    )
    row = () if origin.index is None else (origin.index,)
    native = ev.elements.setdefault(memory_name(origin), read_as) == read_as
    array = origin.name if native and kind is OriginKind.PARAMETER else None
    if not native:
        name = f"{name} as {read_as.name}"
    place = as_coordinates(offset, origin, read_as)
    if place is None:
        name, array, place = f"{name} at byte", None, (offset,)
    return apply(ev.declared(launch_function(name, *values_of(read_as), array)), *row, *place)


def _inside(view: Tiling, place: ViewFootprint) -> Term:
    """Which lanes lie in the layout.  Along a dimension of one element per tile an index of the index space does, and
    another is at fault (TV301)."""
    partial = [view.dims[d] for d, size in enumerate(view.tile) if size > 1 or view.by_element]
    limits = [(place.coordinates[dim], place.shape[dim]) for dim in partial]
    return and_(*(and_(le(ZERO, at), lt(at, size)) for at, size in limits))


def _descriptor(ev: Evaluator, op: Op, view: Tiling, place: ViewFootprint) -> Term:
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
