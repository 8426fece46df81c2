"""What a guarded launch costs the host beside the driver's call, on a machine without a GPU.

    python -m benchmarks.launch_path

Needs torch (a CPU build will do).  Tensors are torch's, in the memory of the host; the driver's entry point is a
function of the C library that looks at nothing and gives 0.  Nanoseconds a launch, the least of many rounds, with the
time of the C function taken off.  `benchmarks.launch_streams` has several streams, `benchmarks.gpu.latency` measures
the whole on a GPU.
"""

from __future__ import annotations

import ctypes
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

import tileverify
from tileverify.backend.gpu import loaded
from tileverify.backend.gpu.loaded import Plan, packed
from tileverify.backend.ledger import ByteAccess, StreamId
from tileverify.launching.bundled import BundledKernel
from tileverify.launching.in_flight import InFlight
from tileverify.launching.launch_cache import Planned, Remembered
from tileverify.launching.launch_log import Use

ROUNDS = 600
LAUNCHES = 1024
GRID = (64,)
Launch = Callable[[], object]

nothing = ctypes.PyDLL(None).pthread_equal
"""In the driver's place, with the lock held as that has it; of two addresses that differ: 0."""


class Stream:
    """A stream as torch shows it."""

    __slots__ = ("cuda_stream",)

    def __init__(self, handle: int = 0) -> None:
        self.cuda_stream = handle


class Device:
    """A device that has always finished."""

    def stream(self, device: int, stream: Any) -> StreamId:
        return StreamId(device, stream.cuda_stream)

    def record(self, stream: StreamId) -> Any:
        return stream

    def wait(self, stream: StreamId, event: Any) -> None:
        raise AssertionError("there is one stream")

    def done(self, event: Any) -> bool:
        return True

    def synchronize(self, event: Any) -> None:
        pass


def planned(arguments: tuple[torch.Tensor, ...]) -> Planned:
    at = [each.data_ptr() for each in arguments]
    ends = [start + each.nbytes for start, each in zip(at, arguments, strict=True)]
    spans = zip(at, ends, "xyo", strict=True)
    use = Use("add", 0, tuple(ByteAccess(start, end, name == "o", name) for start, end, name in spans))
    kernel: Any = SimpleNamespace(function=ctypes.c_void_p(1 << 40), symbol="add")
    return Planned(Plan(kernel, (*GRID, 1, 1), packed([], [], {}, {})), use, again=True)


def ways() -> dict[str, Launch]:
    """Every way to make the same launch, and launches of one kernel with eight sets of arrays in turns."""
    stream, remembered = Stream(), Remembered(InFlight(Device()))
    sets = [tuple(torch.rand(1 << 10) for _ in range(3)) for _ in range(8)]
    for arguments in sets:
        remembered.first(stream, GRID, arguments, planned(arguments))
    kernel = BundledKernel(None, "add.tvk", tileverify_again=remembered.again, _remembered=remembered)  # type: ignore[arg-type]
    arguments, plan = sets[0], planned(sets[0]).plan
    for each in sets:
        assert remembered.launch(stream, GRID, each)
        assert remembered.again(stream, GRID, each), "torch does not offer the quick question"
    turn = iter(lambda: [tileverify.launch(stream, GRID, kernel, each) for each in sets], None)
    return {
        "a plan alone": lambda: plan.launch(stream),
        "BundledKernel.launch": lambda: kernel.launch(stream, GRID, arguments),
        "tileverify.launch": lambda: tileverify.launch(stream, GRID, kernel, arguments),
        "tileverify.launch, fresh tuple": lambda: tileverify.launch(stream, GRID, kernel, (*arguments,)),
        "tileverify.launch, 8 in turns": lambda: next(turn),
        "by all that it depends on": lambda: remembered.launch(stream, GRID, arguments),
    }


def main() -> int:
    loaded._cu_launch_kernel_ex = lambda: nothing
    pointer = ctypes.byref(ctypes.c_int())
    bare = timed(lambda: nothing(pointer, None, None, None))
    print(f"Python {sys.version.split()[0]}, torch {torch.__version__}, {Path(__file__).name}")
    for name, launch in ways().items():
        each = timed(launch) / (8 if "8 in turns" in name else 1)
        print(f"{name:32}{each - bare:8.0f} ns")
    return 0


def timed(launch: Launch) -> float:
    """Nanoseconds a call."""
    return min(timeit.repeat(launch, number=LAUNCHES, repeat=ROUNDS)) / LAUNCHES * 1e9


if __name__ == "__main__":
    raise SystemExit(main())
