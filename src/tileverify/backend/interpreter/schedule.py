"""Schedules: in which order the blocks of a launch run, and how far accesses of one block move apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count, islice
from random import Random
from typing import TypeVar

T = TypeVar("T")


class BlockOrder(Enum):
    """Which block goes on.  All but the last run a block until it ends or waits for another one."""

    SEQUENTIAL = "in order"
    REVERSED = "in reverse order"
    SHUFFLED = "in random order"
    INTERLEAVED = "interleaved"


class AccessOrder(Enum):
    """When accesses of one block happen that no token path orders.

    ``PROGRAM``: as written.  ``EXTREME``: weak stores as late and weak loads as early as their tokens allow.
    ``RANDOM``: any stores and loads, as drawn.
    """

    PROGRAM = "accesses as written"
    EXTREME = "weak stores late and weak loads early"
    RANDOM = "accesses moved at random"


@dataclass(frozen=True, slots=True)
class Schedule:
    """One way through a launch; the same schedule gives the same run."""

    blocks: BlockOrder = BlockOrder.SEQUENTIAL
    accesses: AccessOrder = AccessOrder.PROGRAM
    seed: int = 0

    def __str__(self) -> str:
        drawn = self.blocks in (BlockOrder.SHUFFLED, BlockOrder.INTERLEAVED) or self.accesses is AccessOrder.RANDOM
        parts = [f"blocks {self.blocks.value}"]
        if self.accesses is not AccessOrder.PROGRAM:
            parts.append(self.accesses.value)
        return ", ".join([*parts, f"seed {self.seed}"] if drawn else parts)

    def arranged(self, blocks: Sequence[T], source: Random) -> list[T]:
        """``blocks`` in the order in which they start."""
        arranged = list(blocks)
        if self.blocks is BlockOrder.REVERSED:
            arranged.reverse()
        elif self.blocks is not BlockOrder.SEQUENTIAL:
            source.shuffle(arranged)
        return arranged


def standard_schedules(number: int, seed: int = 0) -> tuple[Schedule, ...]:
    """``number`` different schedules: plain and extreme orders first, then ones that are drawn from ``seed`` on."""
    return tuple(islice(_all_schedules(seed), number))


def _all_schedules(seed: int) -> Iterator[Schedule]:
    yield Schedule(BlockOrder.SEQUENTIAL)
    yield Schedule(BlockOrder.REVERSED)
    yield Schedule(BlockOrder.SEQUENTIAL, AccessOrder.EXTREME)
    yield Schedule(BlockOrder.INTERLEAVED, AccessOrder.RANDOM, seed)
    yield Schedule(BlockOrder.REVERSED, AccessOrder.EXTREME)
    for place in count(seed):
        yield Schedule(BlockOrder.INTERLEAVED, AccessOrder.PROGRAM, place)
        yield Schedule(BlockOrder.SHUFFLED, AccessOrder.RANDOM, place)
        yield Schedule(BlockOrder.INTERLEAVED, AccessOrder.RANDOM, place + 1)
