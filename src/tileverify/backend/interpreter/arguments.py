"""A concrete launch in simulated memory: allocations, list descriptors, globals, and the entry's parameter values.

The calling conventions are those of cuda.tile (t1, t2): an array is pointer, sizes, strides; a list is a pointer to
(1 + 2n) 64-bit words per array (pointer, n sizes, n strides) and an i32 length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from ...contract.concrete import ConcreteArray, ConcreteLaunch
from ...contract.launch import GRID_MAX, EntryParameter, Role
from ...frontend.bytecode.model import Entry, Module, PointerType, ScalarType, TileType, Value
from .encodings import round_to, to_bits
from .faults import LaunchMismatch
from .machine import Program
from .memory import Extent, MemoryImage, Provenance
from .tiles import constant_tile
from .values import Array, RuntimeValue, Tile, wrapped

T = TypeVar("T")

ELEMENT_BYTES: Final[dict[str, int]] = {
    "bool": 1, "i8": 1, "u8": 1, "f8e4m3": 1, "f8e5m2": 1, "f8e8m0": 1,
    "i16": 2, "u16": 2, "f16": 2, "bf16": 2,
    "i32": 4, "u32": 4, "f32": 4, "tf32": 4,
    "i64": 8, "u64": 8, "f64": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """What a run starts from."""

    program: Program
    image: MemoryImage
    arguments: Mapping[Value, RuntimeValue]


def extent_bytes(array: ConcreteArray) -> int:
    """Bytes from the array's first to the end of its last element; 0 if it has no element."""
    if 0 in array.shape:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    return (last + 1) * _element_bytes(array)


def _element_bytes(array: ConcreteArray) -> int:
    if array.dtype not in ELEMENT_BYTES:
        raise LaunchMismatch(f"the element type {array.dtype} is not known")
    return ELEMENT_BYTES[array.dtype]


def _place_arrays(image: MemoryImage, launch: ConcreteLaunch, data: Mapping[str, Array]) -> dict[str, int]:
    """Allocate what the arrays live in; the origin number of every array by name."""
    shared: dict[str, list[tuple[str, ConcreteArray]]] = {}
    for name, array in launch.named_arrays():
        if min((*array.shape, *array.strides, array.byte_offset), default=0) < 0:
            raise LaunchMismatch(f"{name} has a negative size, stride or offset")
        if array.byte_offset % _element_bytes(array):
            raise LaunchMismatch(f"{name} is not aligned to its elements")
        shared.setdefault(array.allocation or name, []).append((name, array))
    origins: dict[str, int] = {}
    for allocation, members in shared.items():
        size = max(array.byte_offset + extent_bytes(array) for _, array in members)
        extents = tuple(
            Extent(a.byte_offset, _element_bytes(a), extent_bytes(a) // _element_bytes(a), a.fill, a.contents)
            for _, a in members
        )
        whole = data.get(allocation)
        if whole is not None and whole.size != size:
            raise LaunchMismatch(f"{allocation} takes {size} bytes, {whole.size} are given")
        number = image.add_allocation(allocation, size, extents, whole)
        base = image.allocations[number].base
        for name, array in members:
            place, width = base + array.byte_offset, _element_bytes(array)
            origins[name] = image.add_origin(
                Provenance(name, number, place, extent_bytes(array), width, array.shape, array.strides)
            )
    return origins


def _place_lists(image: MemoryImage, launch: ConcreteLaunch, origins: dict[str, int]) -> None:
    """Descriptor buffers: the launcher's memory, one row of words per array."""
    for name, elements in launch.lists.items():
        rows = []
        for number, array in enumerate(elements):
            rows += [image.origins[origins[f"{name}[{number}]"]].base, *array.shape, *array.strides]
        words = np.array(rows, np.uint64).view(np.uint8)
        allocation = image.add_allocation(name, words.size, data=words)
        base = image.allocations[allocation].base
        origins[name] = image.add_origin(Provenance(name, allocation, base, words.size, 8))


def _place_globals(image: MemoryImage, module: Module) -> dict[str, int]:
    numbers = {}
    for variable in module.globals:
        scalar = variable.value.scalar
        data = np.ascontiguousarray(to_bits(constant_tile(variable.value).data, scalar)).reshape(-1).view(np.uint8)
        allocation = image.add_allocation(variable.name, data.size, data=data)
        base = image.allocations[allocation].base
        origin = Provenance(variable.name, allocation, base, data.size, scalar.bytes)
        numbers[variable.name] = image.add_origin(origin)
    return numbers


# --------------------------------------------------------------------------------------------- parameters
def _number(launch: ConcreteLaunch, parameter: EntryParameter) -> int:
    name, dim = parameter.argument, parameter.dim
    if parameter.role is Role.SCALAR:
        if name not in launch.scalars:
            raise LaunchMismatch(f"the launch has no scalar {name}")
        return launch.scalars[name]
    if parameter.role is Role.LIST_LENGTH:
        return len(_member(launch.lists, name, "list"))
    assert dim is not None
    array = _member(launch.arrays, name, "array")
    if parameter.role is Role.PARTITION:  # nobody reads it; as the launcher passes it
        return parameter.static if parameter.static is not None else array.strides[dim - len(array.strides)]
    number = (array.shape if parameter.role is Role.SHAPE else array.strides)[dim]
    if parameter.static is not None and parameter.static != number:
        raise LaunchMismatch(f"{name} was compiled for {parameter.role.value} {parameter.static}, not {number}")
    return number


def _member(arguments: Mapping[str, T], name: str, kind: str) -> T:
    if name not in arguments:
        raise LaunchMismatch(f"the launch has no {kind} {name}")
    return arguments[name]


def _scalar_value(launch: ConcreteLaunch, parameter: EntryParameter, element: ScalarType) -> Tile:
    """A float scalar is rounded to its type; one that the launch does not name is 0."""
    if element.is_float:
        return Tile(round_to(np.asarray(launch.floats.get(parameter.argument, 0.0), np.float64), element))
    number, bits = _number(launch, parameter), element.bits
    unsigned_too = parameter.role is Role.SCALAR
    if not -(1 << (bits - 1)) <= number < 1 << (bits if unsigned_too or bits == 1 else bits - 1):
        raise LaunchMismatch(f"{parameter.role.value} of {parameter.argument}: {number} does not fit i{bits}")
    return Tile(wrapped(np.asarray(number & ((1 << bits) - 1), np.uint64), bits))


def bind_launch(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], launch: ConcreteLaunch,
    data: Mapping[str, Array] | None = None,
) -> BoundLaunch:  # fmt: skip
    """Lay the launch out in memory.  ``data`` gives whole allocations' bytes (uint8), by allocation name.

    :raises LaunchMismatch: the launch lacks an argument, or a number does not fit its parameter.
    """
    if not all(1 <= axis <= GRID_MAX for axis in launch.grid):
        raise LaunchMismatch(f"no launch has the grid {launch.grid}")
    if len(parameters) != len(entry.parameters):
        raise LaunchMismatch(f"{entry.name} has {len(entry.parameters)} parameters, {len(parameters)} are described")
    image = MemoryImage()
    origins = _place_arrays(image, launch, data or {})
    _place_lists(image, launch, origins)
    program = Program(module, entry, _place_globals(image, module))
    arguments: dict[Value, RuntimeValue] = {}
    for value, parameter in zip(entry.parameters, parameters, strict=True):
        assert isinstance(value.type, TileType)
        element = value.type.element
        if isinstance(element, PointerType):
            if parameter.role not in (Role.POINTER, Role.LIST_POINTER):
                raise LaunchMismatch(f"{parameter.argument} is a pointer, not a {parameter.role.value}")
            number = _member(origins, parameter.argument, "array or list")
            base = np.asarray(image.origins[number].base, np.uint64)
            arguments[value] = Tile(base, None, np.asarray(number))
        else:
            if parameter.role in (Role.POINTER, Role.LIST_POINTER):
                raise LaunchMismatch(f"{parameter.argument} is a number, not a {parameter.role.value}")
            arguments[value] = _scalar_value(launch, parameter, element)
    return BoundLaunch(program, image, arguments)
