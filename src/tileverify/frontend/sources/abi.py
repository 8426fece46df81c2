"""The entry parameters that the arguments of a launch fill, in ABI order.

cuTile (and whoever follows its calling convention) passes an array as its pointer, sizes and strides, a list as its
pointer and length, a scalar as one value, flattens tuples and leaves constants out.  CUDA Tile C++ passes an array
as its pointer alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .compiled_facts import ArrayFacts
from .element_types import ELEMENT_TYPES
from .expressions import constant_value
from .launch import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    EntryParameter,
    Expression,
    LaunchSpec,
    ListArgument,
    Role,
    ScalarArgument,
    TupleArgument,
)
from .layout import strides_of
from .scope import flatten

_POINTERS = (Role.POINTER, Role.LIST_POINTER)


def entry_parameters(
    spec: LaunchSpec, facts: Mapping[str, ArrayFacts] | None = None, *, bare_pointers: bool = False
) -> tuple[EntryParameter, ...]:
    """The entry's parameters in ABI order.

    ``facts`` (by argument name) give the values that the compilation fixed; without them, as for bytecode, only the
    ones that the spec itself fixes are: sizes of 1 and unit strides, as cuda.tile's JIT compiles them in.
    ``bare_pointers``: arrays are passed as pointers without sizes and strides.
    """
    known = facts or {}
    return tuple(parameter for argument in spec.arguments for parameter in _parameters(argument, known, bare_pointers))


def _parameters(argument: Argument, facts: Mapping[str, ArrayFacts], bare_pointers: bool) -> Iterator[EntryParameter]:
    name = argument.name
    match argument:
        case ArrayArgument(shape=shape):
            fixed = facts.get(name)
            yield EntryParameter(Role.POINTER, name)
            sizes = fixed.shape_constant if fixed else _ones(shape)
            strides = fixed.stride_constant if fixed else _ones(strides_of(argument))
            for dim in range(0 if bare_pointers else len(shape)):
                yield EntryParameter(Role.SHAPE, name, dim, sizes[dim])
            for dim in range(0 if bare_pointers else len(shape)):
                yield EntryParameter(Role.STRIDE, name, dim, strides[dim])
        case ScalarArgument():
            yield EntryParameter(Role.SCALAR, name)
        case ListArgument():
            yield EntryParameter(Role.LIST_POINTER, name)
            yield EntryParameter(Role.LIST_LENGTH, name)
        case TupleArgument(items=items):
            for item in items:
                yield from _parameters(item, facts, bare_pointers)
        case ConstantArgument():
            pass


def _ones(values: Sequence[Expression]) -> tuple[int | None, ...]:
    return tuple(1 if constant_value(value) == 1 else None for value in values)


def fitting_parameters(spec: LaunchSpec, types: Sequence[str], symbol: str) -> tuple[EntryParameter, ...]:
    """The entry parameters of bytecode whose parameters have these types (Tile IR spelling, ``ptr<f32>``, ``i32``).

    Arrays take pointer, sizes and strides where that fits the types, else the pointer alone, as CUDA Tile C++
    passes them.  Raises :class:`SpecError` where neither fits.
    """
    expected = _expected_types(spec)
    full = entry_parameters(spec)
    problem = _mismatch(full, types, expected, symbol)
    if problem is None:
        return full
    bare = entry_parameters(spec, bare_pointers=True)
    other = _mismatch(bare, types, expected, symbol)
    if other is None:
        return bare
    told = other if len(bare) == len(types) != len(full) else problem
    raise spec.error(f"args: {told}")


def check_parameters(parameters: Sequence[EntryParameter], spec: LaunchSpec, types: Sequence[str]) -> str | None:
    """Why these parameters of a unit do not fit an entry with these types, or ``None``; no compiler should differ."""
    return _mismatch(parameters, types, _expected_types(spec), spec.kernel)


def _expected_types(spec: LaunchSpec) -> Mapping[str, frozenset[str]]:
    """For each array and scalar the Tile IR spellings of its element type."""
    return {
        argument.name: ELEMENT_TYPES[argument.dtype].tile_ir
        for argument in flatten(spec.arguments)
        if isinstance(argument, ArrayArgument | ScalarArgument)
    }


def _mismatch(
    parameters: Sequence[EntryParameter], types: Sequence[str], expected: Mapping[str, frozenset[str]], symbol: str
) -> str | None:
    if len(parameters) != len(types):
        taken: dict[str, int] = {}
        for parameter in parameters:
            taken[parameter.argument] = taken.get(parameter.argument, 0) + 1
        each = ", ".join(f"{name} {number}" for name, number in taken.items()) or "there are none"
        return f"the arguments fill {len(parameters)} entry parameters ({each}), but '{symbol}' has {len(types)}"
    for position, (parameter, text) in enumerate(zip(parameters, types, strict=True)):
        pointee = text.removeprefix("ptr<").removesuffix(">")
        if (parameter.role in _POINTERS) != text.startswith("ptr<"):
            fits = False
        elif parameter.role in (Role.POINTER, Role.SCALAR):
            fits = pointee in expected[parameter.argument]
        else:
            fits = parameter.role is Role.LIST_POINTER or text.startswith("i")
        if not fits:
            what = f"the {parameter.role.value} of '{parameter.argument}'"
            return f"{what} would be entry parameter {position} of '{symbol}', which has the type {text}"
    return None
