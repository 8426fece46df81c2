"""A whole grid: every block in turn on one memory, with real array contents in and out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...contract.concrete import ConcreteLaunch, every_block
from ...contract.launch import EntryParameter
from ...frontend.bytecode.model import Entry, Module
from .access_log import BlockLog
from .arguments import bind_launch
from .control import run_block
from .faults import UnspecifiedUse
from .machine import Budget, GridPoint
from .memory import Memory, MemoryImage
from .values import Array


@dataclass(frozen=True, slots=True)
class GridRun:
    """``arrays``: contents after the run, by allocation, in the type and shape they were given.  One log per block.

    ``image`` tells where the launch lay in memory, which the addresses in the logs refer to.
    """

    arrays: Mapping[str, Array]
    logs: tuple[BlockLog, ...]
    image: MemoryImage


def run_grid(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], launch: ConcreteLaunch,
    contents: Mapping[str, Array], budget: Budget, blocks: Iterable[GridPoint] | None = None,
) -> GridRun:  # fmt: skip
    """Run all blocks in the order of their ids (x fastest), or only ``blocks``, in their order.

    ``contents`` gives the memory of the launch by allocation name: C-contiguous arrays of any NumPy type whose bytes
    are the allocation's.  Blocks see what earlier ones wrote; races are for the logs' reader to find.

    :raises InterpreterStop: the launch does not fit, or a block could not run to its end.
    """
    data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in contents.items()}
    bound = bind_launch(module, entry, parameters, launch, data)
    memory = Memory(bound.image)
    logs = []
    for block in every_block(launch.grid) if blocks is None else blocks:
        log = run_block(bound.program, bound.arguments, memory, launch.grid, block, budget)
        if log.stopped is not None:
            raise log.stopped
        if log.left_out:
            raise UnspecifiedUse(log.left_out[0])
        logs.append(log)
    after = {}
    for number, allocation in enumerate(bound.image.allocations):
        if allocation.name in contents:
            before = contents[allocation.name]
            after[allocation.name] = memory.bytes_of(number).view(before.dtype).reshape(before.shape)
    return GridRun(after, tuple(logs), bound.image)
