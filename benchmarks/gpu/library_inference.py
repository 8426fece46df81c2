"""Host functions of models that run, from signed bundles on a GPU, against torch in float64: heads, caches, attention,
what moves, sums, choices and products with a few vectors; gradients where there are some.

    tileverify build src/tileverify/kernels/device/MODULE.py -o FOLDER --arch sm_90 --sign KEY.pem
        (for attention, head, moving, norms, rope and vectors)
    python -m benchmarks.gpu.library_inference FOLDER KEY.pub OUT

What else it takes and does: `comparing`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from .comparing import Row, Trial, main
from .in_torch import CLOSE, DEVICE, TYPES, error, largest_of, name_of
from .inference_cases import FAMILIES, Case


def row(case: Case, dtype: torch.dtype) -> Row:
    runs = [run(case, case.ours, dtype) for _ in range(2)]
    expected = run(case, case.theirs, dtype, torch.float64)
    usual = run(case, case.theirs, dtype)
    errors = [error(one, two) for one, two in zip(runs[0], expected, strict=True)]
    of_torch = [error(one, two) for one, two in zip(usual, expected, strict=True)]
    same = all(torch.equal(one, two) for one, two in zip(*runs, strict=True))
    close = all(e <= max(CLOSE[dtype], 2 * limit) for e, limit in zip(errors, of_torch, strict=True))
    results = len(errors) - case.gradients
    gradients = tuple(errors[results:])
    return Row(case.function, name_of(dtype), case.shape, max(errors[:results]), gradients, same, same and close)


def run(case: Case, function: Callable[..., Any], dtype: torch.dtype, wide: torch.dtype | None = None) -> list[Tensor]:
    """Results and gradients; ``wide``: what numbers are converted to before."""
    given = []
    for place, each in enumerate(case.arguments):
        # With the same strides, as parts of one array have others than arrays of their own.
        copied = torch.empty_strided(each.shape, each.stride(), dtype=each.dtype, device=each.device).copy_(each)
        if wide is not None and each.is_floating_point():
            copied = copied.to(wide)
        given.append(copied.requires_grad_(place < case.gradients))
    with torch.set_grad_enabled(case.gradients > 0):
        found = function(*given)
    results = list(found) if isinstance(found, tuple) else [found]
    if case.gradients:
        torch.manual_seed(1)
        douts = [torch.randn(each.shape, device=DEVICE).to(dtype).to(each.dtype) for each in results]
        torch.autograd.backward(results, douts)
    gradients = (each.grad for each in given[: case.gradients])
    return [*(each.detach() for each in results), *(each for each in gradients if each is not None)]


def trials() -> Iterator[Trial]:
    torch.manual_seed(0)
    for family in FAMILIES:
        for dtype in TYPES:
            for case in family(dtype):
                largest = largest_of(case.arguments)
                yield Trial(case.function, name_of(dtype), case.shape, largest, lambda c=case, d=dtype: row(c, d))


if __name__ == "__main__":
    sys.exit(main("library_inference", __doc__, trials))
