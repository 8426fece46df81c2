"""Random launches on four streams that nobody orders but tileverify: the results are those of one stream.

    python -m benchmarks.gpu.streams BUNDLES KEY.pub [--rounds N] [--seed N]

Additions among eight large arrays, on the default stream and three that do not wait for it or each other; the host is
far ahead of the GPU.  Every conflict has to be ordered as the launches were issued.  The same launches past the ledger
show how often that goes wrong otherwise.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import tileverify
from tileverify.backend.ledger import InFlightConflict
from tileverify.launching.bundled import BundledKernel

from .common import addition

ELEMENTS = 1 << 25
ARRAYS = 8
LAUNCHES = 60  # of a round: sums stay finite

Step = tuple[int, int, int, int]
"""Stream, and the arrays of ``out = x + y``."""


def start(seed: int) -> list[torch.Tensor]:
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return [torch.rand(ELEMENTS, device="cuda", generator=generator) for _ in range(ARRAYS)]


class Scene:
    """A kernel that adds, and four streams."""

    def __init__(self, kernel: BundledKernel, tile: int) -> None:
        self.kernel, self.grid = kernel, (ELEMENTS // tile,)
        self.streams = [torch.cuda.default_stream(), *(torch.cuda.Stream() for _ in range(3))]

    def ordered(self, stream: int, arguments: tuple[Any, ...]) -> Callable[[], None]:
        return lambda: tileverify.launch(self.streams[stream], self.grid, self.kernel, arguments)

    def past(self, stream: int, arguments: tuple[Any, ...]) -> Callable[[], None]:
        planned = self.kernel.planned(self.streams[stream], self.grid, arguments)
        assert planned is not None
        return lambda: planned.plan.launch(self.streams[stream])

    def differing(self, steps: list[Step], seed: int, way: Callable[[int, tuple[Any, ...]], Callable[[], None]]) -> int:
        """The arrays that differ from those of one stream."""
        expected, arrays = start(seed), start(seed)
        for _, x, y, out in steps:
            torch.add(expected[x], expected[y], out=expected[out])
        made = [way(stream, (arrays[x], arrays[y], arrays[out])) for stream, x, y, out in steps]
        torch.cuda.synchronize()
        for launch in made:
            launch()
        torch.cuda.synchronize()
        assert all(bool(torch.isfinite(each).all()) for each in expected)
        return sum(not torch.equal(a, b) for a, b in zip(arrays, expected, strict=True))


def refusals(scene: Scene, steps: list[Step]) -> None:
    """Strict mode, and memory that moves."""
    arrays = start(1)
    for stream, x, y, out in steps:
        scene.ordered(stream, (arrays[x], arrays[y], arrays[out]))()
    work = tileverify.in_flight()
    work.synchronize()
    work.strict = True
    said = ""
    try:
        for stream, x, y, out in steps:
            scene.ordered(stream, (arrays[x], arrays[y], arrays[out]))()
    except InFlightConflict as error:
        said = str(error)
    assert "TV504" in said, "nothing was refused"
    print(f"strict: {said}")
    work.strict = False
    work.synchronize()
    kept = torch.rand(ELEMENTS, device="cuda")
    scene.ordered(0, (arrays[0], arrays[1], kept))()
    kept.data = torch.rand(ELEMENTS, device="cuda")
    said = ""
    try:
        work.synchronize()
    except InFlightConflict as error:
        said = str(error)
    assert "moved" in said, "the move was not seen"
    print(f"moved: {said}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    scene = Scene(*addition(options.bundles, options.key))
    draw = random.Random(options.seed)
    rounds = [
        [(draw.randrange(4), *draw.sample(range(ARRAYS), 3)) for _ in range(LAUNCHES)] for _ in range(options.rounds)
    ]
    refusals(scene, rounds[0])
    for name, way in (("ordered by tileverify", scene.ordered), ("past the ledger", scene.past)):
        wrong = [scene.differing(steps, seed, way) for seed, steps in enumerate(rounds)]
        print(f"{name}: {sum(each > 0 for each in wrong)} of {len(rounds)} rounds of {LAUNCHES} launches differ")
        assert way != scene.ordered or not any(wrong)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
