"""What a launch costs the host: guarded by its contract, by `cuda.tile.launch` of the same cubin, and of torch.

    python -m benchmarks.gpu.latency BUNDLES KEY.pub [--json FILE]

``BUNDLES`` has the bundles of `launches`.  Every way launches the same small addition 1, 10, 100 and 1000 times in a
row on one stream; microseconds a launch, medians of interleaved rounds, and the ratio to `cuda.tile.launch`:

* asynchronous: the host's time, the same launch again and again;
* chained: every launch reads what the one before it wrote, and the time ends when the GPU has done the last one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import torch

import tileverify
from tileverify.backend.gpu import driver
from tileverify.launching.bundled import BundledKernel

from .common import bundles

COUNTS = (1, 10, 100, 1000)
ROUNDS = 60
ELEMENTS = 1 << 16


def by_cuda_tile(kernel: BundledKernel) -> object:
    """A kernel that `cuda.tile.launch` launches with the bundle's cubin; its source is not looked at."""
    import cuda.tile as ct

    from .kernels.elementwise import add

    code = kernel.bundle.cubins[driver.architecture(0)].code
    symbol = kernel.bundle.certificate.symbol

    class Handed(ct.kernel):
        def _compile(self, *arguments: object, **options: object) -> tuple[bytes, str, None, tuple[()]]:
            return code, symbol, None, ()

    return Handed(add._annotated_function.pyfunc)


def measured(ways: dict[str, Callable[[], object]], count: int, *, until_done: bool = False) -> dict[str, float]:
    """Median microseconds a launch, rounds interleaved."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for round_ in range(ROUNDS + 5):
        for name, way in ways.items():
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
            for _ in range(count):
                way()
            if until_done:
                torch.cuda.synchronize()
            spent = time.perf_counter_ns() - start
            if round_ >= 5:
                times[name].append(spent / count / 1000)
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = bundles(options.bundles, options.key)
    kernel = next(each for symbol, each in found.items() if symbol.startswith("add_") and "f32" in symbol)
    tile = 1024 if "I1024" in kernel.bundle.certificate.symbol else 2048
    x, y = (torch.rand(ELEMENTS, device="cuda") for _ in range(2))
    out = torch.full_like(x, float("nan"))
    grid, arguments = (ELEMENTS // tile,), (x, y, out)
    stream = torch.cuda.current_stream()
    tileverify.launch(stream, grid, kernel, arguments)
    torch.cuda.synchronize()
    assert torch.equal(out, x + y)
    (found,) = kernel._remembered._plans.values()
    plan = found.plan
    ways: dict[str, Callable[[], object]] = {
        "tileverify.launch": lambda: tileverify.launch(stream, grid, kernel, arguments),
        "BundledKernel.launch": lambda: kernel.launch(stream, grid, arguments),
        "plan alone": lambda: plan.launch(stream),
        "torch.add": lambda: torch.add(x, y, out=out),
    }
    try:
        import cuda.tile as ct

        handed = by_cuda_tile(kernel)
        with_tile = (*arguments, tile)
        ways["cuda.tile.launch"] = lambda: ct.launch(stream, grid, handed, with_tile)
    except ImportError as error:
        print(f"without cuda.tile: {error}", file=sys.stderr)
    turns = cycle([arguments, (x, out, y)])  # what one writes the next one reads
    chained: dict[str, Callable[[], object]] = {
        "tileverify.launch": lambda: tileverify.launch(stream, grid, kernel, next(turns)),
        "BundledKernel.launch": lambda: kernel.launch(stream, grid, next(turns)),
    }
    if "cuda.tile.launch" in ways:
        chained["cuda.tile.launch"] = lambda: ct.launch(stream, grid, handed, (*next(turns), tile))
    rows = {
        "asynchronous": {count: measured(ways, count) for count in COUNTS},
        "chained": {count: measured(chained, count, until_done=True) for count in COUNTS},
    }
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    for what, table in rows.items():
        for count, row in table.items():
            base = row.get("cuda.tile.launch", float("nan"))
            told = "  ".join(f"{name} {us:.2f} us ({us / base:.2f})" for name, us in row.items())
            print(f"{what} {count:5} launches  {told}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
