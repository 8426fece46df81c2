"""tileverify: static proof of GPU tile kernels on CUDA Tile IR bytecode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .system.version import __version__ as __version__

if TYPE_CHECKING:
    from .api import check as check
    from .api import equal as equal
    from .api import gate as gate
    from .api import graph as graph
    from .api import in_flight as in_flight
    from .api import kernel as kernel
    from .api import launch as launch
    from .api import load as load
    from .api import load_ipython_extension as load_ipython_extension
    from .api import patch as patch
    from .api import tune as tune
    from .backend.guard import LaunchRefused as LaunchRefused
    from .backend.ledger import InFlightConflict as InFlightConflict
    from .launching.bundle.manifest import BundleRefused as BundleRefused
    from .launching.optouts import UnprovedLaunch as UnprovedLaunch
    from .launching.optouts import unproved as unproved
    from .launching.optouts import unproved_launches as unproved_launches
    from .system.errors import TileVerifyError as TileVerifyError


_FACE = ("check", "equal", "gate", "graph", "in_flight", "kernel", "launch", "load", "patch", "tune")
_PLACES = {
    **dict.fromkeys(_FACE, "tileverify.api"),
    **dict.fromkeys(("UnprovedLaunch", "unproved", "unproved_launches"), "tileverify.launching.optouts"),
    "BundleRefused": "tileverify.launching.bundle.manifest",
    "InFlightConflict": "tileverify.backend.ledger",
    "LaunchRefused": "tileverify.backend.guard",
    "TileVerifyError": "tileverify.system.errors",
}
_HOOKS = {"load_ipython_extension": "tileverify.api"}  # asked for by other programs, for themselves


def __getattr__(name: str) -> object:
    # Kernels import this package for the decorator alone, so nothing else is loaded with it.
    place = _PLACES.get(name) or _HOOKS.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(place), name)
    globals()[name] = found  # asked once
    return found


def __dir__() -> list[str]:
    return sorted(("__version__", *_PLACES))
