"""Launches every variant once, for ``tileverify record --no-gpu -- python -m benchmarks.gpu.recorded [NAME...]``."""

from __future__ import annotations

import re
import sys

import cuda.tile as ct
import torch

from .kernels import attention, direct, elementwise, products, rows
from .variants import Argument, Variant, variants

MODULES = (elementwise, rows, direct, products, attention)
DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f8e4m3": torch.float8_e4m3fn,
}


def kernel_of(variant: Variant) -> ct.kernel:
    found = next(getattr(module, variant.kernel) for module in MODULES if hasattr(module, variant.kernel))
    assert isinstance(found, ct.kernel)
    return found.replace_hints(**variant.hints) if variant.hints else found


def value(argument: Argument) -> object:
    if not isinstance(argument, str):
        return argument
    match = re.fullmatch(r"(\w+)\[([\d, ]+)\]", argument)
    assert match is not None, argument
    return torch.empty(tuple(map(int, match[2].split(","))), dtype=DTYPES[match[1]], device="cuda")


def main() -> int:
    for variant in variants():
        if not sys.argv[1:] or variant.name in sys.argv[1:]:
            ct.launch(None, variant.grid, kernel_of(variant), tuple(map(value, variant.arguments)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
