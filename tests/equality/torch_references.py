"""The function of `cheats.py`'s gelu and softmax, in torch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def gelu(x: Tensor) -> dict[str, Tensor]:
    return {"out": F.gelu(x, approximate="tanh")}


def gelu_in_place(x: Tensor) -> dict[str, Tensor]:
    out = torch.empty_like(x)
    out[:] = x
    inner = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x.pow(3))
    out[::2].mul_(0.5 * (1 + inner.tanh())[::2])
    out[1::2] *= (2 * inner[1::2]).sigmoid()
    return {"out": out}


def gelu_of_erf(x: Tensor) -> dict[str, Tensor]:
    return {"out": F.gelu(x)}


def median(x: Tensor) -> dict[str, Tensor]:
    return {"out": x + x.median()}


def noise(x: Tensor) -> dict[str, Tensor]:
    return {"out": x + torch.rand_like(x)}
