"""Functions of torch as references: how near a result has to come, and how it is computed with its gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TYPES = (torch.float32, torch.float16, torch.bfloat16)
CLOSE = {torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""Relative to the larger of 1 and the number; or twice what torch's own error is in that type."""


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def largest_of(arguments: Iterable[Any]) -> int:
    """Elements of the largest tensor, also of lists."""
    tensors = (one for each in arguments for one in (each if isinstance(each, list) else [each]))
    return max((each.numel() for each in tensors if isinstance(each, torch.Tensor)), default=0)


def by_torch(
    function: Callable[..., torch.Tensor],
    arguments: Sequence[torch.Tensor],
    dout: torch.Tensor,
    dtype: torch.dtype,
    *,
    differentiable: bool,
) -> list[torch.Tensor]:
    """The result and the gradients, computed in ``dtype``."""
    copies = [each.clone().to(dtype) if each.is_floating_point() else each for each in arguments]
    given = [each.requires_grad_(differentiable and each.is_floating_point()) for each in copies]
    found = function(*given)
    if differentiable:
        found.backward(dout.to(found.dtype))
    return [found.detach(), *(each.grad for each in given if each.grad is not None)]


def error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest distance, relative to the larger of 1 and the number; infinite where shapes or integers differ."""
    if found.shape != expected.shape:
        return float("inf")
    if not found.numel():
        return 0.0
    if not found.is_floating_point():
        return 0.0 if torch.equal(found.double(), expected.double()) else float("inf")
    distance = (found.double() - expected).abs() / expected.abs().clamp(min=1)
    return float(distance.max())
