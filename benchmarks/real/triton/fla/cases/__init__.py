"""Calls of fla-core's operations, forward and backward; each launches some kernels.

Lengths do not fill the last chunk; batches of unequal lengths (``cu_seqlens``) stand beside equal ones.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from benchmarks.real.calls import normal

FLOATS = (torch.float32, torch.bfloat16)


@dataclass(frozen=True)
class Shape:
    """Batch, length, heads and the dimension of a head; ``ends``: where the sequences of one batch end."""

    batch: int = 2
    length: int = 77
    heads: int = 3
    dim: int = 64
    dtype: torch.dtype = torch.float32
    ends: tuple[int, ...] = ()

    def x(self, dim: int | None = None, heads: int | None = None, grad: bool = True) -> torch.Tensor:
        """``[batch, length, heads, dim]``."""
        return normal(self.batch, self.length, heads or self.heads, dim or self.dim, dtype=self.dtype, grad=grad)

    def scalars(self) -> torch.Tensor:
        """``[batch, length, heads]`` in (0, 1)."""
        values = torch.rand(self.batch, self.length, self.heads, device="cuda").to(self.dtype)
        return values.requires_grad_()

    def decay(self, dim: int | None = None) -> torch.Tensor:
        """Logarithms of gates: one for each head, or one for each of ``dim`` channels."""
        shape = (self.batch, self.length, self.heads, *(() if dim is None else (dim,)))
        return torch.nn.functional.logsigmoid(normal(*shape, dtype=torch.float32)).to(self.dtype).requires_grad_()

    @property
    def options(self) -> dict[str, Any]:
        return {"cu_seqlens": torch.tensor([0, *self.ends], device="cuda")} if self.ends else {}


SHAPES = (
    Shape(),
    Shape(dtype=torch.bfloat16),
    Shape(1, 154, 2, 128, torch.bfloat16),
    Shape(1, 154, 3, 64, torch.float32, (15, 77, 154)),
    Shape(1, 130, 2, 32, torch.bfloat16, (1, 64, 130)),
)


def operation(path: str) -> Callable[..., Any]:
    """``module:name`` below ``fla``."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(f"fla.{module}"), name)  # type: ignore[no-any-return]


def over_shapes(make: Callable[[Shape], Any], *, varied: bool = True) -> Iterator[Any]:
    """``make`` for each shape; without ``varied``, for those of equal lengths."""
    yield from (make(shape) for shape in SHAPES if varied or not shape.ends)
