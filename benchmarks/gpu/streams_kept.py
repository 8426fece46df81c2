"""What is kept alive for launches in flight, and streams that are not torch's: on a GPU.

    python -m benchmarks.gpu.streams_kept BUNDLES KEY.pub

* Results that nobody wants go back to torch after some gigabytes, however few launches made them.
* Streams of CuPy come and go, each thread has a default stream of its own, and both are ordered with the others.
* Launches on a stream that is being captured are refused where they would have to be ordered.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import tileverify
from tileverify.launching import in_flight as of_in_flight
from tileverify.launching import launch_log as of_journal

from .common import addition

ELEMENTS = 1 << 26
RESULTS = 160


class Scene:
    def __init__(self, kernel: Any, tile: int) -> None:
        self.kernel, self.tile = kernel, tile

    def add(self, stream: object, x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
        tileverify.launch(stream, (out.numel() // self.tile,), self.kernel, (x, y, out))

    def peak(self, streams: list[Any]) -> float:
        """GiB that torch held at most while results of a quarter of one were made and dropped."""
        tileverify.in_flight().synchronize()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        x, y = (torch.rand(ELEMENTS, device="cuda") for _ in range(2))
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        for number in range(RESULTS):
            self.add(streams[number % len(streams)], x, y, torch.empty_like(x))
        found = torch.cuda.max_memory_allocated() / (1 << 30)
        tileverify.in_flight().synchronize()
        return float(found)


def results(scene: Scene) -> None:
    one, two = [torch.cuda.current_stream()], [torch.cuda.Stream(), torch.cuda.Stream()]
    for name, streams in (("one stream", one), ("two streams", two)):
        print(
            f"{RESULTS} results of {4 * ELEMENTS >> 20} MiB, {name}: {scene.peak(streams):.2f} GiB at most", flush=True
        )
    before = of_journal.MOST_BYTES
    of_journal.MOST_BYTES = 1 << 60  # type: ignore[misc]
    if hasattr(of_in_flight, "MOST_BYTES"):
        of_in_flight.MOST_BYTES = 1 << 60  # type: ignore[attr-defined]
    tileverify.in_flight().journal.room = 1 << 60
    print(f"the same, one stream, without a look at bytes: {scene.peak(one):.2f} GiB at most", flush=True)
    of_journal.MOST_BYTES = before  # type: ignore[misc]
    tileverify.in_flight().journal.room = before


def coming_and_going(scene: Scene) -> None:
    """A chain over streams that are dropped as soon as they were given a launch."""
    import cupy

    arrays = [torch.zeros(ELEMENTS, device="cuda") for _ in range(2)]
    one = torch.ones(ELEMENTS, device="cuda")
    torch.cuda.synchronize()
    handles = set()
    for number in range(100):
        stream = cupy.cuda.Stream(non_blocking=True)
        handles.add(stream.ptr)
        scene.add(stream, arrays[number % 2], one, arrays[1 - number % 2])
        del stream
    torch.cuda.synchronize()
    right = bool((arrays[0] == 100).all())
    print(f"100 launches in a chain on streams that come and go, {len(handles)} handles: {right}", flush=True)
    assert right
    tileverify.in_flight().synchronize()


def default_streams_of_threads(scene: Scene) -> None:
    """Two threads, one handle, two streams: a chain from one to the other."""
    arrays = [torch.zeros(ELEMENTS, device="cuda") for _ in range(2)]
    one = torch.ones(ELEMENTS, device="cuda")
    torch.cuda.synchronize()
    turn = [threading.Semaphore(1), threading.Semaphore(0)]
    failed: list[BaseException] = []

    def run(me: int) -> None:
        try:
            torch.cuda.set_device(0)
            for number in range(me, 60, 2):
                turn[me].acquire()
                scene.add(2, arrays[number % 2], one, arrays[1 - number % 2])
                turn[1 - me].release()
        except BaseException as error:
            failed.append(error)
            turn[1 - me].release()

    threads = [threading.Thread(target=run, args=(me,)) for me in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    torch.cuda.synchronize()
    right = bool((arrays[0] == 60).all())
    print(f"60 launches in a chain on the default streams of two threads: {right} {failed}", flush=True)
    assert right
    tileverify.in_flight().synchronize()


def captured(scene: Scene) -> None:
    x, y, out, other = (torch.rand(ELEMENTS, device="cuda") for _ in range(4))
    side = torch.cuda.Stream()
    for _ in range(40):
        scene.add(side, x, y, out)
    graph, said = torch.cuda.CUDAGraph(), "nothing"
    try:
        with torch.cuda.graph(graph):
            scene.add(torch.cuda.current_stream(), x, y, other)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    print(f"captured beside work of another stream: {said}", flush=True)
    torch.cuda.synchronize()
    tileverify.in_flight().synchronize()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=Path)
    parser.add_argument("key", type=Path)
    options = parser.parse_args()
    scene = Scene(*addition(options.bundles, options.key))
    parts: list[Callable[[Scene], None]] = [results, coming_and_going, default_streams_of_threads, captured]
    failed = 0
    for part in parts:
        try:
            part(scene)
        except Exception as error:
            failed += 1
            print(f"{part.__name__}: {type(error).__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
