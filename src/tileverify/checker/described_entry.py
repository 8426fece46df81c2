"""What the parameters of an entry are, as the contract describes them."""

from __future__ import annotations

from collections.abc import Sequence

from ..contract.launch import EntryParameter, Role
from ..contract.terms import ZERO, Sort, Term, boolean, const
from ..contract.terms.launch_wide import launch_variable, opaque
from ..frontend.bytecode.model import Entry, PointerType, ScalarType, TileType
from ..frontend.bytecode.model import Value as SsaValue
from ..frontend.symbolic.summary import Origin, OriginKind
from .checked_values import Address, Misread, Value

_WORDS = {Role.SHAPE: "shape", Role.STRIDE: "strides", Role.PARTITION: "partition"}


def described(
    entry: Entry, parameters: Sequence[EntryParameter]
) -> tuple[dict[SsaValue, Value], dict[str, Origin], dict[str, ScalarType]]:
    """Of each parameter its value; of each array and list its origin and what it holds."""
    if len(entry.parameters) != len(parameters) or any(entry.argument_attributes):
        raise Misread("the entry's parameters are not those that are described")
    pairs = list(zip(entry.parameters, parameters, strict=True))
    numbers: dict[tuple[str, Role], dict[int, Term]] = {}
    values: dict[SsaValue, Value] = {}
    for value, parameter in pairs:
        element = _element(value)
        if isinstance(element, ScalarType):
            number = values[value] = _number(parameter, element)
            if parameter.dim is not None and isinstance(number, Term):
                numbers.setdefault((parameter.argument, parameter.role), {})[parameter.dim] = number
    origins: dict[str, Origin] = {}
    holds: dict[str, ScalarType] = {}
    for value, parameter in pairs:
        element = _element(value)
        if isinstance(element, PointerType):
            kind = OriginKind.LIST if parameter.role is Role.LIST_POINTER else OriginKind.PARAMETER
            sizes, strides = (
                tuple(number for _, number in sorted(numbers.get((parameter.argument, role), {}).items()))
                for role in (Role.SHAPE, Role.STRIDE)
            )
            origin = Origin(kind, parameter.argument, element.pointee.bytes, sizes, strides)
            origins[parameter.argument] = origin
            holds[f"p:{parameter.argument}"] = element.pointee
            values[value] = Address(origin, ZERO)
    return values, origins, holds


def _element(value: SsaValue) -> ScalarType | PointerType:
    assert isinstance(value.type, TileType)
    return value.type.element


def _number(parameter: EntryParameter, element: ScalarType) -> Value:
    """Sizes, strides and lengths are not negative; every number fits its type."""
    if element.is_float:
        return opaque()
    if parameter.static is not None:
        return boolean(bool(parameter.static)) if element.bits == 1 else const(parameter.static)
    half, name = 1 << (element.bits - 1), parameter.argument
    if parameter.role in _WORDS:
        low = -half if parameter.role is Role.PARTITION else 0
        return launch_variable(f"{name}.{_WORDS[parameter.role]}[{parameter.dim}]", low, half - 1)
    if parameter.role is Role.LIST_LENGTH:
        return launch_variable(f"{name}.length", 0, half - 1)
    if element.bits == 1:
        return launch_variable(name, sort=Sort.BOOL)
    return launch_variable(name, -half, half - 1)
