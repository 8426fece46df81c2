"""Drawings of a launch without a fault: which block writes which elements, in one small launch of the contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final

import numpy as np

from ...backend.interpreter import BoundLaunch, InterpreterStop, bind_launch
from ...backend.interpreter.conflicts import loops_around
from ...backend.numbers.choose import choose
from ...backend.numbers.conditions import Condition, ContractInNumbers
from ...backend.numbers.inputs import Given, Inputs, make_inputs
from ...contract.concrete import ConcreteArray
from ...contract.contiguous import strides_of
from ...contract.expressions import evaluate, free_names
from ...contract.launch import EntryParameter, LaunchSpec
from ...frontend.bytecode.model import Entry, Module, Op
from ...results.details import Drawing, SideDrawing
from ...system.errors import TileVerifyError, UsageError
from .drawings import LARGEST_RANK, loop_name, tile_of
from .tracks import Run, Tracer, runs

FEWEST_BLOCKS: Final = (6, 2)
"""As many blocks as an example should have at least; the first number for which a small launch is found."""
MOST_BLOCKS: Final = 64
ALIKE: Final = (256, 512, 1024, 4096, 128, 64, 16)
"""Tried for all sizes at once, so that tiles show along every dimension, and no search takes long."""

MOST_DRAWINGS: Final = 2
MOST_ELEMENTS: Final = 1 << 22
"""Elements from the first to the last of an array."""


def example_drawings(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], launch: LaunchSpec, requires: Sequence[str]
) -> tuple[Drawing, ...]:
    """What a launch under ``launch`` and ``requires`` writes to its first arrays; nothing if none runs."""
    try:
        inputs = _inputs(ContractInNumbers(launch, requires))
        data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in inputs.memory.items()}
        bound = bind_launch(module, entry, parameters, inputs.launch, data)
        return tuple(_Example(bound, entry, inputs).drawings())
    except (TileVerifyError, InterpreterStop):
        return ()


def _inputs(contract: ContractInNumbers) -> Inputs:
    """A small launch, with several blocks if there is one.  Raises `UsageError` if none is found, or none is small."""
    if any(contract.spec.lists()):
        raise UsageError("the sizes of arrays in lists are not known in advance")
    for least, size in product(FEWEST_BLOCKS, ALIKE if contract.sizes else ()):
        with suppress(UsageError):
            return small_inputs(
                contract, choose(contract, dict.fromkeys(contract.sizes, size), [_blocks(contract, least)])
            )
    return small_inputs(contract, choose(contract, {}))


def small_inputs(contract: ContractInNumbers, numbers: dict[str, int]) -> Inputs:
    """The launch with these numbers.  Raises `UsageError` if its arrays are too large for an example."""
    for array in contract.spec.arrays():
        shape, strides = (
            [contract.value(each, numbers) for each in expressions] for expressions in (array.shape, strides_of(array))
        )
        if sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) >= MOST_ELEMENTS:
            raise UsageError(f"{array.name} is too large for an example")
    return make_inputs(contract, Given(numbers, {}, {}))


def _blocks(contract: ContractInNumbers, least: int) -> Condition:
    """The grid has ``least`` blocks or more, but not many."""
    names = frozenset[str]().union(*map(free_names, contract.grid))

    def holds(values: Mapping[str, int]) -> bool:
        return least <= prod(evaluate(axis, values) for axis in contract.grid) <= MOST_BLOCKS

    return Condition(f"{least} to {MOST_BLOCKS} blocks", names, holds)


@dataclass
class _Example:
    bound: BoundLaunch
    entry: Entry
    inputs: Inputs

    def drawings(self) -> Iterator[Drawing]:
        loops = loops_around(self.entry.body)
        found = runs(self.bound, self.inputs.launch.grid, (), loops)
        drawn = 0
        for name, array in self.inputs.launch.named_arrays():
            op = self._writer(found, name)
            if op is None or not 1 <= len(array.shape) <= LARGEST_RANK or drawn == MOST_DRAWINGS:
                continue
            drawn += 1
            yield self._drawing(found, name, array, op, tuple(map(loop_name, loops.get(op, ()))))

    def _writer(self, found: Sequence[Run], array: str) -> Op | None:
        """The first op that writes to the array."""
        origins = self.bound.image.origins
        written = (access for run in found for access in run.log.accesses if access.writes is not None)
        return next((access.op for access in written if origins[access.origin].name == array), None)

    def _drawing(
        self, found: Sequence[Run], name: str, array: ConcreteArray, op: Op, loops: tuple[str, ...]
    ) -> Drawing:
        origin = next(each for each in self.bound.image.origins if each.name == name)
        kind = "atomic" if op.name.startswith("atomic") else "store"
        side = SideDrawing(kind, None, loops, Tracer(origin).tracks(found, op.offset), (0, 0))
        values = ", ".join(f"{each} = {value}" for each, value in self.inputs.values.items())
        return Drawing(
            finding=None,
            array=name,
            dtype=array.dtype,
            shape=array.shape,
            strides=array.strides,
            tile=tile_of(op, len(array.shape)),
            grid=self.inputs.launch.grid,
            sides=(side,),
            shared=(),
            launch=values,
        )
