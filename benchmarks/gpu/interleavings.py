"""Random programs on three streams: launches, events, frees, captures and replays; results are those of one stream.

    python -m benchmarks.gpu.interleavings BUNDLES KEY.pub [--programs N] [--seed N]

Every program is run twice by `tileverify.launch` and `tileverify.graph`: with all steps on one stream, and on three
that do not wait for each other, while the host is far ahead of the GPU.  Arrays are dropped while launches still use
them, and their places are taken by new ones at once.  The first run says what is right.  The tests have many more
programs, against a model, without a GPU.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import tileverify

ELEMENTS = 1 << 24
ARRAYS = 6
STEPS = 80
KINDS = ("launch",) * 6 + ("record", "wait", "wait", "free", "capture", "replay", "replay")

Step = tuple[str, int, tuple[int, ...]]
"""Kind, stream, and three numbers that choose arrays, events and graphs."""


def program(seed: int) -> list[Step]:
    draw = random.Random(seed)
    return [(draw.choice(KINDS), draw.randrange(3), tuple(draw.sample(range(ARRAYS), 3))) for _ in range(STEPS)]


class Machine(Protocol):
    """Where arrays lie."""

    def full(self, value: float) -> Any:
        """A new array that is there when this returns."""

    def same(self, one: Any, other: Any) -> bool:
        """Whether two arrays hold the same, bit for bit."""


@dataclass
class Run:
    """A program on ``streams``; ``grid``: of an addition ``kernel`` that takes two arrays and what is written."""

    machine: Machine
    streams: Sequence[Any]
    grid: tuple[int, ...]
    kernel: Any
    rest: tuple[Any, ...] = ()
    arrays: list[Any] = field(init=False)
    events: list[Any] = field(default_factory=list)
    graphs: list[Any] = field(default_factory=list)
    made: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arrays = [self.machine.full(number / 8) for number in range(ARRAYS)]

    def arguments(self, chosen: Sequence[int]) -> tuple[Any, ...]:
        return (*(self.arrays[each] for each in chosen), *self.rest)

    def step(self, step: Step) -> None:
        kind, number, chosen = step
        stream, work = self.streams[number], tileverify.in_flight()
        match kind:
            case "launch":
                tileverify.launch(stream, self.grid, self.kernel, self.arguments(chosen))
            case "record":
                self.events.append(work.record(stream))
            case "wait" if self.events:
                work.wait(stream, self.events[chosen[0] % len(self.events)])
            case "free":
                self.arrays[chosen[0]] = None  # dropped before the new one is made, which may get its memory
                self.arrays[chosen[0]] = self.machine.full(chosen[1] / 4)
            case "capture":
                with tileverify.graph() as graph:
                    graph.launch(self.grid, self.kernel, self.arguments(chosen))
                    graph.launch(self.grid, self.kernel, self.arguments(chosen[1:] + chosen[:1]))
                self.graphs = [*self.graphs[-2:], graph]
            case "replay" if self.graphs:
                self.graphs[chosen[0] % len(self.graphs)].replay(stream)
            case _:
                return
        self.made[kind] = self.made.get(kind, 0) + 1

    def result(self, steps: Sequence[Step]) -> list[Any]:
        for step in steps:
            self.step(step)
        tileverify.in_flight().synchronize()
        return self.arrays


def differing(machine: Machine, steps: Sequence[Step], run: Callable[[bool], Run]) -> int:
    """The arrays that three streams leave otherwise than one; ``run(alone)`` is ready for a program."""
    alone, apart = run(True).result(steps), run(False).result(steps)
    return sum(not machine.same(one, other) for one, other in zip(alone, apart, strict=True))


class Gpu:
    """Tensors of torch."""

    def full(self, value: float) -> Any:
        import torch

        made = torch.full((ELEMENTS,), value, device="cuda")
        torch.cuda.current_stream().synchronize()  # which nobody told tileverify about
        return made

    def same(self, one: Any, other: Any) -> bool:
        import torch

        return bool(torch.equal(one.nan_to_num(), other.nan_to_num()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    import torch

    from .common import addition

    kernel, tile = addition(options.bundles, options.key)
    grid = (ELEMENTS // tile,)
    three = [torch.cuda.Stream() for _ in range(3)]
    machine, wrong, made = Gpu(), [], dict.fromkeys(KINDS, 0)

    def run(alone: bool) -> Run:
        started = Run(machine, [three[0]] * 3 if alone else three, grid, kernel, made=made)
        torch.cuda.synchronize()
        return started

    for seed in range(options.seed, options.seed + options.programs):
        if differing(machine, program(seed), run):
            wrong.append(seed)
    print(f"{torch.cuda.get_device_name()}: {', '.join(f'{count} x {kind}' for kind, count in made.items())}")
    print(f"{len(wrong)} of {options.programs} programs differ from one stream: {wrong[:10]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
