"""One question to torch that tells whether tensors still have the sizes, strides and types that they had.

torch's compiler asks it in C++ (``torch._C._dynamo.guards.TensorGuards``), which takes a third of what reading every
tensor takes.  That name is torch's own affair, so it is tried out before it is relied on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any, Protocol, TypeAlias


class _Guards(Protocol):
    def check(self, *tensors: object) -> bool: ...


_GuardsClass: TypeAlias = Callable[..., _Guards]


def sameness(tensors: Sequence[object]) -> Callable[..., bool] | None:
    """``same(*others)``: whether as many tensors of the same classes have the same sizes, strides and types, each.

    It may raise `TypeError` for what is no tensor, and holds on to none.  ``None`` where torch does not offer it.
    """
    guards = _guards() if tensors else None
    return None if guards is None else _made(guards, tensors)


def _made(guards: _GuardsClass, tensors: Sequence[object]) -> Callable[..., bool]:
    return guards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check


@cache
def _guards() -> _GuardsClass | None:
    """The class, if it tells everything apart that has to be told apart."""
    torch = sys.modules.get("torch")
    try:
        guards: _GuardsClass = torch._C._dynamo.guards.TensorGuards  # type: ignore[union-attr]
        return guards if torch is not None and _tells_apart(torch, guards) else None
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None


def _tells_apart(torch: ModuleType, guards: _GuardsClass) -> bool:
    def empty(*sizes: int, dtype: object = torch.float32) -> Any:
        return torch.empty(sizes, dtype=dtype, device="cpu")

    like, others = (
        [empty(4, 6), empty(8, 6)[::2, :]],
        [
            empty(6, 4),
            empty(4, 6, 1),
            empty(24),
            empty(4, 5),
            empty(3, 6),
            empty(6, 4).t(),
            empty(8, 6)[::2],
            empty(4, 6, dtype=torch.int32),
            empty(4, 6, dtype=torch.float16),
        ],
    )
    contiguous, strided = (_made(guards, [each]) for each in like)
    pair = _made(guards, like)
    alike = contiguous(empty(4, 6)) and strided(empty(16, 6)[:8][::2]) and pair(empty(4, 6), empty(8, 6)[::2])
    crossed = pair(empty(4, 6), empty(4, 6)) or pair(empty(8, 6)[::2], empty(8, 6)[::2]) or strided(empty(4, 6))
    return bool(alike) and not crossed and not any(contiguous(each) for each in others)
