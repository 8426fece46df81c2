"""The library's host functions from signed bundles on a GPU, against torch in float64: results and gradients.

    tileverify build src/tileverify/kernels/device/norms.py -o FOLDER --sign KEY.pem      (and the other modules)
    python -m benchmarks.gpu.library FOLDER KEY.pub OUT

Nothing is compiled here: a kernel without a bundle is an error.  Writes library.json and library.md into ``OUT``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from tileverify import kernels
from tileverify.kernels import prepared

F = torch.nn.functional
SHAPES = ((1, 1), (1, 37), (7, 1024), (3, 5, 1030), (64, 4096), (2, 513, 2048), (129, 5000))
TYPES = (torch.float32, torch.float16, torch.bfloat16)
CLOSE = {torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""Relative to the larger of 1 and the number; or twice what torch's own error is in that type."""


@dataclass(frozen=True, slots=True)
class Row:
    function: str
    dtype: str
    shape: tuple[int, ...]
    error: float
    gradients: tuple[float, ...]
    same_again: bool
    fine: bool


Case = tuple[str, Callable[..., Any], Callable[..., Any], tuple[torch.Tensor, ...]]


def cases(shape: Sequence[int], dtype: torch.dtype) -> Iterator[Case]:
    """Name, ours, torch's, and the arguments."""
    n = shape[-1]

    def normal(*sizes: int) -> torch.Tensor:
        return torch.randn(sizes, device="cuda", dtype=torch.float32).to(dtype)

    x, y, weight, bias = normal(*shape), normal(*shape), normal(n), normal(n)
    labels = torch.randint(-1, n, shape[:-1], device="cuda")
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
    return Row(name, str(dtype).removeprefix("torch."), shape, errors[0], tuple(errors[1:]), same, fine)


def by_torch(
    function: Callable[..., torch.Tensor],
    arguments: Sequence[torch.Tensor],
    dout: torch.Tensor,
    dtype: torch.dtype,
    *,
    differentiable: bool,
) -> list[torch.Tensor]:
    """The result and the gradients, computed in ``dtype``."""
    copies = [each.clone().to(dtype) if each.is_floating_point() else each for each in arguments]
    given = [each.requires_grad_(differentiable and each.is_floating_point()) for each in copies]
    found = function(*given)
    if differentiable:
        found.backward(dout.to(found.dtype))
    return [found.detach(), *(each.grad for each in given if each.grad is not None)]


def error(found: torch.Tensor, expected: torch.Tensor) -> float:
    distance = (found.double() - expected).abs() / expected.abs().clamp(min=1)
    return float(distance.max())


def no_kernel(module: str, name: str) -> Any:
    raise LookupError(f"there is no bundle for {module}.{name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("out", type=Path)
    asked = parser.parse_args()
    prepared.kernel_of = no_kernel  # type: ignore[assignment]
    count = kernels.use(asked.folder, keys=[asked.key], only_signed=True)
    torch.manual_seed(0)
    found = [row(case, dtype, shape) for shape in SHAPES for dtype in TYPES for case in cases(shape, dtype)]
    device = torch.cuda.get_device_name()
    document = {
        "device": device,
        "torch": torch.__version__,
        "bundles": count,
        "rows": [asdict(each) for each in found],
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "library.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    text = "\n".join(table(found, device, count)) + "\n"
    (asked.out / "library.md").write_text(text, encoding="utf-8")
    print(text)
    return 0 if all(each.fine for each in found) else 1


def table(rows: Sequence[Row], device: str, bundles: int) -> Iterator[str]:
    """One line a function and type: the largest errors over all shapes."""
    fine = sum(each.fine for each in rows)
    yield f"{device}, torch {torch.__version__}, {bundles} signed bundles: {fine} of {len(rows)} agree"
    yield ""
    yield "| function | type | error | of gradients | same again |"
    yield "|---|---|---:|---:|---|"
    for name, dtype in dict.fromkeys((each.function, each.dtype) for each in rows):
        own = [each for each in rows if (each.function, each.dtype) == (name, dtype)]
        gradients = max((e for each in own for e in each.gradients), default=float("nan"))
        largest = max(each.error for each in own)
        yield f"| {name} | {dtype} | {largest:.1e} | {gradients:.1e} | {all(each.same_again for each in own)} |"
    yield from (f"\nnot fine: {each}" for each in rows if not each.fine)


if __name__ == "__main__":
    sys.exit(main())
