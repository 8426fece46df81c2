"""Blocks of a launch, run with a record of the values that a summary leaves to function symbols.

The blocks share one memory and run in their order; one that waits for another lets it go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...contract.concrete import Block
from ...frontend.bytecode.model import Op, Value
from ..interpreter import BlockLog, BoundLaunch, Budget
from ..interpreter.interleaving import run_schedule
from ..interpreter.machine import BlockRun
from ..interpreter.schedule import Schedule
from ..interpreter.values import RuntimeValue

Context = tuple[int, ...]
"""The numbers of the iterations around a place, the outermost loop's first."""


class RecordedValues(dict[Value, RuntimeValue]):
    """The values of a block; those in ``watched`` are kept by the iterations in which they were made."""

    def __init__(self, watched: frozenset[Value], iterations: Sequence[int]) -> None:
        super().__init__()
        self._watched = watched
        self._iterations = iterations
        self.kept: dict[tuple[Value, Context], RuntimeValue] = {}

    def __setitem__(self, key: Value, value: RuntimeValue) -> None:
        super().__setitem__(key, value)
        if key in self._watched:
            self.kept[key, tuple(self._iterations)] = value

    def update(self, pairs: Any = (), /, **more: RuntimeValue) -> None:
        """As that of a dict, but watched."""
        for key, value in dict(pairs, **more).items():
            self[key] = value


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """What one block did; ``entered``: how many iterations a loop had, by its place and what is around it."""

    block: Block
    log: BlockLog
    values: Mapping[tuple[Value, Context], RuntimeValue]
    entered: Mapping[tuple[Op, Context], int]


def run_blocks(
    bound: BoundLaunch, grid: Block, blocks: Sequence[Block], watched: Iterable[Value], budget: Budget
) -> list[BlockRecord]:
    """The records of ``blocks``, in that order."""
    wanted = frozenset(watched)
    recorded: dict[Block, RecordedValues] = {}

    def begins(run: BlockRun) -> None:
        recorded[run.block] = RecordedValues(wanted, run.log.iterations)
        run.values = recorded[run.block]

    trace = run_schedule(bound, grid, blocks, Schedule(), budget, begins).trace
    return [
        BlockRecord(
            log.block, log, recorded[log.block].kept, {(loop.op, loop.iterations): loop.entered for loop in log.loops}
        )
        for log in trace.logs
    ]
