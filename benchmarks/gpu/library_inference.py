"""Host functions of models that run, from signed bundles on a GPU, against torch in float64: heads, caches, attention,
what moves, sums, choices and products with a few vectors; gradients where there are some.

    tileverify build src/tileverify/kernels/device/MODULE.py -o FOLDER --arch sm_90 --sign KEY.pem
        (for attention, head, moving, norms, rope and vectors)
    python -m benchmarks.gpu.library_inference FOLDER KEY.pub OUT

Nothing is compiled here: a kernel without a bundle is an error.  Writes library_inference.json and
library_inference.md into ``OUT``; the exit code is 1 where anything disagrees.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu.inference_cases import FAMILIES, Case
from benchmarks.gpu.library import CLOSE, TYPES, Row, error, no_kernel, table
from tileverify import kernels
from tileverify.kernels import prepared


def row(case: Case, dtype: torch.dtype) -> Row:
    runs = [run(case, case.ours, dtype) for _ in range(2)]
    expected = run(case, case.theirs, dtype, torch.float64)
    usual = run(case, case.theirs, dtype)
    errors = [error(one, two) for one, two in zip(runs[0], expected, strict=True)]
    of_torch = [error(one, two) for one, two in zip(usual, expected, strict=True)]
    same = all(torch.equal(one, two) for one, two in zip(*runs, strict=True))
    shapes = all(one.shape == two.shape for one, two in zip(runs[0], expected, strict=True))
    close = all(e <= max(CLOSE[dtype], 2 * limit) for e, limit in zip(errors, of_torch, strict=True))
    results = len(errors) - case.gradients
    name, gradients = str(dtype).removeprefix("torch."), tuple(errors[results:])
    return Row(case.function, name, case.shape, max(errors[:results]), gradients, same, same and shapes and close)


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
        douts = [torch.randn(each.shape, device="cuda").to(dtype).to(each.dtype) for each in results]
        torch.autograd.backward(results, douts)
    gradients = (each.grad for each in given[: case.gradients])
    return [*(each.detach() for each in results), *(each for each in gradients if each is not None)]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("out", type=Path)
    asked = parser.parse_args(argv)
    prepared.kernel_of = no_kernel  # type: ignore[assignment]
    count = kernels.use(asked.folder, keys=[asked.key], only_signed=True)
    torch.manual_seed(0)
    found = [row(case, dtype) for family in FAMILIES for dtype in TYPES for case in family(dtype)]
    device = torch.cuda.get_device_name()
    rows = [asdict(each) for each in found]
    document = {"device": device, "torch": torch.__version__, "bundles": count, "rows": rows}
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "library_inference.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    text = "\n".join(table(found, device, count)) + "\n"
    (asked.out / "library_inference.md").write_text(text, encoding="utf-8")
    print(text)
    return 0 if all(each.fine for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
