"""Facts on a large index array, checked at every launch: on the device, and fetched to the host.

    python -m benchmarks.gpu.facts

A scatter that is proved if its places are distinct and lie inside.  Right places pass, one duplicate and one place
outside are refused; prints what a launch costs beside one past the check (`vouch`).  Needs torch, cuda.tile, the
solver, and `tileiras`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

import tileverify
from tileverify.launching import device_facts

from .kernels.elementwise import put

ELEMENTS = 1 << 20
ROUNDS = 20
FACTS = ("injective(places)", "range(places, 0, y.shape[0])")


def milliseconds(launch: Callable[[], object]) -> float:
    """Median of a launch, waited for."""
    times = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        launch()
        torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def main() -> int:
    places = torch.randperm(ELEMENTS, device="cuda", dtype=torch.int32)
    x = torch.rand(ELEMENTS, device="cuda")
    y = torch.full_like(x, float("nan"))
    grid, stream = (ELEMENTS // 1024,), torch.cuda.current_stream()

    def launch(**options: object) -> None:
        tileverify.launch(stream, grid, put, (places, x, y, 1024), data=FACTS, **options)

    launch()  # the proof looks at what the array holds anyway
    launch()
    torch.cuda.synchronize()
    assert torch.equal(y[places.long()], x)
    made = len(device_facts.device_facts()._plans)
    print(f"{made} kernels checked {ELEMENTS} places")
    assert made == 2, "the checks were not made on the device"
    on_device, vouched = milliseconds(launch), milliseconds(lambda: launch(vouch=True))
    whole, device_facts.FETCHED = device_facts.FETCHED, ELEMENTS
    fetched = milliseconds(launch)
    device_facts.FETCHED = whole
    print(f"a launch: checked on the device {on_device:.3f} ms, on the host {fetched:.3f} ms, vouched {vouched:.3f} ms")
    before = places[7].item()
    for what, wrong in (("duplicate", places[8].item()), ("outside", ELEMENTS), ("negative", -1)):
        places[7] = wrong
        try:
            launch()
        except tileverify.LaunchRefused as error:
            print(f"refused, {what}: {error}")
        else:
            raise AssertionError(what)
        places[7] = before
    launch()
    print("as expected")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
