"""Calls of TileGym's operations, grouped by the part of the library; each call launches some kernels."""

from __future__ import annotations

from benchmarks.real.calls import (
    DEVICE,
    HALF_TYPES,
    Call,
    backward,
    case,
    integers,
    normal,
    there_and_back,
)

__all__ = ["DEVICE", "HALF_TYPES", "Call", "backward", "case", "integers", "normal", "there_and_back"]
