"""What the driver's calls for events cost the host, as tileverify makes them: nanoseconds, the least of several rounds.

python -m benchmarks.gpu.event_calls
"""

from __future__ import annotations

import timeit
from collections.abc import Callable

import torch

from tileverify.backend.gpu.driver import CudaDevice
from tileverify.backend.ledger import StreamId

CALLS = 200
ROUNDS = 15


def main() -> int:
    torch.zeros(1, device="cuda")
    device, one, other = CudaDevice(), torch.cuda.Stream(), torch.cuda.Stream()
    streams = {"of torch": device.stream(0, one), "the default one": StreamId(0, 0)}
    waiting = device.stream(0, other)
    ways: dict[str, Callable[[], object]] = {
        "which stream, of torch": lambda: device.stream(0, one),
        "which stream, a handle": lambda: CudaDevice().stream(0, one.cuda_stream),
    }
    for name, stream in streams.items():
        event = device.record(stream)
        ways |= {
            f"record, {name}": lambda stream=stream: device.record(stream),  # type: ignore[misc]
            f"wait for {name}": lambda event=event: device.wait(waiting, event),  # type: ignore[misc]
            f"let {name} wait": lambda stream=stream, event=event: device.wait(stream, event),  # type: ignore[misc]
            f"ask, {name}": lambda event=event: device.done(event),  # type: ignore[misc]
        }
    for name, way in ways.items():
        way()
        best = float("inf")
        for _ in range(ROUNDS):
            torch.cuda.synchronize()
            best = min(best, timeit.timeit(way, number=CALLS))
        print(f"{name:28}{best / CALLS * 1e9:8.0f} ns", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
