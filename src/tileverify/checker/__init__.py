"""A second reading of bytecode, `read_again`: what a certificate says of accesses, op by op (docs/checker.md)."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..contract.launch import EntryParameter, Role
from ..contract.terms import ZERO, Sort, Term, TermKind, boolean, const
from ..contract.terms.launch_wide import bits_of, launch_variable, opaque
from ..contract.variables import BID, GRID
from ..frontend.bytecode.model import Entry, Module, PointerType, ScalarType, TileType
from ..frontend.bytecode.model import Value as SsaValue
from ..frontend.symbolic.summary import AccessSummary, Origin, OriginKind
from . import steps_accesses, steps_integers, steps_loops, steps_pointers, steps_tiles
from .agreement import Address, Misread, Refutes, Value
from .evaluator import Step, SummaryChecker
from .steps_pointers import first_byte, may_be_written

STEPS: Final[dict[str, Step]] = {
    **steps_accesses.STEPS,
    **steps_integers.STEPS,
    **steps_loops.STEPS,
    **steps_pointers.STEPS,
    **steps_tiles.STEPS,
    **steps_accesses.TOKEN_STEPS,
}
"""What each op does; an op that is not here is not read."""


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """``summary``: the claim, with what follows from the bytecode alone put in; ``asked``: questions for a solver."""

    summary: AccessSummary
    asked: int


def read_again(
    module: Module,
    entry: Entry,
    parameters: Sequence[EntryParameter],
    claims: AccessSummary,
    may_overlap: Sequence[frozenset[str]],
    refutes: Refutes,
    empty: Container[str] = (),
) -> ReadAgain:
    """Every access, promise and loop of ``claims`` is what the bytecode does, and none is missing.

    ``empty``: arrays of which it matters that stores happen, so that claims may not let too many through.
    ``refutes`` answers what terms alone do not show.  Raises `Misread` where the claims are false, `NotFollowed`
    where the checker cannot tell.
    """
    values, origins, holds = described(entry, parameters)
    ev = SummaryChecker(module, entry, claims, STEPS, refutes, may_overlap, empty)
    ev.env.update(values)
    ev.elements.update(holds)
    ev.addresses |= {each.argument for each in parameters if each.role is Role.ADDRESSES}
    ev.known |= {axis.symbol for axis in (*BID, *GRID)}
    for number in values.values():
        if isinstance(bits := bits_of(number), Term) and bits.kind is TermKind.VAR:
            ev.known.add(bits.symbol)
    ev.known |= {first_byte(origin).symbol for origin in origins.values()}
    ev.run(entry.body)
    ev.finish()
    for site in claims.sites:
        known = origins.setdefault(site.origin.name, site.origin)
        if known.kind is not site.origin.kind and OriginKind.LIST not in (known.kind, site.origin.kind):
            raise Misread(f"'{site.origin.name}' is said to be two things")
    stable = frozenset(
        name for name, each in origins.items() if each.kind is OriginKind.PARAMETER and not may_be_written(ev, each)
    )
    at = {op.offset: op.location for op in ev.ordinal}
    summary = replace(
        claims,
        sites=tuple(replace(site, location=at[site.offset]) for site in claims.sites),
        promises=tuple(replace(item, location=at[item.offset]) for item in claims.promises),
        origins=origins,
        stable_arrays=stable,
    )
    return ReadAgain(summary, ev.compare.asked)


# ------------------------------------------------------------------------------------------------------ described entry
# What the parameters of an entry are, as the contract describes them.


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
            listed = parameter.role in (Role.LIST_POINTER, Role.ADDRESSES)
            kind = OriginKind.LIST if listed else OriginKind.PARAMETER
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
        return opaque(bits=launch_variable(f"bits of {parameter.argument}"))
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
