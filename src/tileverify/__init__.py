"""tileverify: static proof of GPU tile kernels on CUDA Tile IR bytecode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import graph as graph
    from .api import in_flight as in_flight
    from .api import kernel as kernel
    from .api import launch as launch
    from .api import load as load
    from .api import patch as patch
    from .api import tune as tune
    from .api import unproved as unproved
    from .api import unproved_launches as unproved_launches
    from .backend.launch import LaunchRefused as LaunchRefused

__version__ = "0.1.0"

_API = ("graph", "in_flight", "kernel", "launch", "load", "patch", "tune", "unproved", "unproved_launches")


def __getattr__(name: str) -> Any:
    # Kernels import this package for the decorator alone, so nothing else is loaded with it.
    if name in _API:
        from . import api

        found = getattr(api, name)
    elif name == "LaunchRefused":
        from .backend.launch import LaunchRefused

        found = LaunchRefused
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found  # asked once
    return found
