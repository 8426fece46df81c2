"""All blocks of a launch in turn on one memory: what they wrote, what they told the host, and where they went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...contract.launch import Block, ConcreteLaunch, EntryParameter, every_block
from ...frontend.bytecode.model import Entry, Module
from ..interpreter import Budget, InterpreterStop, Memory, MemoryImage, bind_launch, run_block
from ..interpreter.access_log import BlockLog, FailedAssertion, Printed
from ..interpreter.values import OVERFLOWED, UNSPECIFIED, Conduct, OpenUse, UndefinedBehaviour
from .elements import Array

_STEPS: Final = 1 << 60
"""No bound in practice: whoever waits can interrupt."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is worth telling of one block; most blocks leave it empty."""

    block: Block
    printed: tuple[Printed, ...]
    assertions: tuple[FailedAssertion, ...]
    events: tuple[UndefinedBehaviour, ...]
    open_uses: tuple[OpenUse, ...]


@dataclass(frozen=True, slots=True)
class Executed:
    """The launch after its last ``block``, or after the block in which it ``stopped``.

    By allocation: ``contents`` in the type they were given, ``written`` and ``unspecified`` as a bool for each byte
    (``unspecified`` only where there is such a byte).
    """

    contents: Mapping[str, Array]
    written: Mapping[str, Array]
    unspecified: Mapping[str, Array]
    told: tuple[Told, ...]
    block: Block
    stopped: InterpreterStop | None


def execute_launch(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], launch: ConcreteLaunch,
    contents: Mapping[str, Array], conduct: Conduct, steps: int = _STEPS,
) -> Executed:  # fmt: skip
    """Run all blocks in the order of their ids, x fastest, until one of them cannot go on, or ``steps`` are spent.

    ``contents`` gives the memory of the launch by allocation name: C-contiguous arrays of any NumPy type whose bytes
    are the allocation's.

    :raises InterpreterStop: the launch does not fit the entry.
    """
    data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in contents.items()}
    bound = bind_launch(module, entry, parameters, launch, data)
    memory, budget, writes = Memory(bound.image), Budget(steps), _Writes(bound.image, contents.keys())
    told: list[Told] = []
    stopped: InterpreterStop | None = None
    for block in every_block(launch.grid):
        log = run_block(bound.program, bound.arguments, memory, launch.grid, block, budget, conduct=conduct)
        writes.add(log)
        if log.printed or log.assertions or log.events or log.open_uses:
            told.append(Told(block, tuple(log.printed), tuple(log.assertions), tuple(log.events), tuple(log.open_uses)))
        stopped = log.stopped
        if stopped is not None:
            break
    after, unspecified = {}, {}
    for number, allocation in enumerate(bound.image.allocations):
        if allocation.name in contents:
            before = contents[allocation.name]
            after[allocation.name] = memory.bytes_of(number).view(before.dtype).reshape(before.shape)
            taint = memory.taint(number, np.arange(allocation.size), 1)
            open_ = None if taint is None else (taint & (UNSPECIFIED | OVERFLOWED)) != 0
            if open_ is not None and open_.any():
                unspecified[allocation.name] = open_
    return Executed(after, writes.masks(), unspecified, tuple(told), block, stopped)


class _Writes:
    """Which bytes were written, as the edges of all intervals: +1 where one starts, -1 behind its end."""

    def __init__(self, image: MemoryImage, names: Iterable[str]) -> None:
        self._image = image
        sizes = {each.name: each.size for each in image.allocations}
        self._edges: dict[str, Array] = {name: np.zeros(sizes[name] + 1, np.int32) for name in names}

    def add(self, log: BlockLog) -> None:
        for access in log.accesses:
            if access.writes is None or access.origin < 0:
                continue
            allocation = self._image.allocation_of(access.origin)
            edges = self._edges.get(allocation.name)
            if edges is not None:
                starts, ends = access.writes.runs
                edges[starts - allocation.base] += 1
                edges[ends - allocation.base] -= 1

    def masks(self) -> dict[str, Array]:
        return {name: np.cumsum(edges[:-1]) > 0 for name, edges in self._edges.items()}
