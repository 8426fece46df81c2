"""Calls of TileGym's operations whose backend is CUDA Tile C++; each call launches some kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.real.calls import HALF_TYPES, Call, backward, case, integers, normal, there_and_back
from tilegym.ops.tilecpp import autotuner

__all__ = [
    "HALF_TYPES",
    "Call",
    "backward",
    "case",
    "integers",
    "normal",
    "search_few_configurations",
    "there_and_back",
]


def search_few_configurations(count: int) -> None:
    """Of each search for the best configuration, which compiles up to 60, try so many, drawn with a fixed seed, and
    launch each once: nothing runs that could be measured."""
    search = autotuner.TileCppAutotuner.__call__

    def few(self: Any, *arguments: Any, **options: Any) -> Any:
        return search(self, *arguments, **{"max_iter": count, "seed": 0, **options})

    def launch_once(run_once: Callable[[], None], **options: Any) -> float:
        run_once()
        return 1.0

    autotuner.TileCppAutotuner.__call__ = few
    autotuner._time_ms = launch_once
