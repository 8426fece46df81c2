"""Calls of sglang's functions; each launches some kernels.

Pages, slots and requests are permutations and running sums, as sglang's allocator hands them out.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from benchmarks.real.calls import Call

FLOAT = torch.float32
HALF = torch.bfloat16


def call(path: str, *arguments: Any, **options: Any) -> Call:
    """``module:name`` below ``sglang``; what cannot be imported fails as a call."""

    def made() -> None:
        module, _, name = path.partition(":")
        getattr(importlib.import_module(f"sglang.{module}"), name)(*arguments, **options)

    return made


def launch(path: str, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> Call:
    """A kernel that a method launches, with the arguments of that method."""

    def made() -> None:
        module, _, name = path.partition(":")
        getattr(importlib.import_module(f"sglang.{module}"), name)[grid](*arguments, **constants)

    return made


def numbers(*values: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, device="cuda")


def ends(*lengths: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """Running sums from 0."""
    return torch.tensor([sum(lengths[:i]) for i in range(len(lengths) + 1)], dtype=dtype, device="cuda")


def shuffled(count: int, taken: int | None = None, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """The first ``taken`` of a permutation of ``count`` numbers."""
    return torch.randperm(count, device="cuda").to(dtype)[: count if taken is None else taken].contiguous()


def zeros(*shape: int, dtype: torch.dtype = FLOAT) -> torch.Tensor:
    return torch.zeros(*shape, dtype=dtype, device="cuda")
