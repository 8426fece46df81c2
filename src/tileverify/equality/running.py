"""A kernel on exact numbers: the interpreter on all blocks of a launch, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from ..backend.interpreter import Budget, bind_launch, run_block
from ..backend.interpreter.machine import Rule
from ..backend.interpreter.values import OVERFLOWED, RUN, UNSPECIFIED, Conduct, Tile
from ..backend.numbers.inputs import Inputs
from ..backend.numbers.launch_steps import steered_by_steps
from ..contract.launch import EntryParameter
from ..frontend.bytecode.model import Entry, Module, ScalarType, TileType
from . import exact
from .branches import STEPPED, WaysTaken
from .exact import NUMBER
from .field import Array
from .memory import ExactMemory
from .op_rules import RULES
from .undecided import Undecided


@dataclass(frozen=True, slots=True)
class _Watching(Conduct):
    """Tells of marked lanes that steer control, or an access."""

    ways: WaysTaken

    def opened(self, taint: Array) -> Array:
        self.ways.reached(int(np.bitwise_or.reduce(taint.reshape(-1), initial=0)))
        return Conduct.opened(self, taint)


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
    kernel.ways.begin()
    while True:
        after = run_once(kernel, inputs, contents, floats, budget)
        if not kernel.ways.goes_on():
            return after


def run_once(
    kernel: ExactKernel, inputs: Inputs, contents: Mapping[str, Array], floats: Mapping[str, Array], budget: Budget
) -> dict[str, Array]:
    """The same, whatever ways were not marked."""
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
    grid, conduct = inputs.launch.grid, _Watching(RUN.open, RUN.executes, RUN.stops, kernel.ways)
    for z, y, x in product(*(range(size) for size in reversed(grid))):
        log = run_block(bound.program, arguments, memory, grid, (x, y, z), budget, conduct=conduct)
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
            _look_for_marks(kernel.ways, allocation.name, taint, after[allocation.name])
        changed = allocation.name in data and after[allocation.name].tobytes() != data[allocation.name].tobytes()
        if changed and after[allocation.name].dtype.kind in "iu":
            kernel.ways.stepped.add(allocation.name)
    if steered_by_steps(kernel.entry):
        kernel.ways.stepped |= {name for name, array in contents.items() if array.tobytes() != held[name].tobytes()}
    return after


def _look_for_marks(ways: WaysTaken, name: str, taint: Array | None, held: Array) -> None:
    """``taint`` of the bytes of an array; of what is lost nothing is compared."""
    if taint is None or not held.size:
        return
    marks = np.bitwise_or.reduce(taint.reshape(held.size, -1), axis=1)
    if held.dtype == NUMBER:
        marks = marks[~exact.is_lost(held)]
    found = int(np.bitwise_or.reduce(marks, initial=0))
    ways.reached(found)
    if found & STEPPED:
        ways.stepped.add(name)
