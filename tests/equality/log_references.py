"""What the kernels of `log_kernels` should compute, as torch has it, mostly in another way than they do."""

from typing import Any

import torch
from torch.nn import functional


def log_softmax(x: Any) -> Any:
    return functional.log_softmax(x, dim=1)


def log_of_softmax(x: Any) -> Any:
    return torch.log(torch.softmax(x, 1))


def without_logsumexp(x: Any) -> Any:
    return x - torch.logsumexp(x, dim=1, keepdim=True)


def cross_entropy(x: Any, y: Any) -> Any:
    return {"out": functional.cross_entropy(x, y.long(), reduction="none")}


def cross_entropy_smooth(x: Any, y: Any) -> Any:
    return {"out": functional.cross_entropy(x, y.long(), reduction="none", label_smoothing=0.1)}


def softplus(x: Any) -> Any:
    return functional.softplus(x)


def softplus_by_log1p(x: Any) -> Any:
    return torch.log1p(torch.exp(x))


def softplus_by_logaddexp(x: Any) -> Any:
    return torch.logaddexp(x, torch.zeros_like(x))


def kl(p: Any, q: Any) -> Any:
    first, second = torch.softmax(p, 1), torch.softmax(q, 1)
    return (first * (first / second).log()).sum(1)


def log_sums(x: Any) -> Any:
    return torch.log1p(x * x).sum(1)


def log_of_product(x: Any) -> Any:
    return torch.log((1 + x * x).prod(1))


def power(x: Any, y: Any) -> Any:
    return torch.abs(x) ** (2 * y)


def log_sums_of_powers(x: Any) -> Any:
    return torch.log1p(x**32).sum(1)


def power_of_softplus(x: Any) -> Any:
    return functional.softplus(x) ** 1.0001


def kl_swapped(p: Any, q: Any) -> Any:
    return kl(q, p)
