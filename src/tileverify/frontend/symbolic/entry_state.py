"""What the parameters of an entry are when a launch begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...contract.launch import EntryParameter, Role
from ...contract.terms import ZERO, Sort, Term, boolean, const
from ...contract.terms.launch_wide import launch_variable, opaque
from ...system.errors import SpecError
from ..bytecode.liveness import read_values
from ..bytecode.model import Entry, PointerType, ScalarType, TileType, Value
from .machine import scalar_of
from .summary import Origin, OriginKind
from .values import Pointer, SymbolicValue


@dataclass(slots=True)
class Binding:
    """``values``: each entry parameter's value; ``origins``: arrays and lists by name; ``elements``: what they hold."""

    values: dict[Value, SymbolicValue] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    pointees: dict[str, ScalarType] = field(default_factory=dict)


def bind(entry: Entry, parameters: Sequence[EntryParameter]) -> Binding:
    """Give every entry parameter its meaning.

    Without ``parameters`` (bytecode that nobody described) a pointer is an array ``arg0`` of unknown layout and a
    scalar is a variable ``arg1``.

    Raises:
        SpecError: the description does not fit the entry's parameters.
    """
    described = parameters or [_undescribed(i, value) for i, value in enumerate(entry.parameters)]
    if len(described) != len(entry.parameters):
        raise SpecError(
            f"kernel '{entry.name}' has {len(entry.parameters)} parameters in its bytecode, but the launch describes "
            f"{len(described)}: give one entry for every parameter of the kernel, in order"
        )
    pairs = list(zip(entry.parameters, described, strict=True))
    _check_partitions(pairs, read_values(entry))
    binding = Binding()
    layouts = {Role.SHAPE: _dimensions(pairs, Role.SHAPE), Role.STRIDE: _dimensions(pairs, Role.STRIDE)}
    for value, parameter in pairs:
        element = _element(entry, value, parameter)
        if isinstance(element, PointerType):
            origin = Origin(
                OriginKind.LIST if parameter.role is Role.LIST_POINTER else OriginKind.PARAMETER,
                parameter.argument,
                element.pointee.bytes,
                layouts[Role.SHAPE].get(parameter.argument, ()),
                layouts[Role.STRIDE].get(parameter.argument, ()),
            )
            binding.origins[parameter.argument] = origin
            binding.pointees[parameter.argument] = element.pointee
            binding.values[value] = Pointer(origin, ZERO)
        else:
            binding.values[value] = _scalar(parameter, element)
    return binding


def _check_partitions(pairs: Sequence[tuple[Value, EntryParameter]], read: frozenset[Value]) -> None:
    """What comes with a partition is no fact of the launch: a kernel that reads it is not followed."""
    for value, parameter in pairs:
        if parameter.role is Role.PARTITION and value in read:
            raise SpecError(
                f"args.{parameter.argument}: the kernel reads number {parameter.dim} of those that come with a "
                "partition, and what they mean to it is not known; describe the tensor without '&mut' and '@', and"
                " these numbers as scalars behind it"
            )


def _undescribed(index: int, value: Value) -> EntryParameter:
    assert isinstance(value.type, TileType)
    role = Role.POINTER if isinstance(value.type.element, PointerType) else Role.SCALAR
    return EntryParameter(role, f"arg{index}")


def _element(entry: Entry, value: Value, parameter: EntryParameter) -> ScalarType | PointerType:
    assert isinstance(value.type, TileType)
    element = value.type.element
    pointer = parameter.role in (Role.POINTER, Role.LIST_POINTER)
    if pointer != isinstance(element, PointerType):
        kind = "a pointer" if isinstance(element, PointerType) else f"an {element.name}"
        raise SpecError(
            f"'{parameter.argument}' of kernel '{entry.name}' is described as a {parameter.role.value}, but the "
            f"entry's parameter is {kind}: give the arguments in the order of the kernel's parameters"
        )
    return element


def _dimensions(pairs: Sequence[tuple[Value, EntryParameter]], role: Role) -> dict[str, tuple[Term, ...]]:
    """Sizes or strides by array, in order of the dimensions."""
    found: dict[str, dict[int, Term]] = {}
    for value, parameter in pairs:
        if parameter.role is role:
            assert parameter.dim is not None
            term = _scalar(parameter, scalar_of(value))
            assert isinstance(term, Term)
            found.setdefault(parameter.argument, {})[parameter.dim] = term
    return {name: tuple(term for _, term in sorted(dims.items())) for name, dims in found.items()}


def _scalar(parameter: EntryParameter, element: ScalarType) -> SymbolicValue:
    """A size, stride, length or runtime scalar.

    Standing facts of every launch (``docs/specs.md``): sizes and strides are not negative and fit their type.
    """
    if element.is_float:
        return opaque()
    if parameter.static is not None:
        return const(parameter.static) if element.bits > 1 else boolean(bool(parameter.static))
    half = 1 << (element.bits - 1)
    match parameter.role:
        case Role.SHAPE:
            return launch_variable(f"{parameter.argument}.shape[{parameter.dim}]", 0, half - 1)
        case Role.STRIDE:
            return launch_variable(f"{parameter.argument}.strides[{parameter.dim}]", 0, half - 1)
        case Role.LIST_LENGTH:
            return launch_variable(f"{parameter.argument}.length", 0, half - 1)
        case Role.PARTITION:  # nobody reads it
            return launch_variable(f"{parameter.argument}.partition[{parameter.dim}]", -half, half - 1)
        case _:
            if element.bits == 1:
                return launch_variable(parameter.argument, sort=Sort.BOOL)
            return launch_variable(parameter.argument, -half, half - 1)
