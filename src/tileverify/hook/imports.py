"""Run a callback right after a module was imported, whenever the program does so."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

Callback = Callable[[ModuleType], None]


class AfterImport:
    """A finder at the head of ``sys.meta_path`` that finds nothing itself but adds a callback to what others find."""

    def __init__(self) -> None:
        self._callbacks: dict[str, list[Callback]] = {}

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def call(self, name: str, callback: Callback) -> None:
        """Call ``callback(module)`` once module ``name`` has been executed; at once if it has been already."""
        if name in sys.modules:
            callback(sys.modules[name])
        else:
            self._callbacks.setdefault(name, []).append(callback)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._callbacks:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                self._wrap(spec.loader, name)
                return spec
        return None

    def _wrap(self, loader: object, name: str) -> None:
        execute = loader.exec_module  # type: ignore[attr-defined]

        def exec_module(module: ModuleType) -> None:
            execute(module)
            for callback in self._callbacks.pop(name, ()):
                callback(module)

        loader.exec_module = exec_module  # type: ignore[attr-defined]
