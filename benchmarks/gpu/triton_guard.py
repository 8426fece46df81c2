"""What `tileverify.patch` costs a launch of Triton's own launcher on the host.

    python -m benchmarks.gpu.triton_guard

Host time of a launch, medians of rounds in turn: bare; guarded, made before; guarded, with arrays at other places.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

LAUNCHES = 2000
ROUNDS = 15


def main() -> int:
    import torch
    import triton

    import tileverify

    from .kernels import translated as kernels

    n = 4096
    made = [torch.randn(n, device="cuda") for _ in range(3)]
    places = cycle([[torch.randn(n, device="cuda") for _ in range(3)] for _ in range(1100)])  # more than are remembered

    def launch(arguments: list[Any]) -> None:
        kernels.add[(triton.cdiv(n, 1024),)](*arguments, n, BLOCK=1024)

    def rounds() -> Iterator[tuple[float, float, float]]:
        for _ in range(ROUNDS):
            bare = timed(lambda: launch(made))
            with tileverify.patch():
                launch(made)
                again = timed(lambda: launch(made))
                elsewhere = timed(lambda: launch(next(places)))
            yield bare, again, elsewhere

    launch(made)
    columns = list(zip(*rounds(), strict=True))
    for name, column in zip(("bare", "made before", "other places"), columns, strict=True):
        print(f"{name:13} {statistics.median(column):7.2f} us  ({min(column):.2f} to {max(column):.2f})")
    wrong = torch.randn(n - 1, device="cuda")
    try:
        with tileverify.patch():
            launch([made[0], made[1], wrong])
    except tileverify.LaunchRefused as refused:
        print(f"refused: {refused}")
        return 0
    return 1


def timed(launch: Callable[[], None]) -> float:
    """Microseconds of host time for each of many launches."""
    import torch

    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(LAUNCHES):
        launch()
    spent = time.perf_counter() - begun
    torch.cuda.synchronize()
    return spent / LAUNCHES * 1e6


if __name__ == "__main__":
    raise SystemExit(main())
