"""What a launch costs the host while several streams have work, on a machine without a GPU.

    python -m benchmarks.launch_streams [--json FILE]

Launches in the patterns of `benchmarks.launch_patterns`, on the way of `benchmarks.launch_path`, with a driver that
does nothing: microseconds of processor time a launch, the least of several rounds, and how many events are recorded,
asked for and waited for a launch.  The GPU finishes launches so many launches after they were made (`BEHIND`).
`benchmarks.gpu.stream_latency` measures the whole.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tileverify.backend.gpu import loaded
from tileverify.backend.ledger import StreamId
from tileverify.launching.bundled import BundledKernel
from tileverify.launching.in_flight import InFlight
from tileverify.launching.launch_cache import Remembered

from .launch_path import GRID, Stream, nothing, planned
from .launch_patterns import KINDS, STREAMS

LAUNCHES = 2000
ROUNDS = 5
BEHIND = (100, 0)


@dataclass
class Device:
    """Events are the number of launches before them, of all streams; those of ``behind`` launches ago are over."""

    behind: int
    made: int = 0
    known: dict[int, StreamId] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("record", "wait", "done"), 0))

    def stream(self, device: int, stream: Any) -> StreamId:
        found = self.known.get(stream.cuda_stream)
        if found is None:
            found = self.known[stream.cuda_stream] = StreamId(device, stream.cuda_stream, blocking=False)
        return found

    def record(self, stream: StreamId) -> int:
        self.counts["record"] += 1
        return self.made

    def wait(self, stream: StreamId, event: int) -> None:
        self.counts["wait"] += 1

    def done(self, event: int) -> bool:
        self.counts["done"] += 1
        return event <= self.made - self.behind

    def synchronize(self, event: int) -> None:
        pass


def tensors(count: int) -> list[torch.Tensor]:
    return [torch.rand(1 << 10) for _ in range(count)]


def measured(kind: str, streams: int, behind: int) -> dict[str, float]:
    """Microseconds a launch, and calls of the driver for events."""
    device = Device(behind)
    work = InFlight(device)
    remembered = Remembered(work)
    kernel = BundledKernel(None, "add.tvk", tileverify_again=remembered.again, _remembered=remembered)  # type: ignore[arg-type]
    objects = [Stream(number + 1) for number in range(streams)]
    steps = KINDS[kind](streams, random.Random(1), tensors)
    best, counts = float("inf"), {}
    for _ in range(ROUNDS):
        part = [next(steps) for _ in range(LAUNCHES)]
        for number, arrays in part:  # each is known by the time it is measured
            device.made += 1
            if not remembered.made(objects[number], GRID, arrays, untried=True):
                remembered.first(objects[number], GRID, arrays, planned(arrays))
        kernel.tileverify_again = remembered.again
        given = [(objects[number], arrays) for number, arrays in part]
        device.counts = dict.fromkeys(device.counts, 0)
        start = time.process_time_ns()
        for stream, arrays in given:
            device.made += 1
            kernel.launch(stream, GRID, arrays)
        spent = time.process_time_ns() - start
        if spent < best:
            best, counts = spent, dict(device.counts)
    return {"us": best / LAUNCHES / 1000} | {name: count / LAUNCHES for name, count in counts.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    loaded._cu_launch_kernel_ex = lambda: nothing
    print(f"Python {sys.version.split()[0]}, torch {torch.__version__}")
    rows = {}
    for behind, kind, streams in itertools.product(BEHIND, KINDS, STREAMS):
        name = f"{kind}, {streams} streams, {behind} behind"
        row = rows[name] = measured(kind, streams, behind)
        print(f"{name:34}{row['us']:8.2f} us  " + "  ".join(f"{k} {v:.2f}" for k, v in row.items() if k != "us"))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
