"""Launches of the recorded program run by tileverify's interpreter, on the host's memory.

The interpreter comes from the tileverify that records, wherever the program's own packages lie; it needs Python 3.11
and NumPy, and is loaded with the first launch.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from .described_launch import Described
from .foreign import Grid, TileKernel, TritonSpecialisation

OLDEST = (3, 11)


class CannotInterpret(RuntimeError):
    """The program's Python is too old, or has no NumPy; or the kernel is one that host code loads."""


class HostInterpreter(Protocol):
    """`launching.on_cpu.Interpreter`."""

    def launch(self, kernel: TileKernel, grid: Grid, arguments: Sequence[object]) -> None: ...
    def launch_triton(self, made: TritonSpecialisation, grid: Grid, descriptions: Sequence[Described]) -> None: ...


class Interpreting:
    """``package``: the folder of tileverify."""

    def __init__(self, package: Path) -> None:
        self._package = package
        self._lock = threading.Lock()
        self._interpreter: HostInterpreter | None = None

    def __call__(self, kernel: TileKernel, grid: Grid, arguments: Sequence[object]) -> None:
        """Run all blocks of a launch; raises what `launching.on_cpu` raises, and `CannotInterpret`."""
        with self._lock, without_imitation():
            self._loaded().launch(kernel, grid, arguments)

    def triton(self, made: TritonSpecialisation, grid: Grid, described: Sequence[Described]) -> None:
        """The same of a ``@triton.jit`` function."""
        with self._lock, without_imitation():
            self._loaded().launch_triton(made, grid, described)

    def _loaded(self) -> HostInterpreter:
        if self._interpreter is None:
            self._interpreter = self._load()
        return self._interpreter

    def _load(self) -> HostInterpreter:
        if sys.version_info < OLDEST:
            raise CannotInterpret("interpreting launches needs Python 3.11 or newer in the program; use --no-gpu alone")
        try:
            import numpy  # noqa: F401
        except ImportError:
            raise CannotInterpret("interpreting launches needs NumPy in the program; use --no-gpu alone") from None
        if "tileverify" not in sys.modules and importlib.util.find_spec("tileverify") is None:
            _import_from(self._package)
        interpreter: HostInterpreter = importlib.import_module("tileverify.launching.on_cpu").Interpreter()
        return interpreter


def _import_from(package: Path) -> None:
    spec = importlib.util.spec_from_file_location(
        "tileverify", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tileverify"] = module
    spec.loader.exec_module(module)


def without_imitation() -> AbstractContextManager[object]:
    """Tensors say that they lie on the CPU, which a verified launch asks for."""
    torch = sys.modules.get("torch")
    around: AbstractContextManager[object] = (
        contextlib.nullcontext() if torch is None else torch._C.DisableTorchFunction()
    )
    return around
