"""Tensor descriptors that the host passes: what a launch spec and Triton IR say of each.

Triton IR has the sizes (i32) and strides (i64) of a descriptor as parameters behind it.  A spec describes one argument.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

from ...contract.launch import ArrayArgument, ConstantArgument, DescriptorBlock, LaunchSpec, Name
from ...contract.spec_text import mistake_in
from ..sources.entry_launch import spec_type
from .translate import PassedDescriptor
from .ttir import DescriptorType, TritonFunction, TritonModule, TritonParameter


def passed_descriptors(module: TritonModule, kernel: str | None, spec: LaunchSpec) -> tuple[PassedDescriptor, ...]:
    """What ``spec`` says of the descriptors among the parameters of the IR.

    Raises :class:`SpecError` where the spec describes an array and the kernel takes a descriptor, or the reverse, or
    one of another block.
    """
    function = next((each for each in module.kernels if kernel in (None, each.name)), None)
    types = [] if function is None else [each.type for each in described_parameters(function)]
    passed = [each for each in spec.arguments if not isinstance(each, ConstantArgument)]
    found: list[PassedDescriptor] = []
    for argument, type in zip(passed, types, strict=False):
        described = argument.descriptor if isinstance(argument, ArrayArgument) else None
        block = type.block if isinstance(type, DescriptorType) else None
        if (described.block if described else None) != block:
            wanted = "no tensor descriptor" if block is None else f"a tensor descriptor with block = {list(block)}"
            raise mistake_in(spec, f"args.{argument.name}: '{spec.kernel}' takes {wanted}")
        if described is not None:
            assert isinstance(argument, ArrayArgument)
            found.append(PassedDescriptor(argument.index_bits, described.nan))
    return tuple(found)


def entry_names(function: TritonFunction, names: Sequence[str]) -> tuple[list[str], dict[str, ArrayArgument]]:
    """The names of the entry's parameters, and the tensor descriptors among those of the kernel, which have ``names``.

    Sizes of a descriptor that nobody describes are called after it; its array is contiguous.
    """
    found: list[str] = []
    described: dict[str, ArrayArgument] = {}
    for name, parameter in zip(names, described_parameters(function), strict=True):
        found.append(name)
        type = parameter.type
        if isinstance(type, DescriptorType):
            axes = range(len(type.block))
            found += [f"{name}.{part}[{axis}]" for part in ("shape", "strides") for axis in axes]
            element = spec_type(type.element.name) or type.element.name
            dtype = f"u{type.element.bits}" if type.unsigned else element
            shape = tuple(Name(f"{name}_{axis}") for axis in axes)
            described[name] = ArrayArgument(name, dtype, shape, descriptor=DescriptorBlock(type.block))
    return found, described


def described_parameters(function: TritonFunction) -> Iterator[TritonParameter]:
    """The parameters that a spec describes: the sizes and strides of a descriptor come with it."""
    rest = iter(function.parameters)
    for parameter in rest:
        yield parameter
        if isinstance(parameter.type, DescriptorType):
            deque(islice(rest, 2 * len(parameter.type.block)), maxlen=0)
