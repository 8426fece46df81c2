"""Facts on a large index array, checked at every launch: on the device, and fetched to the host.

    python -m benchmarks.gpu.facts

A scatter that is proved if its places are distinct and lie inside.  Right places pass, one duplicate and one place
outside are refused; prints what a launch costs beside one past the check (`vouch`).  Needs torch, cuda.tile, the
solver, and `tileiras`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import tileverify
from tileverify.launching import contents

from .kernels.elementwise import put

ELEMENTS = 1 << 20
ROUNDS = 20
FACTS = ("injective(places)", "range(places, 0, y.shape[0])")


def put_all(stream: Any, places: Any, x: Any, y: Any, **options: Any) -> None:
    """``y[places] = x``, with the facts checked."""
    tileverify.launch(stream, (-(-len(places) // 1024),), put, (places, x, y, 1024), data=FACTS, **options)


def refusals(launch: Callable[[], object], places: Any) -> Iterator[str]:
    """What is said of one duplicate, one place outside and a negative one; the places are right again behind it."""
    before = int(places[7])
    for what, wrong in (("duplicate", int(places[8])), ("outside", len(places)), ("negative", -1)):
        places[7] = wrong
        try:
            launch()
        except tileverify.LaunchRefused as error:
            yield f"refused, {what}: {error}"
        else:
            raise AssertionError(what)
        finally:
            places[7] = before


def milliseconds(launch: Callable[[], object]) -> float:
    """Median of a launch, waited for."""
    import torch

    times = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        launch()
        torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def main() -> int:
    import torch

    places = torch.randperm(ELEMENTS, device="cuda", dtype=torch.int32)
    x = torch.rand(ELEMENTS, device="cuda")
    y = torch.full_like(x, float("nan"))
    launch = partial(put_all, torch.cuda.current_stream(), places, x, y)

    launch()  # the proof looks at what the array holds anyway
    launch()
    torch.cuda.synchronize()
    assert torch.equal(y[places.long()], x)
    made = len(contents.device_facts()._plans)
    print(f"{made} kernels checked {ELEMENTS} places")
    assert made == 2, "the checks were not made on the device"
    on_device, vouched = milliseconds(launch), milliseconds(lambda: launch(vouch=True))
    with mock.patch.object(contents, "FETCHED", ELEMENTS):
        fetched = milliseconds(launch)
    print(f"a launch: checked on the device {on_device:.3f} ms, on the host {fetched:.3f} ms, vouched {vouched:.3f} ms")
    for said in refusals(launch, places):
        print(said)
    launch()
    print("as expected")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
