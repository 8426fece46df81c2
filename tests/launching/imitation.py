"""torch as far as launches ask it: tensors, and what its compiler compares them with."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from tileverify.launching import tensors


@dataclass(eq=False)
class Tensor:
    """What is asked of a tensor of torch."""

    address: int = 4096
    shape: tuple[int, ...] = (8, 4)
    strides: tuple[int, ...] = (4, 1)
    dtype: str = "float32"

    def data_ptr(self) -> int:
        return self.address

    def stride(self) -> tuple[int, ...]:
        return self.strides


class Guards:
    """``torch._C._dynamo.guards.TensorGuards``"""

    def __init__(self, *tensors: Tensor, dynamic_dims_sizes: None, dynamic_dims_strides: None) -> None:
        self._seen = [(each.shape, each.strides, each.dtype) for each in tensors]

    def check(self, *tensors: Tensor) -> bool:
        if not all(isinstance(each, Tensor) for each in tensors):
            raise TypeError("expected a tensor")
        return [(each.shape, each.strides, each.dtype) for each in tensors] == self._seen


def imitate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install it for one test."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))
    monkeypatch.setattr(tensors, "_guards", lambda: Guards)
