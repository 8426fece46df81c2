"""The cubin of a bundle launched past everything that guards it: the driver's own call, parameters packed once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cuda.bindings import driver

from tileverify.contract.launch import Role

if TYPE_CHECKING:
    import torch

    from tileverify.launching.bundled import BundledKernel

INTEGERS = {"i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64}


def bare_launch(
    kernel: BundledKernel, architecture: str, stream: torch.cuda.Stream, grid: Sequence[int], arguments: Sequence[Any]
) -> Callable[[], None]:
    """A function that launches; arguments are not looked at."""
    bundle = kernel.bundle
    library = called(driver.cuLibraryLoadData(bundle.cubins[architecture].code, [], [], 0, [], [], 0))
    entry = called(driver.cuLibraryGetKernel(library, bundle.certificate.symbol.encode()))
    function = called(driver.cuKernelGetFunction(entry))
    names = [each.name for each in kernel.guard.order]
    values, types = packed(
        bundle.certificate.parameters, bundle.parameter_types, dict(zip(names, arguments, strict=True))
    )
    axes, handle = (*grid, 1, 1)[:3], driver.CUstream(stream.cuda_stream)

    def launch() -> None:
        called(driver.cuLaunchKernel(function, *axes, 1, 1, 1, 0, handle, (values, types), 0))

    return launch


def packed(parameters: Sequence[Any], types: Sequence[str], named: dict[str, Any]) -> tuple[tuple[Any, ...], ...]:
    """Values and C types of an entry's parameters, in ABI order."""
    values: list[Any] = []
    ctypes_of: list[Any] = []
    for parameter, type_ in zip(parameters, types, strict=True):
        argument = named[parameter.argument]
        if parameter.role is Role.POINTER:
            values.append(argument.data_ptr())
            ctypes_of.append(ctypes.c_void_p)
            continue
        element = type_.removeprefix("tile<").removesuffix(">")
        if parameter.role is Role.SHAPE:
            values.append(argument.shape[parameter.dim])
        elif parameter.role is Role.STRIDE:
            values.append(argument.stride(parameter.dim))
        else:
            assert parameter.role is Role.SCALAR, "no lists here"
            values.append(argument)
        ctypes_of.append(ctypes.c_float if element == "f32" else INTEGERS[element])
    return tuple(values), tuple(ctypes_of)


def called(result: tuple[Any, ...]) -> Any:
    status, *rest = result
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the CUDA driver says {status.name}")
    return rest[0] if rest else None
