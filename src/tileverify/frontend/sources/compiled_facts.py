"""What a compilation may take as given about an array.

As in cuda.tile's JIT: the unit stride of a contiguous last dimension, sizes of 1, divisibility by 16 (bytes for
strides), strides that are not negative, elements that do not overlap.  Unlike in the JIT, which looks at one
launch, every fact must follow from the launch spec, so that each ``assume`` in the bytecode is provable from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...contract.contiguous import strides_of
from ...contract.divisibility import ADDRESS, divisor_of, known_divisors
from ...contract.element_types import ELEMENT_TYPES
from ...contract.expressions import constant_value, substitute
from ...contract.launch import ArrayArgument, LaunchSpec, ListArgument, SameArray
from ...contract.parameters import KernelParameter
from ...contract.strides import may_overlap_itself, members
from ...system.errors import SpecError

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
