"""One question to torch that tells whether tensors still have the sizes, strides and types that they had.

torch's compiler asks it in C++ (``torch._C._dynamo.guards.TensorGuards``), which takes a third of what reading every
tensor takes.  That name is torch's own affair, so it is tried out before it is relied on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any


def sameness(tensors: Sequence[Any]) -> Callable[..., bool] | None:
    """``same(*others)``: whether as many tensors of the same classes have the same sizes, strides and types, each.

    It may raise `TypeError` for what is no tensor, and holds on to none.  ``None`` where torch does not offer it.
    """
    guards = _guards() if tensors else None
    return None if guards is None else _made(guards, tensors)


def _made(guards: Any, tensors: Sequence[Any]) -> Callable[..., bool]:
    check: Callable[..., bool] = guards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check
    return check


@cache
def _guards() -> Any:
    """The class, if it tells everything apart that has to be told apart."""
    torch = sys.modules.get("torch")
    try:
        guards = torch._C._dynamo.guards.TensorGuards  # type: ignore[union-attr]
        return guards if _tells_apart(torch, guards) else None
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None


def _tells_apart(torch: Any, guards: Any) -> bool:
    def empty(*sizes: int, dtype: Any = torch.float32) -> Any:
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
