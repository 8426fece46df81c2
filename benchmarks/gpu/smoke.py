"""The bundles of `launches` on a GPU: right results, other sizes, and refusals.

python -m benchmarks.gpu.smoke BUNDLES KEY.pub
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

import tileverify

from .common import bundles, refused


def main() -> int:
    found = bundles(Path(sys.argv[1]), Path(sys.argv[2]))
    assert len(found) >= 6, "the bundles of `launches`"
    stream = torch.cuda.current_stream()
    for symbol, kernel in found.items():
        if symbol.startswith("add_"):
            dtype = torch.float16 if "f16" in symbol else torch.float32
            tile = 1024 if "I1024" in symbol else 2048
            for size in (1 << 16, 1 << 20, 16 * 12345):
                x, y = (torch.rand(size, device="cuda").to(dtype) for _ in range(2))
                out = torch.full_like(x, float("nan"))
                tileverify.launch(stream, (-(-size // tile),), kernel, (x, y, out))
                assert torch.equal(out, x + y), (symbol, size)
            grid = (-(-size // tile),)
            refused("grid", stream, (grid[0] + 1,), kernel, (x, y, out))
            refused("size", stream, grid, kernel, (x, y, out[:tile]))
            refused("dtype", stream, grid, kernel, (x.double(), y, out))
            refused("alignment", stream, (1,), kernel, (x[1:17], y[:16], out[:16]))
            refused("overlap", stream, (1,), kernel, (x[:32], out[16:48], out[:32]))
        else:
            for m, n, k in ((1024, 1536, 512), (2048, 256, 128), (1008, 400, 272)):
                a, b = (torch.randn(shape, device="cuda").half() for shape in ((m, k), (k, n)))
                c = torch.full((m, n), float("nan"), device="cuda").half()
                tm, tn = (int(each) for each in symbol.split("_I")[1:3])
                grid = (-(-m // tm) * -(-n // tn),)
                try:
                    tileverify.launch(stream, grid, kernel, (a, b, c))
                except tileverify.LaunchRefused as error:
                    print(f"matmul {m}x{n}x{k}: {error}")
                    continue
                expected = a.double() @ b.double()
                error = float((c.double() - expected).norm() / expected.norm())
                print(f"matmul {m}x{n}x{k}, tiles {tm}x{tn}: relative error {error:.2e}")
                assert error < 2e-3
            refused("shapes", stream, grid, kernel, (a, b[:-16], c))
    torch.cuda.synchronize()
    print("as expected")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
