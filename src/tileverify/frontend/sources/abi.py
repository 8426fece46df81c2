"""The entry parameters that the arguments of a launch fill, in ABI order.

cuTile (and whoever follows its calling convention) passes an array as its pointer, sizes and strides, a list as its
pointer and length (of plain addresses the pointer alone), a scalar as one value, flattens tuples and leaves constants
out.  CUDA Tile C++ passes an array as its pointer alone.  cuTile Rust passes behind an output's strides its tile and
once more as many strides; kernels leave these to its wrapper, which does not read them either, and what one that does
would find there is not known.  A tensor descriptor of Triton is its pointer, sizes and strides, whatever the arrays
beside it are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...contract.allowed import equal_store_arrays
from ...contract.element_types import ELEMENT_TYPES, LENGTH_BITS
from ...contract.expressions import constant_value, substitute
from ...contract.launch import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    EntryParameter,
    Expression,
    KernelParameter,
    LaunchSpec,
    ListArgument,
    Role,
    SameArray,
    ScalarArgument,
    TupleArgument,
    strides_of,
)
from ...contract.scope import ADDRESS, divisor_of, flatten, known_divisors
from ...contract.spec_text import mistake_in
from ...contract.strides import may_overlap_itself, members
from ...contract.trustable import ASSERT_STOPS
from ...system.errors import SpecError
from ..bytecode.model import Entry, PointerType, ScalarType
from .foreign_calls import with_declared_calls


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
            bare = bare_pointers and argument.partition is None and argument.descriptor is None
            for dim in range(0 if bare else len(shape)):
                yield EntryParameter(Role.SHAPE, name, dim, sizes[dim])
            for dim in range(0 if bare else len(shape)):
                yield EntryParameter(Role.STRIDE, name, dim, strides[dim])
            for dim, tile in enumerate((*argument.partition, *argument.partition) if argument.partition else ()):
                yield EntryParameter(Role.PARTITION, name, dim, tile if dim < len(shape) else None)
        case ScalarArgument():
            yield EntryParameter(Role.SCALAR, name)
        case ListArgument(addresses=True):
            yield EntryParameter(Role.ADDRESSES, name)
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


def entry_types(entry: Entry) -> tuple[str, ...]:
    """The types of an entry's parameters, which are tiles without dimensions: ``ptr<f32>``, ``i32``."""
    return tuple(_type_text(parameter.type.element) for parameter in entry.parameters)  # type: ignore[union-attr]


def _type_text(element: ScalarType | PointerType) -> str:
    return f"ptr<{element.pointee.name}>" if isinstance(element, PointerType) else element.name


def fitting_parameters(spec: LaunchSpec, types: Sequence[str], symbol: str) -> tuple[EntryParameter, ...]:
    """The entry parameters of bytecode whose parameters have these types (`entry_types`).

    Arrays take pointer, sizes and strides where that fits the types, else the pointer alone, as CUDA Tile C++
    passes them.  Raises :class:`SpecError` where neither fits.
    """
    full = entry_parameters(spec)
    problem = mismatch(full, spec, types, symbol)
    if problem is None:
        return full
    bare = entry_parameters(spec, bare_pointers=True)
    other = mismatch(bare, spec, types, symbol)
    if other is None:
        return bare
    told = other if len(bare) == len(types) != len(full) else problem
    raise mistake_in(spec, f"args: {told}")


def mismatch(parameters: Sequence[EntryParameter], spec: LaunchSpec, types: Sequence[str], symbol: str) -> str | None:
    """Why these parameters do not fit an entry with these types (`entry_types`); ``None`` if they do.

    This is where a contract and bytecode meet, so that both mean the same bits: a size or stride is passed in the
    width that the contract says (``index=i64``), a list's length in 32 bits, a scalar in its own type.  Prover, guard
    and packer all take those widths for granted; whoever brings a contract and bytecode together must ask here.
    """
    if len(parameters) != len(types):
        taken: dict[str, int] = {}
        for parameter in parameters:
            taken[parameter.argument] = taken.get(parameter.argument, 0) + 1
        each = ", ".join(f"{name} {number}" for name, number in taken.items()) or "there are none"
        return f"the arguments fill {len(parameters)} entry parameters ({each}), but '{symbol}' has {len(types)}"
    described = {argument.name: argument for argument in flatten(spec.arguments)}
    for position, (parameter, text) in enumerate(zip(parameters, types, strict=True)):
        fitting = _fitting_types(parameter, described.get(parameter.argument))
        if text not in fitting:
            number = "" if parameter.dim is None else f" {parameter.dim}"
            what = f"the {parameter.role.value}{number} of '{parameter.argument}'"
            wanted = " or ".join(sorted(fitting)) or "no such parameter"
            return (
                f"{what} would be entry parameter {position} of '{symbol}', which has the type {text}, but the launch"
                f" passes {wanted}{_hint(parameter, text)}"
            )
    return None


def _fitting_types(parameter: EntryParameter, argument: Argument | None) -> frozenset[str]:
    """The types that a parameter may have in bytecode."""
    match parameter.role, argument:
        case Role.POINTER, ArrayArgument(dtype=dtype):
            return frozenset(f"ptr<{name}>" for name in ELEMENT_TYPES[dtype].tile_ir)
        case ((Role.SHAPE | Role.STRIDE), ArrayArgument(index_bits=bits)):
            return frozenset({f"i{bits}"})
        case Role.PARTITION, ArrayArgument():
            return frozenset({"i32"})
        case Role.SCALAR, ScalarArgument(dtype=dtype):
            return ELEMENT_TYPES[dtype].tile_ir
        case ((Role.LIST_POINTER | Role.ADDRESSES), ListArgument()):
            return frozenset({"ptr<i64>"})
        case Role.LIST_LENGTH, ListArgument():
            return frozenset({f"i{LENGTH_BITS}"})
    return frozenset()


def _hint(parameter: EntryParameter, text: str) -> str:
    """How the launch would say that a size or stride is as wide as the bytecode takes it."""
    if parameter.role not in (Role.SHAPE, Role.STRIDE):
        return ""
    if text == "i64":
        return f"; describe '{parameter.argument}' with index=i64"
    return f"; leave index=i64 out of '{parameter.argument}'" if text == "i32" else ""


# ------------------------------------------------------------------------------------------------------- compiled facts
# What a compilation may take as given about an array.
#
# As in cuda.tile's JIT: the unit stride of a contiguous last dimension, sizes of 1, divisibility by 16 (bytes for
# strides), strides that are not negative, elements that do not overlap.  Unlike in the JIT, which looks at one
# launch, every fact must follow from the launch spec, so that each ``assume`` in the bytecode is provable from it.


_DIVISOR = 16
_PLAIN = KernelParameter("")


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """Per dimension: compiled-in sizes and strides (in elements), and what divides the others (1: nothing known)."""

    shape_constant: tuple[int | None, ...]
    stride_constant: tuple[int | None, ...]
    shape_divisible_by: tuple[int, ...]
    stride_divisible_by: tuple[int, ...]
    may_alias_internally: bool
    address_divisible_by: int = 1


def array_facts(
    array: ArrayArgument, parameter: KernelParameter = _PLAIN, divisors: Mapping[str, int] | None = None
) -> ArrayFacts:
    """The facts for one array argument; :class:`SpecError` where an annotation needs a number the spec lacks."""
    rank = len(array.shape)
    strides = strides_of(array)
    sizes = [constant_value(size) for size in array.shape]
    numeric_strides = [constant_value(stride) for stride in strides]
    static_shape = _axes(array.name, "static_shape_dims", parameter.static_shape, rank)
    static_strides = _axes(array.name, "static_stride_dims", parameter.static_strides, rank)
    for what, axes, values in (("size", static_shape, sizes), ("stride", static_strides, numeric_strides)):
        for dim in axes:
            if values[dim] is None:
                raise SpecError(
                    f"the kernel compiles {what} {dim} of '{array.name}' in, so the spec must give a number"
                )
    shape_constant = tuple(size if size == 1 or dim in static_shape else None for dim, size in enumerate(sizes))
    # An annotation that lists static strides is the only source of them: the JIT then infers no unit stride.
    compiled = static_strides or {dim for dim in range(rank)[-1:] if numeric_strides[dim] == 1}
    stride_constant = tuple(stride if dim in compiled else None for dim, stride in enumerate(numeric_strides))
    known = divisors or {}
    step = max(1, _DIVISOR * 8 // ELEMENT_TYPES[array.dtype].bits)
    return ArrayFacts(
        shape_constant=shape_constant,
        stride_constant=stride_constant,
        shape_divisible_by=tuple(
            _DIVISOR if fixed is None and divisor_of(size, known) % _DIVISOR == 0 else 1
            for fixed, size in zip(shape_constant, array.shape, strict=True)
        ),
        stride_divisible_by=tuple(
            step if fixed is None and divisor_of(stride, known) % step == 0 else 1
            for fixed, stride in zip(stride_constant, strides, strict=True)
        ),
        may_alias_internally=may_overlap_itself(array),
        address_divisible_by=_DIVISOR if known.get(f"{array.name}{ADDRESS}", 1) % _DIVISOR == 0 else 1,
    )


def element_facts(listed: ListArgument, divisors: Mapping[str, int]) -> ArrayFacts:
    """The facts for the arrays of a list: the unit stride, and what is required of each array; what its description
    gives in numbers is not compiled in, for each has a descriptor of its own in memory."""
    array = listed.element
    plain, nones = array_facts(array), (None,) * len(array.shape)

    def step(word: str, divisor: int) -> int:
        return divisor if divisors.get(f"{listed.name}.{word}", 1) % divisor == 0 else 1

    wide = max(1, _DIVISOR * 8 // ELEMENT_TYPES[array.dtype].bits)
    strides = (step(f"strides[{dim}]", wide) if fixed is None else 1 for dim, fixed in enumerate(plain.stride_constant))
    return ArrayFacts(
        shape_constant=nones,
        stride_constant=plain.stride_constant,
        shape_divisible_by=tuple(step(f"shape[{dim}]", _DIVISOR) for dim in range(len(array.shape))),
        stride_divisible_by=tuple(strides),
        may_alias_internally=plain.may_alias_internally,
        address_divisible_by=step("address", _DIVISOR),
    )


def _axes(name: str, field: str, dims: tuple[int, ...], rank: int) -> set[int]:
    for dim in dims:
        if not -rank <= dim < rank:
            raise SpecError(f"the kernel's {field} names dimension {dim}, but '{name}' has rank {rank} in the spec")
    return {dim % rank for dim in dims}


def spec_divisors(spec: LaunchSpec) -> dict[str, int]:
    """What the facts of a spec say about the divisors of its names."""
    known = members(spec.arrays())
    return known_divisors(substitute(fact, known) for fact in spec.requires if not isinstance(fact, SameArray))


# ------------------------------------------------------------------------------------------------------------- trusting
# An entry as a launch takes it: with what its contract trusts beyond the specification (`contract.trustable`).


def under_contract(entry: Entry, launch: LaunchSpec, parameters: Sequence[EntryParameter]) -> Entry:
    """``entry`` for whoever executes it, by terms or by numbers; the entry itself where ``launch`` adds nothing."""
    equal = equal_store_arrays(launch.allow)
    entry = under_trust(entry, launch.trust)
    entry = with_declared_calls(entry, launch.calls, parameters) if launch.calls else entry
    return replace(entry, equal_stores=equal) if equal else entry


def under_trust(entry: Entry, trust: Collection[str]) -> Entry:
    """``entry`` where these words are trusted."""
    return replace(entry, asserts_stop=True) if ASSERT_STOPS in trust else entry
