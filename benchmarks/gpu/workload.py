"""One thing to compute, the ways to compute it, and what they have to agree with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

Compute = Callable[[], torch.Tensor]
"""Computes, and returns the tensor that holds the result (the same one each time, where the way allows)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Launches of bundles that together compute the workload: (bundle, grid, arguments) in their order."""

    name: str
    launches: tuple[tuple[str, tuple[int, ...], tuple[Any, ...]], ...]
    out: torch.Tensor


@dataclass(frozen=True, slots=True)
class Workload:
    """``work``: TB or TFLOP of one run, by ``unit``.  ``others``: other implementations by name.

    ``reference`` computes in binary64; ``tolerance`` bounds the relative error in the norm.
    """

    unit: str
    work: float
    candidates: tuple[Candidate, ...]
    others: Mapping[str, Compute]
    reference: Callable[[], torch.Tensor]
    tolerance: float
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Case:
    """``family`` is a table and a plot, ``size`` the place on its axis; ``make`` allocates, so make one at a time."""

    family: str
    size: int
    label: str
    make: Callable[[], Workload]

    @property
    def name(self) -> str:
        return f"{self.family}, {self.label}"


def relative_error(result: torch.Tensor, expected: torch.Tensor) -> float:
    """In the norm; infinite where anything is no number."""
    difference = (result.reshape(expected.shape).double() - expected).norm() / expected.norm()
    return float(difference) if bool(torch.isfinite(difference)) else float("inf")


def poisoned(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.full(shape, float("nan"), dtype=dtype, device="cuda")
