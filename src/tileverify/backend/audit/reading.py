"""The second reading of one proof: launches of its contract, run and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from ...contract.concrete import Block, ConcreteLaunch
from ...contract.launch import EntryParameter, LaunchSpec
from ...frontend.bytecode.model import Entry, Module
from ...frontend.symbolic.summary import AccessSummary
from ...results.second_reading import ReadingTally, SecondReading
from ...system.errors import SpecError, UsageError
from ..interpreter import Budget, InterpreterStop, bind_launch
from ..interpreter.values import Array
from ..numbers.conditions import ContractInNumbers
from ..numbers.inputs import Inputs
from .block_terms import KernelTerms, LaunchTerms
from .compare import compare_block
from .legal_launches import drawn
from .run_records import run_blocks
from .symbol_values import Disagreement

STEPS: Final = 1 << 26
"""Steps of the interpreter for the blocks of one launch (see `machine.Budget`)."""
MOST_BLOCKS: Final = 6
"""Blocks of a launch that run; of a larger grid its first and last ones, and some between."""
WHOLE_GRID: Final = 12
"""Grids up to this size run whole, so that blocks which wait for others see them."""


def second_reading(
    module: Module,
    entry: Entry,
    parameters: Sequence[EntryParameter],
    summary: AccessSummary,
    launch: LaunchSpec,
    requires: Sequence[str],
    count: int,
) -> SecondReading:
    """Compare ``summary`` with runs of ``count`` launches of the contract (fewer, where it has no more).

    Ends at the first disagreement.  Never raises for a launch that cannot be made or run: that is counted.
    """
    kernel = KernelTerms(entry, parameters, summary)
    counts = ReadingTally()
    launches, disagreement = 0, ""
    try:
        contract = ContractInNumbers(launch, requires)
        for inputs in drawn(contract, entry, count, counts.not_compared):
            launches += 1
            problem = _one(module, kernel, inputs, counts)
            if problem:
                disagreement = f"{problem}; {_told(inputs)}"
                break
    except (SpecError, UsageError) as error:
        counts.not_compared[f"a launch of the contract: {error.message}"] += 1
    return SecondReading(
        asked=count,
        launches=launches,
        blocks=counts.blocks,
        accesses=counts.accesses,
        waits=counts.waits,
        unclaimed=counts.unclaimed,
        not_compared=dict(counts.not_compared),
        disagreement=disagreement or None,
    )


def _one(module: Module, kernel: KernelTerms, inputs: Inputs, counts: ReadingTally) -> str:
    """The first disagreement in one launch, if there is any."""
    launch = inputs.launch
    data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in inputs.memory.items()}
    try:
        return compare_launch(module, kernel, launch, data, chosen_blocks(launch.grid), counts, STEPS)
    except InterpreterStop as stop:
        counts.not_compared[f"a launch that the interpreter cannot run: {stop}"] += 1
    return ""


def compare_launch(
    module: Module, kernel: KernelTerms, launch: ConcreteLaunch, data: Mapping[str, Array], blocks: Sequence[Block],
    counts: ReadingTally, steps: int,
) -> str:  # fmt: skip
    """Run ``blocks`` and compare them; the first disagreement.

    :raises InterpreterStop: the launch does not fit the entry.
    """
    bound = bind_launch(module, kernel.entry, kernel.parameters, launch, data)
    watched = kernel.sources.watched(kernel.functions)
    with np.errstate(all="ignore"):
        records = run_blocks(bound, launch.grid, blocks, watched, Budget(steps))
        terms = LaunchTerms(kernel, launch, bound.image)
        for record in records:
            try:
                compare_block(terms, record, counts)
            except Disagreement as found:
                return str(found)
    return ""


def chosen_blocks(grid: Block) -> list[Block]:
    """All blocks of a small grid; else its first and last ones, neighbours, and one in the middle."""
    volume = grid[0] * grid[1] * grid[2]
    numbers: Iterable[int] = range(volume)
    if volume > WHOLE_GRID:
        numbers = sorted({0, 1, grid[0] - 1, min(grid[0], volume - 1), volume // 2, volume - 1})[:MOST_BLOCKS]
    return [(n % grid[0], n // grid[0] % grid[1], n // grid[0] // grid[1]) for n in numbers]


def _told(inputs: Inputs) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in inputs.values.items())
    return f"launch with grid {inputs.launch.grid}" + (f", {values}" if values else "")
