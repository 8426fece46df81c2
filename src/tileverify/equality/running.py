"""A kernel on exact numbers: the interpreter on all blocks of a launch, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from ..backend.interpreter import Budget, bind_launch, run_block
from ..backend.interpreter.conduct import RUN
from ..backend.interpreter.machine import Rule
from ..backend.interpreter.values import OVERFLOWED, UNSPECIFIED, Tile
from ..backend.numbers.inputs import Inputs
from ..contract.launch import EntryParameter
from ..frontend.bytecode.model import Entry, Module, ScalarType, TileType
from .branches import WaysTaken
from .field import Array
from .memory import ExactMemory
from .op_rules import RULES
from .undecided import Undecided


@dataclass(frozen=True, slots=True)
class ExactKernel:
    """What is run: one entry of a module, and what its parameters mean; ``rules``: what its ops do; ``ways``: how its
    comparisons came out in all runs."""

    module: Module
    entry: Entry
    parameters: Sequence[EntryParameter]
    rules: Mapping[str, Rule] = field(default_factory=lambda: RULES)
    ways: WaysTaken = field(default_factory=WaysTaken)


def run_exactly(
    kernel: ExactKernel, inputs: Inputs, contents: Mapping[str, Array], floats: Mapping[str, Array], budget: Budget
) -> dict[str, Array]:
    """The memory after the launch, by allocation: numbers for the arrays in ``contents``, stored elements for others.

    ``floats``: the float scalars, as numbers.

    :raises InterpreterStop: the launch could not run to its end.
    """
    data = {
        name: np.frombuffer(array.tobytes(), np.uint8) for name, array in inputs.memory.items() if name not in contents
    }
    bound = bind_launch(kernel.module, kernel.entry, kernel.parameters, inputs.launch, data)
    bound.program.rules = kernel.rules
    arguments = dict(bound.arguments)
    for value, parameter in zip(kernel.entry.parameters, kernel.parameters, strict=True):
        assert isinstance(value.type, TileType)
        element = value.type.element
        if isinstance(element, ScalarType) and element.is_float:
            arguments[value] = Tile(floats[parameter.argument])
    held = {name: array.copy() for name, array in contents.items()}
    memory = ExactMemory(bound.image, held, kernel.ways)
    grid = inputs.launch.grid
    for z, y, x in product(*(range(size) for size in reversed(grid))):
        log = run_block(bound.program, arguments, memory, grid, (x, y, z), budget, conduct=RUN)
        for loop in log.loops:
            kernel.ways.note_loop(loop.op, loop.entered)
        if log.stopped is not None:
            raise log.stopped
    after = dict(held)
    for number, allocation in enumerate(bound.image.allocations):
        if allocation.name in data:
            before = inputs.memory[allocation.name]
            after[allocation.name] = memory.bytes_of(number).view(before.dtype).reshape(before.shape)
        if allocation.name in inputs.memory:
            taint = memory.taint(number, np.arange(allocation.size), 1)
            if taint is not None and (taint & (UNSPECIFIED | OVERFLOWED)).any():
                raise Undecided(f"{allocation.name} holds unspecified values after the launch")
    return after
