"""Host functions that torch and JAX can differentiate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

from ..system.errors import UsageError
from .arrays import A, AnyArray, Array, ArrayOf, differentiable, is_jax

P = ParamSpec("P")
R = TypeVar("R")

Saved: TypeAlias = tuple[AnyArray, ...]
"""What a function keeps for its gradient."""

Gradients: TypeAlias = tuple[Array | None, ...]
"""Of the arrays of a function, ``None`` for those that have none or are not wanted."""


class OfOne(Protocol):
    """A function of one array."""

    def __call__(self, x: ArrayOf[A], /) -> A: ...


def with_gradient(forward: Callable[P, tuple[R, Saved]], backward: Callable[..., Gradients]) -> Callable[P, R]:
    """A function of arrays, and of numbers by name, with its gradient.

    ``forward(*arrays, **numbers)``: the result, or a tuple of results, and the arrays that ``backward`` needs.
    ``backward(saved, dout, wanted, **numbers)``: the gradients of the arrays, ``None`` for those that are not
    ``wanted``; ``dout`` is a tuple where there is a tuple of results.
    """

    def called(*arrays: P.args, **numbers: P.kwargs) -> R:
        torch = sys.modules.get("torch")
        if torch is not None and torch.is_grad_enabled() and any(map(_wants_gradient, arrays)):
            of_torch: R = _function().apply(forward, backward, numbers, *arrays)
            return of_torch
        if any(map(is_jax, arrays)):
            ahead, back = partial(forward, **numbers), partial(backward, **numbers)
            of_jax: R = differentiable(ahead, back, len(arrays))(*arrays)
            return of_jax
        return forward(*arrays, **numbers)[0]

    return called


def no_gradient(function: str, **arrays: object) -> None:
    """Raises `UsageError` for an array whose gradient torch would want, of a function that has none."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.is_grad_enabled():
        for name, array in arrays.items():
            if _wants_gradient(array):
                raise UsageError(f"{function} has no gradient: call it under `torch.no_grad()`, or detach `{name}`")


def _wants_gradient(array: object) -> bool:
    return bool(getattr(array, "requires_grad", False))


@cache
def _function() -> Any:
    """What torch's graph calls; made when it is needed first, as torch is not loaded for it."""
    import torch

    class Launched(torch.autograd.Function):
        @staticmethod
        def forward(
            context: Any,
            ahead: Callable[..., tuple[object, Saved]],
            back: Callable[..., Gradients],
            numbers: dict[str, object],
            *arrays: torch.Tensor,
        ) -> object:
            out, saved = ahead(*(array.detach() for array in arrays), **numbers)
            context.back, context.numbers = back, numbers
            context.save_for_backward(*saved)
            return out

        @staticmethod
        def backward(context: Any, *douts: torch.Tensor) -> tuple[object, ...]:
            wanted: Sequence[bool] = context.needs_input_grad[3:]
            dout = douts if len(douts) > 1 else douts[0]
            gradients: Gradients = context.back(context.saved_tensors, dout, wanted, **context.numbers)
            return None, None, None, *gradients

    return Launched
