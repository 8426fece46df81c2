"""What the drivers of kernel libraries share: cases, and the tensors that they call operations with.

It is loaded by the Python that has the library; of other packages it needs torch alone.

A case is a generator function under ``@case``: it yields calls without arguments, one for each shape or mode, so that
one that fails does not take the others with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

Call = Callable[[], Any]
CASES: dict[str, Callable[[], Iterator[Call]]] = {}

DEVICE = "cuda"
HALF_TYPES = (torch.float16, torch.bfloat16)


def case(function: Callable[[], Iterator[Call]]) -> Callable[[], Iterator[Call]]:
    """Register a case under ``module.function``."""
    CASES[f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"] = function
    return function


def normal(*shape: int, dtype: torch.dtype = torch.bfloat16, grad: bool = False) -> torch.Tensor:
    """Normal noise on the device; ``float8`` types are rounded from ``float32``."""
    values = torch.randn(*shape, device=DEVICE, dtype=torch.float32).to(dtype)
    return values.requires_grad_() if grad else values


def integers(low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Uniform integers in ``[low, high)``."""
    return torch.randint(low, high, shape, device=DEVICE, dtype=dtype)


def backward(result: Any) -> None:
    """Send ones back through every floating-point result that wants them."""
    results = result if isinstance(result, (tuple, list)) else [result]
    wanted = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    torch.autograd.backward(wanted, [torch.ones_like(r) for r in wanted])


def there_and_back(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
    """A call of ``function`` and the backward pass of its results."""
    return partial(_there_and_back, function, args, kwargs)


def _there_and_back(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    backward(function(*args, **kwargs))
