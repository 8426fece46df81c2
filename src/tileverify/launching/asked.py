"""A launch as a program asks for it: its arguments are looked at once, and nothing is decided yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..backend.gpu import driver
from ..backend.guard.arguments import Grid, Value
from ..contract.launch import KernelUnit, LaunchSpec
from ..hook.described_launch import Described
from ..hook.foreign import JitSignature
from ..hook.launch_hooks import numpy_as_cuda
from . import calls, on_cpu
from .arguments import device_of
from .calls import Kernel
from .contents import Contents, contents_of
from .given import Arguments, Stream
from .options import LaunchOptions


@dataclass(frozen=True, slots=True)
class Asked:
    """``signature``: what cuda.tile compiles for these arguments.  ``named``: what a guard is told of them.

    ``device``: the GPU that they lie on, ``None`` for the host's memory.
    """

    kernel: Kernel
    signature: JitSignature
    descriptions: Sequence[Described]
    named: Mapping[str, Value]
    contents: Contents
    device: int | None
    said: LaunchOptions

    @classmethod
    def of(cls, kernel: Kernel, arguments: Arguments, said: LaunchOptions, stream: Stream) -> Asked:
        """Raises `UsageError` and `LaunchRefused` for arguments that make no launch."""
        given = tuple(map(on_cpu.host_arrays, arguments))
        on_host = on_cpu.lies_on_host(kernel.name, given)
        seen = tuple(map(numpy_as_cuda, given))
        signature = calls.signature_of(kernel, seen)
        descriptions = calls.described(seen, signature)
        named = dict(calls.named_values(kernel.parameters, descriptions))
        arrays = (array for _, array in calls.named_arrays(kernel.parameters, descriptions))
        device = None if on_host else device_of(kernel.name, arrays)
        return cls(kernel, signature, descriptions, named, contents_of(named, on_host, stream), device, said)

    @property
    def architecture(self) -> str | None:
        """Of its GPU."""
        return None if self.device is None else driver.architecture(self.device)

    def spec(self, axes: Grid | None) -> LaunchSpec:
        """The launch with its own numbers as its contract; any grid for ``None``."""
        data = (*self.kernel.facts(), *self.said.data)
        return calls.spec_of(self.kernel, self.descriptions, self.contents, data, self.said.vouch, axes)

    def compiled(self, axes: Grid | None) -> KernelUnit:
        """The kernel for it, under that contract."""
        return calls.compiled(self.kernel, self.signature, self.spec(axes), self.architecture)
