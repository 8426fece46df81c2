"""Bandwidth and arithmetic of proved kernels beside torch's, on a GPU.

    python -m benchmarks.gpu.throughput BUNDLES KEY.pub [--json FILE]

Vector additions over growing sizes in TB/s (bytes read and written once), swizzled f16 matrix products in TFLOP/s;
medians of events around single launches, the two ways interleaved, on random data, with the L2 cache swept in between.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import torch

import tileverify

from .common import bundles

ROUNDS = 30


def milliseconds(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    sweep = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    times: dict[str, list[float]] = {name: [] for name in ways}
    for round_ in range(ROUNDS + 3):
        for name, way in ways.items():
            sweep.zero_()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            way()
            end.record()
            end.synchronize()
            if round_ >= 3:
                times[name].append(start.elapsed_time(end))
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = bundles(options.bundles, options.key)
    stream = torch.cuda.current_stream()
    rows = []
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    for symbol, kernel in found.items():
        if symbol.startswith("add_"):
            dtype = torch.float16 if "f16" in symbol else torch.float32
            tile = int(symbol.rsplit("_I", 1)[1].split(".")[0])
            for size in (1 << 22, 1 << 25, 1 << 28, 1 << 29):
                x, y = (torch.rand(size, device="cuda").to(dtype) for _ in range(2))
                out = torch.empty_like(x)
                work = 3 * size * x.element_size() / 1e9
                grid = (-(-size // tile),)
                ways = {
                    "proved": lambda x=x, y=y, out=out, grid=grid, kernel=kernel: tileverify.launch(
                        stream, grid, kernel, (x, y, out)
                    ),
                    "torch": lambda x=x, y=y, out=out: torch.add(x, y, out=out),
                }
                rows.append((f"add {dtype} tile {tile}, {size} elements", "TB/s", work, milliseconds(ways)))
                assert torch.equal(out, x + y)
        else:
            tm, tn = (int(each) for each in symbol.split("_I")[1:3])
            for n in (2048, 4096, 8192):
                a, b = (torch.randn(n, n, device="cuda").half() for _ in range(2))
                c = torch.empty_like(a)
                grid = ((n // tm) * (n // tn),)
                try:
                    tileverify.launch(stream, grid, kernel, (a, b, c))
                except tileverify.LaunchRefused as refused:
                    print(refused)
                    continue
                ways = {
                    "proved": lambda a=a, b=b, c=c, grid=grid, kernel=kernel: tileverify.launch(
                        stream, grid, kernel, (a, b, c)
                    ),
                    "torch": lambda a=a, b=b, c=c: torch.mm(a, b, out=c),
                }
                rows.append(
                    (f"matmul f16 {n}, {symbol.split('_p16')[-1]}", "TFLOP/s", 2 * n**3 / 1e9, milliseconds(ways))
                )
    for name, unit, work, times in rows:
        rates = "  ".join(f"{way} {work / ms:.2f}" for way, ms in times.items())
        print(f"{name:45} {rates} {unit}  ratio {times['torch'] / times['proved']:.3f}")
    if options.json:
        options.json.write_text(json.dumps([[*row[:3], row[3]] for row in rows], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
