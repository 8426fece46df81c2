"""Launches that may start before the one ahead of them has ended: results are right, and what it saves.

    tileverify build benchmarks/gpu/kernels/early.py::add_behind -o BUNDLES/add_behind.tvk --arch sm_90 --sign key.pem
    tileverify build benchmarks/gpu/kernels/early.py::add_beside -o BUNDLES/add_beside.tvk --arch sm_90 --sign key.pem
    python -m benchmarks.gpu.early BUNDLES KEY.pub

Chains of additions, each of which reads what the one before it wrote, on the default stream, and on it and another in
turns.  A kernel that waits first is started early; one that does not is not, though the launch permits it, and the last
lines show what it leaves where it is started early all the same.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import tileverify
from tileverify.launching.bundled import BundledKernel, load

LAUNCHES = 1000
ROUNDS = 15
TILE = 1024
SIZES = (1 << 12, 1 << 18, 1 << 24)


class Chain:
    """``y = x + 1`` and ``x = y + 1`` in turns; in the end both are known."""

    def __init__(self, kernel: BundledKernel, size: int) -> None:
        self.kernel, self.grid = kernel, (size // TILE,)
        self.one, self.x, self.y = (torch.empty(size, device="cuda") for _ in range(3))

    def reset(self) -> None:
        self.one.fill_(1)
        self.x.zero_()
        self.y.zero_()
        torch.cuda.synchronize()

    def arguments(self, number: int) -> tuple[Any, ...]:
        return (self.one, *((self.x, self.y) if number % 2 == 0 else (self.y, self.x)), TILE)

    def wrong(self) -> int:
        """Elements that are not as they should be after `LAUNCHES` launches."""
        torch.cuda.synchronize()
        return int((self.x != LAUNCHES).sum()) + int((self.y != LAUNCHES - 1).sum())

    def microseconds(self, launch: Callable[[int], object], stream: torch.cuda.Stream) -> float:
        """Of a launch on the GPU."""
        times = []
        for _ in range(ROUNDS):
            self.reset()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record(stream)
            for number in range(LAUNCHES):
                launch(number)
            end.record(stream)
            assert not self.wrong()
            times.append(1000 * start.elapsed_time(end) / LAUNCHES)
        return statistics.median(times)


def main() -> int:
    folder, key = Path(sys.argv[1]), Path(sys.argv[2])
    behind, beside = (
        load(folder / f"{name}.tvk", keys=[key], only_signed=True) for name in ("add_behind", "add_beside")
    )
    streams = [torch.cuda.current_stream(), torch.cuda.Stream()]  # torch lets them not wait for each other
    print(torch.cuda.get_device_name())
    for size in SIZES:
        for name, kernel in (("waits", behind), ("does not wait", beside)):
            chain = Chain(kernel, size)
            plan = kernel.planned(streams[0], chain.grid, chain.arguments(0), programmatic_dependent_launch=True)
            assert plan.plan.early == (kernel is behind)  # type: ignore[union-attr]
            times = {}
            for early in (False, True):

                def launch(number: int, chain: Chain = chain, early: bool = early) -> None:
                    tileverify.launch(
                        streams[0], chain.grid, chain.kernel, chain.arguments(number),
                        programmatic_dependent_launch=early,
                    )  # fmt: skip

                times[early] = chain.microseconds(launch, streams[0])
            chain.reset()
            for number in range(LAUNCHES):  # order between streams beside early starts
                tileverify.launch(
                    streams[number // 3 % 2], chain.grid, kernel, chain.arguments(number),
                    programmatic_dependent_launch=True,
                )  # fmt: skip
            assert not chain.wrong()
            print(
                f"{size} elements, {name}: {times[False]:.2f} us a launch in order, {times[True]:.2f} us as permitted"
            )
    chain = Chain(beside, SIZES[-1])
    forced = [
        beside._on(0).plan((*chain.grid, 1, 1), beside_values(beside, chain.arguments(number)), early=True)
        for number in (0, 1)
    ]
    chain.reset()
    for number in range(LAUNCHES):
        forced[number % 2].launch(streams[0])
    print(f"started early without a wait: {chain.wrong()} elements wrong")
    print("as expected")
    return 0


def beside_values(kernel: BundledKernel, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """The arguments by name, past the contract."""
    from tileverify.backend.guard.arguments import array_value

    return {each.name: array_value(value) for each, value in zip(kernel.guard.order, arguments[:-1], strict=True)}


if __name__ == "__main__":
    raise SystemExit(main())
