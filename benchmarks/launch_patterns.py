"""Patterns of launches of ``out = x + y`` on several streams, endless, for the benchmarks of what a launch costs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

STREAMS: Final = (1, 2, 3, 8)

Step = tuple[int, tuple[Any, ...]]
"""The number of a stream, and the arrays."""

Tensors = Callable[[int], list[Any]]
"""So many new tensors."""


def apart(streams: int, draw: random.Random, tensors: Tensors) -> Iterator[Step]:
    """Every stream has arrays of its own, and two launches in turns."""
    arrays = [tensors(4) for _ in range(streams)]
    while True:
        for number, own in enumerate(arrays):
            yield number, (own[0], own[1], own[2])
            yield number, (own[1], own[2], own[3])


def steps(streams: int, draw: random.Random, tensors: Tensors) -> Iterator[Step]:
    """Every stream has 100 launches of its own, one after the other, that share two arrays to read with the others."""
    shared = tensors(2)
    arrays = [tensors(101) for _ in range(streams)]
    while True:
        for place in range(100):
            for number, own in enumerate(arrays):
                yield number, (shared[place % 2], own[place], own[place + 1])


def chain(streams: int, draw: random.Random, tensors: Tensors) -> Iterator[Step]:
    """Every launch reads what the one before wrote on another stream."""
    arrays = tensors(4)
    turn = 0
    while True:
        yield turn % streams, (arrays[turn % 4], arrays[(turn + 1) % 4], arrays[(turn + 2) % 4])
        turn += 1


def drawn(streams: int, draw: random.Random, tensors: Tensors) -> Iterator[Step]:
    """Any stream, and three of 24 arrays, in one of 200 ways."""
    arrays = tensors(24)
    triples = [tuple(draw.sample(arrays, 3)) for _ in range(200)]
    while True:
        yield draw.randrange(streams), draw.choice(triples)


KINDS: Final[dict[str, Callable[[int, random.Random, Tensors], Iterator[Step]]]] = {
    "apart": apart,
    "steps": steps,
    "chain": chain,
    "drawn": drawn,
}
