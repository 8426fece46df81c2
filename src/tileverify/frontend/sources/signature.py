"""From a launch spec to the signature that cuda.tile compiles a kernel for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    LaunchSpec,
    ListArgument,
    ScalarArgument,
    TupleArgument,
)
from ...contract.parameters import KernelParameter
from ...system.errors import SpecError
from .compiled_facts import ArrayFacts, array_facts, element_facts, spec_divisors


def compiled_array_facts(spec: LaunchSpec, parameters: Sequence[KernelParameter]) -> dict[str, ArrayFacts]:
    """What is compiled in for every array (by name; a list's name stands for its elements)."""
    divisors = spec_divisors(spec)
    facts: dict[str, ArrayFacts] = {}

    def collect(argument: Argument, parameter: KernelParameter | None) -> None:
        match argument:
            case ArrayArgument(name=name):
                facts[name] = array_facts(argument, parameter or KernelParameter(name), divisors)
            case ListArgument(name=name):
                facts[name] = element_facts(argument, divisors)
            case TupleArgument(items=items):
                for index, item in enumerate(items):
                    collect(item, parameter.item(index) if parameter else None)

    for argument, parameter in zip(spec.arguments, parameters, strict=True):
        collect(argument, parameter)
    return facts


def kernel_signature(spec: LaunchSpec, facts: Mapping[str, ArrayFacts], symbol: str) -> Any:
    """The ``cuda.tile.compilation.KernelSignature`` of a spec.

    Alias groups come from ``alias`` alone: of an ``overlap`` the compiler is not told, as in the JIT.
    """
    from cuda.tile.compilation import CallingConvention, KernelSignature

    groups: dict[str, tuple[str, ...]] = {}
    for number, group in enumerate(spec.alias):
        for name in sorted(group):
            groups[name] = (*groups.get(name, ()), f"alias{number}")
    constraints = [_constraint(argument, facts, groups) for argument in spec.arguments]
    return KernelSignature(constraints, CallingConvention.cutile_python_v2(), symbol)


def _constraint(argument: Argument, facts: Mapping[str, ArrayFacts], groups: Mapping[str, tuple[str, ...]]) -> Any:
    from cuda.tile.compilation import ListConstraint, ScalarConstraint, TupleConstraint

    match argument:
        case ArrayArgument(name=name):
            return _array_constraint(argument, facts[name], groups.get(name, ()))
        case ScalarArgument(dtype=dtype):
            return ScalarConstraint(_data_type(dtype))
        case ConstantArgument(name=name, value=value):
            return _constant_constraint(name, value)
        case ListArgument(name=name, element=element):
            constraint = _array_constraint(element, facts[name], groups.get(name, ()))
            return ListConstraint(constraint, alias_groups=(), elements_may_alias=True)
        case TupleArgument(items=items, fields=None):
            return TupleConstraint([_constraint(item, facts, groups) for item in items])
        case TupleArgument(name=name):
            raise SpecError(f"'{name}' is a dataclass, which this version of cuda-tile cannot take as a parameter")


def _array_constraint(array: ArrayArgument, facts: ArrayFacts, groups: tuple[str, ...]) -> Any:
    import cuda.tile
    from cuda.tile.compilation import ArrayConstraint

    return ArrayConstraint(
        _data_type(array.dtype),
        len(array.shape),
        index_dtype=cuda.tile.int64 if array.index_bits == 64 else cuda.tile.int32,
        stride_lower_bound_incl=0,
        alias_groups=groups,
        may_alias_internally=facts.may_alias_internally,
        stride_constant=facts.stride_constant,
        shape_constant=facts.shape_constant,
        stride_divisible_by=facts.stride_divisible_by,
        shape_divisible_by=facts.shape_divisible_by,
        base_addr_divisible_by=facts.address_divisible_by,
    )


def _constant_constraint(name: str, value: Any) -> Any:
    import cuda.tile
    from cuda.tile.compilation import ConstantConstraint, TupleConstraint

    if isinstance(value, tuple):
        return TupleConstraint([_constant_constraint(f"{name}[{i}]", item) for i, item in enumerate(value)])
    if isinstance(value, str) and value.startswith("ct."):
        data_type = getattr(cuda.tile, value.removeprefix("ct."), None)
        if not isinstance(data_type, cuda.tile.DType):
            raise SpecError(f"constant '{name}': cuda.tile has no data type '{value}'")
        value = data_type
    try:
        return ConstantConstraint(value)
    except TypeError:
        raise SpecError(
            f"constant '{name}': this version of cuda-tile takes only bool, int and float constants, not {value!r}"
        ) from None


def _data_type(name: str) -> Any:
    import cuda.tile

    return getattr(cuda.tile, ELEMENT_TYPES[name].cutile)
