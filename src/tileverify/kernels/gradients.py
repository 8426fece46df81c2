"""Host functions that torch and JAX can differentiate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from ..system.errors import UsageError
from .jax_arrays import differentiable, is_jax


@dataclass(frozen=True, slots=True)
class Differentiable:
    """A function of arrays, and of numbers by name, with its gradient.

    ``forward(*arrays, **numbers)``: the result, or a tuple of results, and the arrays that ``backward`` needs.
    ``backward(saved, dout, wanted, **numbers)``: the gradients of the arrays, ``None`` for those that are not
    ``wanted``; ``dout`` is a tuple where there is a tuple of results.
    """

    forward: Callable[..., tuple[Any, tuple[Any, ...]]]
    backward: Callable[..., tuple[Any, ...]]

    def __call__(self, *arrays: Any, **numbers: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and torch.is_grad_enabled() and any(map(_wants_gradient, arrays)):
            return _function().apply(self, numbers, *arrays)
        if any(map(is_jax, arrays)):
            of_jax = differentiable(partial(self.forward, **numbers), partial(self.backward, **numbers), len(arrays))
            return of_jax(*arrays)
        return self.forward(*arrays, **numbers)[0]


def no_gradient(function: str, **arrays: Any) -> None:
    """Raises `UsageError` for an array whose gradient torch would want, of a function that has none."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.is_grad_enabled():
        for name, array in arrays.items():
            if _wants_gradient(array):
                raise UsageError(f"{function} has no gradient: call it under `torch.no_grad()`, or detach `{name}`")


def _wants_gradient(array: Any) -> bool:
    return bool(getattr(array, "requires_grad", False))


@cache
def _function() -> Any:
    """What torch's graph calls; made when it is needed first, as torch is not loaded for it."""
    import torch

    class Launched(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, of: Differentiable, numbers: dict[str, Any], *arrays: Any) -> Any:
            out, saved = of.forward(*(array.detach() for array in arrays), **numbers)
            context.of, context.numbers = of, numbers
            context.save_for_backward(*saved)
            return out

        @staticmethod
        def backward(context: Any, *douts: Any) -> tuple[Any, ...]:
            wanted: Sequence[bool] = context.needs_input_grad[2:]
            dout = douts if len(douts) > 1 else douts[0]
            gradients = context.of.backward(context.saved_tensors, dout, wanted, **context.numbers)
            return None, None, *gradients

    return Launched
