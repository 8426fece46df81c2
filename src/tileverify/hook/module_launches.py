"""Kernels of modules that host code loads, and their launches, whichever package it asks for them.

A module and a kernel are known by the numbers that the driver gave them.  Kernels without Tile IR are nobody's concern.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .interpreting import CannotInterpret
from .modules import Modules, NotedEntry, TileModule
from .packed_arguments import described
from .pointer_owners import PointerOwners
from .recorder import Recorder

_FIRST_HANDLE = 0x7E000000
"""Where numbers begin that stand for what a driver would give: no address that a program has."""


@dataclass
class ModuleLaunches:
    """What the process has loaded and launched.  ``runs``: on a GPU, else launches end here; ``results_matter``: then
    they are refused instead."""

    recorder: Recorder
    modules: Modules
    owners: PointerOwners
    runs: bool
    results_matter: bool = False
    _loaded: dict[int, TileModule | None] = field(default_factory=dict)
    _kernels: dict[int, tuple[int, str]] = field(default_factory=dict)
    _handles: itertools.count[int] = field(default_factory=lambda: itertools.count(_FIRST_HANDLE))

    def load(self, image: bytes, handle: int | None = None) -> int:
        """A module was loaded from ``image``; the driver called it ``handle``, or a number of ours stands for it."""
        number = next(self._handles) if handle is None else handle
        try:
            self._loaded[number] = self.modules.of_image(image)
        except ValueError as error:
            self.recorder.entry_failed(None, error)
            self._loaded[number] = None
        return number

    def same_module(self, handle: int, other: int) -> None:
        """``other`` is what the driver calls a loaded module elsewhere."""
        if handle in self._loaded:
            self._loaded[other] = self._loaded[handle]

    def holds_tile_ir(self, image: bytes) -> bool:
        return self.modules.holds_tile_ir(image)

    def entries(self, handle: int) -> dict[str, NotedEntry]:
        """Of a loaded module, by symbol; none where it holds no Tile IR."""
        module = self._loaded.get(handle)
        return {} if module is None else module.entries

    def kernel(self, module: int, symbol: str, handle: int | None = None) -> int:
        """The kernel ``symbol`` of a loaded module was asked for; numbered as modules are, once."""
        if handle is None:
            known = (number for number, kernel in self._kernels.items() if kernel == (module, symbol))
            handle = next(known, None)
        number = next(self._handles) if handle is None else handle
        self._kernels[number] = (module, symbol)
        return number

    def same_kernel(self, handle: int, other: int) -> None:
        """``other`` is what the driver calls a known kernel elsewhere."""
        if handle in self._kernels:
            self._kernels[other] = self._kernels[handle]

    def symbol(self, kernel: int) -> str | None:
        """``None`` for a kernel that is not known."""
        known = self._kernels.get(kernel)
        return None if known is None else known[1]

    def entry(self, kernel: int) -> NotedEntry | None:
        """``None`` for a kernel without Tile IR."""
        known = self._kernels.get(kernel)
        return None if known is None else self.entries(known[0]).get(known[1])

    def launched(
        self, kernel: int, grid: Sequence[int], arguments: Callable[[NotedEntry], Sequence[bytes]], how: str
    ) -> None:
        """Record the launch; what cannot be written down is noted, and never stops the program.

        Raises `CannotInterpret` where results are asked for, and nothing runs the kernel.
        """
        entry = self.entry(kernel)
        module = self._loaded.get(self._kernels[kernel][0]) if entry is not None else None
        if entry is None or module is None:
            return
        try:
            found, arrays = described(entry["parameters"], arguments(entry), self.owners)
            self.recorder.entry_launch(module, entry, grid, found, arrays, how)
        except Exception as error:
            self.recorder.entry_failed(entry, error)
        if self.results_matter:
            raise CannotInterpret(
                f"record --interpret does not run {entry['name']}, a kernel that host code loads; use --no-gpu alone"
            )
