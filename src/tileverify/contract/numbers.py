"""The numbers of a launch by the names that facts and clauses have for them."""

from __future__ import annotations

from collections.abc import Iterator

from .contiguous import strides_of
from .element_types import INT_BITS
from .expressions import constant_value
from .launch import Argument, LaunchSpec, ScalarArgument, TupleArgument


def numbers_of(launch: LaunchSpec) -> dict[str, int]:
    """``x.shape[0]``, ``x.strides[0]`` and integer scalars where the launch gives them as numbers."""
    found: dict[str, int | None] = {}
    for array in launch.arrays():
        found |= {f"{array.name}.shape[{d}]": constant_value(size) for d, size in enumerate(array.shape)}
        found |= {f"{array.name}.strides[{d}]": constant_value(step) for d, step in enumerate(strides_of(array))}
    found |= {s.name: None if s.value is None else constant_value(s.value) for s in scalars_of(launch)}
    return {name: number for name, number in found.items() if number is not None}


def scalars_of(launch: LaunchSpec) -> Iterator[ScalarArgument]:
    """The integer scalars of a launch, also in tuples."""
    stack: list[Argument] = list(reversed(launch.arguments))
    while stack:
        argument = stack.pop()
        if isinstance(argument, TupleArgument):
            stack.extend(reversed(argument.items))
        elif isinstance(argument, ScalarArgument) and argument.dtype in INT_BITS and argument.dtype != "bool":
            yield argument
