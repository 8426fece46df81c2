"""The library's norms, activations and losses from signed bundles on a GPU, against torch in float64, with gradients.

    tileverify build src/tileverify/kernels/device/norms.py -o FOLDER --arch sm_90 --sign KEY.pem
    (softmax, activations and moving likewise)
    python -m benchmarks.gpu.library FOLDER KEY.pub OUT

What else it takes and does: `comparing`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from tileverify import kernels

from .comparing import Row, Trial, main
from .in_torch import CLOSE, DEVICE, TYPES, by_torch, error, largest_of, name_of

F = torch.nn.functional
SHAPES = ((1, 1), (1, 37), (7, 1024), (3, 5, 1030), (64, 4096), (2, 513, 2048), (129, 5000))

Case = tuple[str, Callable[..., Any], Callable[..., Any], tuple[torch.Tensor, ...]]


def cases(shape: Sequence[int], dtype: torch.dtype) -> Iterator[Case]:
    """Name, ours, torch's, and the arguments."""
    n = shape[-1]

    def normal(*sizes: int) -> torch.Tensor:
        return torch.randn(sizes, device=DEVICE, dtype=torch.float32).to(dtype)

    x, y, weight, bias = normal(*shape), normal(*shape), normal(n), normal(n)
    labels = torch.randint(-1, n, shape[:-1], device=DEVICE)
    yield "rms_norm", kernels.rms_norm, lambda a, w: F.rms_norm(a, (n,), w, 1e-6), (x, weight)
    yield "layer_norm", kernels.layer_norm, lambda a, w, b: F.layer_norm(a, (n,), w, b, 1e-5), (x, weight, bias)
    yield "softmax", kernels.softmax, lambda a: F.softmax(a, -1), (x,)
    yield "log_softmax", kernels.log_softmax, lambda a: F.log_softmax(a, -1), (x,)
    yield "cross_entropy", kernels.cross_entropy, _cross_entropy, (x, labels)
    yield "silu", kernels.silu, F.silu, (x,)
    yield "gelu", kernels.gelu, lambda a: F.gelu(a, approximate="tanh"), (x,)
    yield "relu", kernels.relu, F.relu, (x,)
    yield "silu_mul", kernels.silu_mul, lambda a, b: F.silu(a) * b, (x, y)
    yield "gelu_mul", kernels.gelu_mul, lambda a, b: F.gelu(a, approximate="tanh") * b, (x, y)
    yield "add_rms_norm", lambda a, b, w: kernels.add_rms_norm(a, b, w)[1], _add_rms_norm(dtype), (x, y, weight)


def _cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    flat = F.cross_entropy(logits.flatten(0, -2), labels.flatten(), reduction="none", ignore_index=-1)
    return flat.reshape(labels.shape)


def _add_rms_norm(dtype: torch.dtype) -> Callable[..., torch.Tensor]:
    def reference(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        total = (x + residual).to(dtype).to(x.dtype)  # what is stored is what is normed
        return F.rms_norm(total, (total.shape[-1],), weight, 1e-6)

    return reference


def row(case: Case, dtype: torch.dtype, shape: tuple[int, ...]) -> Row:
    name, ours, theirs, arguments = case
    differentiable = name != "add_rms_norm"
    runs = []
    for _ in range(2):
        given = [each.clone().requires_grad_(differentiable and each.is_floating_point()) for each in arguments]
        found = ours(*given)
        torch.manual_seed(1)
        dout = torch.randn_like(found)
        if differentiable:
            found.backward(dout)
        runs.append((found.detach(), *(each.grad for each in given if each.grad is not None)))
    expected = by_torch(theirs, arguments, dout, torch.float64, differentiable=differentiable)
    usual = by_torch(theirs, arguments, dout, dtype, differentiable=differentiable)
    errors = [error(one, two) for one, two in zip(runs[0], expected, strict=True)]
    of_torch = [error(one, two) for one, two in zip(usual, expected, strict=True)]
    limits = [max(CLOSE[dtype], 2 * each) for each in of_torch]
    same = all(torch.equal(one, two) for one, two in zip(*runs, strict=True))
    fine = same and all(e <= limit for e, limit in zip(errors, limits, strict=True))
    return Row(name, name_of(dtype), shape, errors[0], tuple(errors[1:]), same, fine)


def trials() -> Iterator[Trial]:
    torch.manual_seed(0)
    for shape in SHAPES:
        for dtype in TYPES:
            for case in cases(shape, dtype):
                largest = largest_of(case[3])
                yield Trial(case[0], name_of(dtype), shape, largest, lambda c=case, d=dtype, s=shape: row(c, d, s))


if __name__ == "__main__":
    sys.exit(main("library", __doc__, trials))
