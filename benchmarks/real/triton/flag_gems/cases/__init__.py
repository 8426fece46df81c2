"""Calls of flag-gems' operations, forward and backward; each launches some kernels.

Sizes are odd, at the borders of tiles, or of one element; inputs are contiguous, transposed, or every second column.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import flag_gems.fused
import flag_gems.ops
import torch
from benchmarks.real.calls import Call, normal

FLOATS = (torch.float32, torch.bfloat16, torch.float16)
SHAPES = ((1,), (1025,), (37, 129), (3, 5, 64))

Layout = Callable[[torch.Tensor], torch.Tensor]


class _Seeds:
    """The generator of a GPU: its state is a seed and an offset.  The imitation has the host's, of another form."""

    def __init__(self) -> None:
        self._state = torch.zeros(16, dtype=torch.uint8)

    def get_state(self) -> torch.Tensor:
        return self._state.clone()

    def set_state(self, state: torch.Tensor) -> None:
        self._state = state.clone()


torch.cuda.default_generators = (_Seeds(),)


def contiguous(x: torch.Tensor) -> torch.Tensor:
    return x


def transposed(x: torch.Tensor) -> torch.Tensor:
    """The same shape, with its last two axes exchanged in memory."""
    return x if x.ndim < 2 else x.transpose(-1, -2).contiguous().transpose(-1, -2)


def spread(x: torch.Tensor) -> torch.Tensor:
    """The same shape, every second element of a larger array."""
    return torch.stack([x, x], dim=-1)[..., 0]


LAYOUTS: tuple[Layout, ...] = (contiguous, transposed, spread)


def inputs(count: int) -> Iterator[tuple[torch.Tensor, ...]]:
    """``count`` tensors of one shape; layouts and types take turns."""
    for turn, shape in enumerate(SHAPES):
        for layout in LAYOUTS:
            dtype = FLOATS[turn % 3]
            yield tuple(layout(normal(*shape, dtype=dtype)) for _ in range(count))
    for dtype in FLOATS:
        yield tuple(normal(7, 4100, dtype=dtype) for _ in range(count))


def operation(name: str) -> Callable[..., Any]:
    """An operation by its name; those of ``experimental_ops`` have a module each."""
    if name.startswith("experimental."):
        name = name.removeprefix("experimental.")
        module = importlib.import_module(f"flag_gems.experimental_ops.{name}")
        return getattr(module, name)  # type: ignore[no-any-return]
    for module in (flag_gems.ops, flag_gems.fused):
        if callable(getattr(module, name, None)):
            return getattr(module, name)  # type: ignore[no-any-return]
    raise AttributeError(f"flag_gems has no operation {name}")


def calls(names: str, *arguments: Any, **options: Any) -> Iterator[Call]:
    """Each of the operations with the same arguments; tensors are copied, because some are changed in place."""
    for name in names.split():
        yield partial(_call, name, arguments, options)


def _call(name: str, arguments: Any, options: Any) -> None:
    operation(name)(*(_copied(each) for each in arguments), **options)


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cuda")
        return copy.copy_(value)
    return value
