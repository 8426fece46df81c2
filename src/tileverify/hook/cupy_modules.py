"""``cupy.RawModule`` of a file: kernels of Tile IR that a CuPy program loads and launches.

What CuPy compiles itself holds none: it hands the cubin of NVRTC to the driver, and NVRTC gives Tile IR apart from
that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from .cuda_core import content_of, packed_all, three_axes
from .modules import NotedEntry
from .recorder import ModuleLaunches


def install(cupy: ModuleType, launches: ModuleLaunches) -> None:
    """``cupy`` was just imported: put a module of ours in front of those that are loaded from files with Tile IR."""
    original: Callable[..., CupyModule] = cupy.RawModule

    def raw_module(*arguments: object, **named: Any) -> CupyModule:
        path = named.get("path")
        image = b"" if path is None else content_of(path)
        if not image or not launches.modules.holds_tile_ir(image):
            return original(*arguments, **named)
        real = original(*arguments, **named) if launches.runs else None
        return CupyModule(launches, launches.load(image), real)

    cupy.RawModule = raw_module  # type: ignore[attr-defined]


class CupyModule:
    """``real``: CuPy's own, where there is a GPU."""

    def __init__(self, launches: ModuleLaunches, handle: int, real: CupyModule | None) -> None:
        self._launches = launches
        self._handle = handle
        self._real = real

    def get_function(self, name: str) -> CupyFunction:
        """`ValueError` for one that the module does not have."""
        if name not in self._launches.entries(self._handle):
            raise ValueError(f"the module has no kernel {name!r}")
        real = None if self._real is None else self._real.get_function(name)
        return CupyFunction(self._launches, self._launches.kernel(self._handle, name), real)

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


class CupyFunction:
    """A kernel that is launched by calling it with grid, block and arguments."""

    def __init__(self, launches: ModuleLaunches, handle: int, real: CupyFunction | None) -> None:
        self._launches = launches
        self._handle = handle
        self._real = real

    def __call__(self, grid: Sequence[int], block: object, args: Sequence[object], **options: object) -> None:
        def arguments(entry: NotedEntry) -> list[bytes]:
            return packed_all(args)

        self._launches.launched(self._handle, three_axes(grid), arguments, "cupy")
        if self._real is not None:
            self._real(grid, block, args, **options)

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)
