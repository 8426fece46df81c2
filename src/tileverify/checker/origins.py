"""Where memory begins, and what is in it when a launch begins.

Names are conventions that claims share with the contract: `x.address`, `xs[].shape[0]`, the contents of `x` as `x`.
"""

from __future__ import annotations

from typing import Final

from ..contract.terms import ONE, ZERO, Function, Term, TermKind, add, apply, linear_parts, mul, product, scale
from ..contract.terms.launch_wide import launch_function, launch_variable
from ..contract.variables import ADDRESS_MAX, argument_address
from ..frontend.bytecode.model import ScalarType
from ..frontend.symbolic.summary import Origin, OriginKind
from .checked_values import NotFollowed

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
