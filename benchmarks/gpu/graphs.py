"""A graph of 1000 guarded launches on a GPU: what a node costs at a replay, and that it does what it should.

python -m benchmarks.gpu.graphs BUNDLES KEY.pub
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch

import tileverify
from tileverify.backend.ledger import InFlightConflict

from .common import addition

NODES = 1000
ELEMENTS = 1 << 12


def timed(graph: Any, stream: torch.cuda.Stream) -> tuple[float, float]:
    """Median microseconds of a replay, on the host and on the GPU."""
    host, device = [], []
    for _ in range(20):
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(stream):
            start.record()
            begin = time.perf_counter()
            graph.replay(stream)
            host.append(time.perf_counter() - begin)
            end.record()
        end.synchronize()
        device.append(start.elapsed_time(end))
    return 1e6 * statistics.median(host), 1000 * statistics.median(device)


def main() -> int:
    kernel, tile = addition(Path(sys.argv[1]), Path(sys.argv[2]))
    grid, stream = (ELEMENTS // tile,), torch.cuda.Stream()
    one, x, y = (torch.full((ELEMENTS,), value, device="cuda") for value in (1.0, 0.0, 0.0))
    torch.cuda.synchronize()
    with tileverify.graph() as chain:
        nodes = [chain.launch(grid, kernel, (one, *((x, y) if n % 2 == 0 else (y, x)))) for n in range(NODES)]
    chain.replay(stream)
    torch.cuda.synchronize()
    assert bool((x == NODES).all())
    assert bool((y == NODES - 1).all())
    outputs = [torch.empty(ELEMENTS, device="cuda") for _ in range(NODES)]
    with tileverify.graph() as wide:
        for out in outputs:
            wide.launch(grid, kernel, (one, x, out), after=[])
    for name, graph in (("one after the other", chain), ("all at once", wide)):
        host, device = timed(graph, stream)
        print(f"{NODES} nodes {name}: {device / NODES:.3f} us a node on the GPU, {host:.1f} us on the host for all")
    for count in (1, 10, 100):
        with tileverify.graph() as short:
            for n in range(count):
                short.launch(grid, kernel, (one, *((x, y) if n % 2 == 0 else (y, x))))
        host, device = timed(short, stream)
        print(
            f"{count} nodes one after the other: {device / count:.2f} us a node on the GPU, {host:.1f} us on the host"
        )
    x.zero_()
    torch.cuda.synchronize()
    chain.update(nodes[0], grid, (one, one, y))
    chain.replay(stream)
    torch.cuda.synchronize()
    assert bool((x == NODES + 1).all())
    try:
        with tileverify.graph() as wrong:
            wrong.launch(grid, kernel, (one, x, y))
            wrong.launch(grid, kernel, (one, y, x), after=[])
    except InFlightConflict as error:
        print(f"refused: {error}")
    else:
        raise AssertionError("unordered nodes")
    try:
        chain.update(nodes[0], (grid[0] + 1,), (one, x, y))
    except tileverify.LaunchRefused as error:
        print(f"refused: {error}")
    else:
        raise AssertionError("a grid that is too large")
    big = torch.full((1 << 28,), 1.0, device="cuda")
    with tileverify.graph() as owner:
        owner.launch(((1 << 28) // tile,), kernel, (big, big.clone(), torch.empty_like(big)))
    del big
    torch.cuda.empty_cache()
    for _ in range(10):
        owner.replay(stream)
    del owner
    others = [torch.full((1 << 28,), 5.0, device="cuda") for _ in range(3)]
    torch.cuda.synchronize()
    assert all(bool((each == 5).all()) for each in others)
    print("as expected")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
