"""Kernels without a launch spec."""

from __future__ import annotations

from ...errors import SourceError
from .cutile import CutileKernel
from .launch import KernelUnit
from .parameters import KernelParameter


def infer_unit(kernel: CutileKernel) -> KernelUnit:
    """A unit for a kernel that nobody wrote a spec for; :class:`SourceError` with a skeleton where that fails."""
    raise give_up(kernel, "it has no launch spec")


def give_up(kernel: CutileKernel, reason: str) -> SourceError:
    """The error that shows the spec to write."""
    stem = kernel.file.stem
    return SourceError(
        f"'{kernel.name}': {reason}; describe a launch in {stem}.tileverify.toml, for example:\n{skeleton(kernel)}",
        str(kernel.file),
        kernel.line,
    )


def skeleton(kernel: CutileKernel) -> str:
    """A launch spec for the kernel with guesses to be corrected."""
    lines = ["[[launch]]", f'kernel = "{kernel.name}"', "[launch.args]"]
    return "\n".join([*lines, *(f"{p.name} = {_guess(p)}" for p in kernel.parameters)])


def _guess(parameter: KernelParameter) -> str:
    if parameter.constant:
        return "128"
    return f'"{parameter.scalar_dtype}"' if parameter.scalar_dtype else '"f32[M, N]"'
