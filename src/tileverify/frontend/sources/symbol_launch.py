"""A launch spec from a symbol that cuTile mangled: the symbol says what every parameter of the kernel was.

Names, sizes and grid stay unknown, so the parameters are called ``p0``, ``p1``, ... by their position and their
sizes ``p0_0``, ``p0_1``, ...  Divisibility and alignment in the symbol are promises of the launch that it was compiled
for; they are no part of the spec.
"""

from __future__ import annotations

from typing import Any

from ...contract.descriptions import print_description
from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import (
    INFERRED,
    Argument,
    ArrayArgument,
    Expression,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    ScalarArgument,
    TupleArgument,
)

_NAMES = {element.cutile: element.name for element in ELEMENT_TYPES.values()}


class _Unknown(Exception):
    """The symbol speaks of something that launch specs have no words for."""


def is_mangled(symbol: str) -> bool:
    """Whether cuTile made the symbol of a kernel's name and signature."""
    return "_Kt" in symbol


def launch_of_symbol(symbol: str, kernel: str) -> LaunchSpec | None:
    """The launch that a mangled symbol describes, or ``None`` for any other symbol or without cuda.tile."""
    if not is_mangled(symbol):
        return None
    try:
        from cuda.tile.compilation import demangle_kernel_name

        _, signature = demangle_kernel_name(symbol)
        arguments = [_argument(f"p{i}", constraint) for i, constraint in enumerate(signature.parameters)]
    except (ImportError, ValueError, TypeError, _Unknown):
        return None
    known = tuple(argument for argument in arguments if argument is not None)
    written = "; ".join(f"{argument.name} = {print_description(argument)}" for argument in known)
    return LaunchSpec(
        kernel=kernel,
        name=INFERRED,
        arguments=known,
        origin="inferred",
        notes=(f"no launch spec: the symbol says {written or 'no arguments'}; any grid",),
    )


def _argument(name: str, constraint: Any) -> Argument | None:
    """The argument, or ``None`` for a constant, which takes no parameter of the entry."""
    match type(constraint).__name__:
        case "ConstantConstraint":
            return None
        case "ScalarConstraint":
            return ScalarArgument(name, _element_type(constraint.dtype))
        case "ArrayConstraint":
            return _array(name, constraint)
        case "ListConstraint":
            return ListArgument(name, _array(name, constraint.element), Name(f"{name}_length"))
        case "TupleConstraint":
            items = [_argument(f"{name}[{i}]", item) for i, item in enumerate(constraint.items)]
            return TupleArgument(name, tuple(item for item in items if item is not None))
    raise _Unknown


def _array(name: str, constraint: Any) -> ArrayArgument:
    """Row-major where the last stride alone was compiled in, as 1; other strides get names."""
    if constraint.alias_groups or constraint.may_alias_internally:
        raise _Unknown
    plain = name.replace("[", "_").replace("]", "")

    def named(stem: str, values: tuple[int | None, ...]) -> tuple[Expression, ...]:
        return tuple(Name(f"{stem}{dim}") if value is None else Number(value) for dim, value in enumerate(values))

    strides = constraint.stride_constant
    contiguous = strides in ((), (*[None] * (len(strides) - 1), 1))
    return ArrayArgument(
        name,
        _element_type(constraint.dtype),
        named(f"{plain}_", constraint.shape_constant),
        None if contiguous else named(f"{plain}_stride", strides),
        constraint.index_dtype.bitwidth,
    )


def _element_type(dtype: Any) -> str:
    if dtype.name not in _NAMES:
        raise _Unknown
    return _NAMES[dtype.name]
