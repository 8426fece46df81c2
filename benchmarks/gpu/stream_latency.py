"""What a launch costs the host while several streams have work.

    python -m benchmarks.gpu.stream_latency BUNDLES KEY.pub [--json FILE]

``BUNDLES`` has the bundles of `launches`.  Small additions in the patterns of `benchmarks.launch_patterns`, issued in a
row; microseconds of the host a launch, medians.  *Behind*: every stream was given some long launches before, so that
nothing finishes meanwhile; *ahead*: the GPU finishes what it is given at once.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import tileverify

from ..launch_patterns import KINDS, STREAMS, Step
from .common import addition

LAUNCHES = 192
ROUNDS = 15
ELEMENTS = 1 << 16
LONG = 1 << 27
LONG_LAUNCHES = 8


class Scene:
    """A kernel that adds, streams, and long launches that keep them busy."""

    def __init__(self, kernel: Any, tile: int, streams: int) -> None:
        self.kernel, self.tile = kernel, tile
        self.streams = [torch.cuda.Stream() for _ in range(streams)]
        self.long = [torch.zeros(LONG, device="cuda") for _ in range(2 + streams)]
        torch.cuda.synchronize()

    def busy(self) -> None:
        for stream, out in zip(self.streams, self.long[2:], strict=True):
            for _ in range(LONG_LAUNCHES):
                tileverify.launch(stream, (LONG // self.tile,), self.kernel, (*self.long[:2], out))

    def round(self, steps: Sequence[Step], *, behind: bool) -> float:
        """Microseconds a launch."""
        given = [(self.streams[number], arrays) for number, arrays in steps]
        grid, kernel = (ELEMENTS // self.tile,), self.kernel
        tileverify.in_flight().synchronize()
        torch.cuda.synchronize()
        if behind:
            self.busy()
        start = time.perf_counter_ns()
        for stream, arrays in given:
            tileverify.launch(stream, grid, kernel, arrays)
        spent = time.perf_counter_ns() - start
        tileverify.in_flight().synchronize()
        return spent / len(given) / 1000


def tensors(count: int) -> list[torch.Tensor]:
    return [torch.rand(ELEMENTS, device="cuda") for _ in range(count)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    kernel, tile = addition(options.bundles, options.key)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    rows: dict[str, dict[str, float]] = {}
    for streams in STREAMS:
        scene = Scene(kernel, tile, streams)
        for kind in KINDS:
            pattern = KINDS[kind](streams, random.Random(1), tensors)
            steps = [next(pattern) for _ in range(LAUNCHES)]
            row: dict[str, float] = {}
            for name in ("behind", "ahead"):
                times = [scene.round(steps, behind=name == "behind") for _ in range(ROUNDS + 2)]
                row[name] = statistics.median(times[2:])
            rows[f"{kind}, {streams} streams"] = row
            told = "  ".join(f"{name} {us:6.2f} us" for name, us in row.items())
            print(f"{kind:16}{streams} streams  {told}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1) + "\n")
        del scene
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
