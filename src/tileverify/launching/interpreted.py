"""Launches without a GPU and without a proof: what ``cuda.tile`` would compile, run by the interpreter on host arrays.

Programs that are recorded or tested without a GPU get the results that they wait for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..backend.guard import ArrayValue
from ..backend.guard.arguments import Value
from ..contract.launch import KernelUnit
from ..hook.launch_hooks import host_as_cuda
from ..system.errors import UsageError
from . import calls, on_cpu
from .arguments import span
from .given import Arguments, GivenGrid, Key


@dataclass
class Interpreter:
    """Kernels are compiled once for each signature."""

    _units: dict[Key, KernelUnit] = field(default_factory=dict)

    def launch(self, kernel: object, grid: GivenGrid, arguments: Arguments) -> None:
        """Run all blocks in the order of their ids.

        Raises `UsageError` for what cannot be launched, `SourceError` for what does not compile, and
        `on_cpu.RunStopped` where a block cannot go on.
        """
        known = calls.Kernel.of(kernel)
        seen = tuple(map(host_as_cuda, arguments))
        signature = calls.signature_of(known, seen)
        descriptions = calls.described(seen, signature)
        named = dict(calls.named_values(known.parameters, descriptions))
        lists = dict(calls.lists_of(known.parameters, descriptions))
        _in_memory(known.name, [*named.values(), *(array for of in lists.values() for array in of)])
        axes = calls.grid_of(grid)
        spec = calls.spec_of(known, descriptions, {}, (), False, axes)
        key = (known.object._annotated_function.pyfunc, repr(known.object._compiler_options), signature.symbol)
        if key not in self._units:
            self._units[key] = calls.compiled(known, signature, spec)
        on_cpu.run(replace(self._units[key], launch=spec), tuple(named.values()), lists, axes)


def _in_memory(kernel: str, values: Iterable[Value]) -> None:
    """Raises `UsageError` for an array that no memory of this process belongs to; looks where the system can be asked.

    An array may say that it lies on a GPU where there is none.
    """
    if not sys.platform.startswith("linux"):
        return
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for array in values:
            if isinstance(array, ArrayValue) and 0 not in array.shape:
                low, high = span(array)
                try:
                    for address in (low, high - 1):
                        memory.seek(address)
                        memory.read(1)
                except (OSError, ValueError, OverflowError):
                    raise UsageError(
                        f"'{kernel}' cannot be interpreted: an array at {low:#x} is not in this program's memory"
                    ) from None
