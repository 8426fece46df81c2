"""tileverify: static proof of GPU tile kernels on CUDA Tile IR bytecode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .frontend.sources.decorator import launch as launch

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Kernels import this package for the decorator alone, so nothing else is loaded with it.
    if name == "launch":
        from .frontend.sources.decorator import launch

        return launch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
