"""A program as users write it, on a GPU: kernels proved when they are first launched, assembled, and run.

    python -m benchmarks.gpu.programs

Needs torch, cuda.tile, the solver, and `tileiras`.
"""

from __future__ import annotations

import time

import cuda.tile as ct
import torch

import tileverify

from .common import refused
from .kernels.elementwise import add, add_all
from .kernels.products import matmul


def main() -> int:
    stream = torch.cuda.current_stream()
    x, y = (torch.rand(1 << 16, device="cuda") for _ in range(2))
    out = torch.full_like(x, float("nan"))
    for what in ("first", "second"):
        start = time.perf_counter()
        tileverify.launch(stream, (64,), add, (x, y, out, 1024))
        print(f"{what} launch: {1000 * (time.perf_counter() - start):.3f} ms")
        assert torch.equal(out, x + y)
    tileverify.launch(stream, None, add, (x[:4096], y[:4096], out[:4096].zero_(), 1024))
    assert torch.equal(out, x + y)
    refused("grid", stream, (65,), add, (x, y, out, 1024))
    refused("overlap", stream, (16,), add, (x[:16384], out[1024:17408], out[:16384], 1024))
    rows = [torch.rand(1 << 14, device="cuda") for _ in range(3)]
    total = torch.full((1 << 14,), float("nan"), device="cuda")
    tileverify.launch(stream, (16,), add_all, (rows, total, 3, 1024))
    assert torch.equal(total, rows[0] + rows[1] + rows[2])
    refused("length of a list", stream, (16,), add_all, (rows, total, 4, 1024))
    a, b = (torch.randn(shape, device="cuda").half() for shape in ((1024, 512), (512, 1536)))
    c = torch.full((1024, 1536), float("nan"), device="cuda").half()
    with tileverify.patch():
        ct.launch(stream, (8 * 12,), matmul, (a, b, c, 128, 128, 64, 8))
        expected = a.double() @ b.double()
        error = float((c.double() - expected).norm() / expected.norm())
        print(f"product through cuda.tile.launch: relative error {error:.2e}")
        assert error < 2e-3
    with tileverify.unproved(reason="to see it run"):
        tileverify.launch(stream, (63,), add, (x, y, out, 1024))
    torch.cuda.synchronize()
    print("as expected")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
