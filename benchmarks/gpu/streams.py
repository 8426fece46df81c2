"""Random launches on three streams that nobody orders but tileverify: the results are those of one stream.

    python -m benchmarks.gpu.streams BUNDLES KEY.pub [--launches N] [--seed N]

Additions among eight large arrays, on streams that do not wait for each other.  Every conflict has to be ordered as the
launches were issued; the same launches made past the ledger show how often that goes wrong.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import tileverify
from tileverify.backend.inflight import InFlightConflict

from .latency import bundles

ELEMENTS = 1 << 22
ARRAYS = 8


def start() -> list[torch.Tensor]:
    generator = torch.Generator(device="cuda").manual_seed(1)
    return [torch.rand(ELEMENTS, device="cuda", generator=generator) for _ in range(ARRAYS)]


def wrong(steps: list[tuple[int, int, int, int]], launch: Callable[[int, tuple[Any, ...]], None]) -> int:
    """The arrays that differ from those of one stream."""
    expected = start()
    for _, x, y, out in steps:
        torch.add(expected[x], expected[y], out=expected[out]).mul_(1)
    arrays = start()
    torch.cuda.synchronize()
    for stream, x, y, out in steps:
        launch(stream, (arrays[x], arrays[y], arrays[out]))
    torch.cuda.synchronize()
    return sum(not torch.equal(a, b) for a, b in zip(arrays, expected, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("--launches", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    symbol, kernel = next(
        (symbol, kernel)
        for symbol, kernel in bundles(options.bundles, options.key).items()
        if "add_Kt2_A1f32" in symbol
    )
    tile = int(symbol.rsplit("_I", 1)[1].split(".")[0])
    grid = (ELEMENTS // tile,)
    streams = [torch.cuda.Stream() for _ in range(3)]
    draw = random.Random(options.seed)
    steps = [(draw.randrange(3), *draw.sample(range(ARRAYS), 3)) for _ in range(options.launches)]

    def ordered(stream: int, arguments: tuple[Any, ...]) -> None:
        tileverify.launch(streams[stream], grid, kernel, arguments)

    def unordered(stream: int, arguments: tuple[Any, ...]) -> None:
        plan, _ = kernel._remembered._plans[kernel._remembered._read(grid, arguments)]
        plan.launch(streams[stream])

    first = wrong(steps, ordered)
    print(f"{options.launches} launches on three streams: {first} of {ARRAYS} arrays differ")
    assert first == 0
    arrays = start()
    for x in range(ARRAYS):
        for y in range(ARRAYS):
            for out in range(ARRAYS):
                if len({x, y, out}) == 3:
                    ordered(0, (arrays[x], arrays[y], arrays[out]))
    tileverify.in_flight().synchronize()
    strict = tileverify.in_flight()
    strict.strict = True
    try:
        for stream, x, y, out in steps:
            ordered(stream, (arrays[x], arrays[y], arrays[out]))
    except InFlightConflict as error:
        print(f"strict: {error}")
    else:
        raise AssertionError("nothing was refused")
    strict.strict = False
    strict.synchronize()
    kept = torch.rand(ELEMENTS, device="cuda")
    tileverify.launch(streams[0], grid, kernel, (arrays[0], arrays[1], kept))
    kept.data = torch.rand(ELEMENTS, device="cuda")
    try:
        tileverify.in_flight().synchronize()
    except InFlightConflict as error:
        print(f"moved: {error}")
    else:
        raise AssertionError("the move was not seen")

    def past(stream: int, arguments: tuple[Any, ...]) -> None:
        try:
            unordered(stream, arguments)
        except KeyError:
            ordered(stream, arguments)

    print(f"the same launches past the ledger: {wrong(steps, past)} of {ARRAYS} arrays differ")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
