"""A second launch for the picture of a fault.

A witness is the smallest launch that fails, which often has one tile along an axis: a picture of that shows nothing.
Here a launch of the same contract is looked for that has two tiles along each axis of the array, and the interpreter
has to see the same fault in it, between whichever blocks.  The finding keeps its witness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Final

from ...backend.interpreter import InterpreterStop
from ...backend.numbers.choose import choose
from ...backend.numbers.conditions import Condition, ContractInNumbers
from ...backend.numbers.inputs import Inputs
from ...backend.replay.replay import Replayer
from ...contract.expressions import evaluate, free_names
from ...contract.launch import KernelUnit
from ...contract.operators import Undefined
from ...frontend.bytecode.model import Entry, Module
from ...results import KernelResult
from ...results.claim import claim_from_json
from ...results.details import Drawing
from ...system.errors import TileVerifyError, UsageError
from .drawings import drawing_of
from .examples import ALIKE, MOST_BLOCKS, small_inputs

FEWEST_TILES: Final = 2
"""Along each axis of the array."""
BUDGET: Final = 1 << 24
"""Steps of the interpreter for each launch that is tried."""
MOST_LAUNCHES: Final = 3


def wider_drawings(
    module: Module, entry: Entry, unit: KernelUnit, result: KernelResult, drawings: Sequence[Drawing]
) -> Iterator[Drawing]:
    """A second one for each of the ``drawings`` of faults between two blocks that has too little to show."""
    for drawing in drawings:
        if drawing.finding is not None and is_narrow(drawing):
            with suppress(TileVerifyError, InterpreterStop, Undefined):
                found = _wider(module, entry, unit, result, drawing)
                if found is not None:
                    yield found


def is_narrow(drawing: Drawing) -> bool:
    """Whether the array has fewer than two tiles, or elements, along an axis."""
    tile = drawing.tile or (1,) * len(drawing.shape)
    return any(-(-size // step) < FEWEST_TILES for size, step in zip(drawing.shape, tile, strict=True))


def _wider(module: Module, entry: Entry, unit: KernelUnit, result: KernelResult, drawing: Drawing) -> Drawing | None:
    assert drawing.finding is not None
    finding = result.findings[drawing.finding]
    witness = finding.witness
    if witness is None or witness.launch is None or witness.block_b in (None, witness.block_a):
        return None
    if witness.data or unit.launch.data or any(unit.launch.lists()):
        return None  # what contents have to be was found for the witness alone
    _, claim = claim_from_json(witness.launch)
    replayer = Replayer(module, entry, unit.parameters, budget=BUDGET)
    for inputs in _launches(ContractInNumbers(unit.launch, result.clauses), drawing):
        shown = replayer.anywhere(inputs.launch, claim)
        seen, at = shown.confirmation, shown.claim
        if seen is None or seen.elements is None or seen.elements.array != drawing.array or at.block_b is None:
            continue
        other = replace(
            witness, grid=inputs.launch.grid, block_a=at.block_a, block_b=at.block_b, elements=seen.elements
        )
        drawn = drawing_of(module, entry, unit.parameters, inputs.launch, at, finding, other, drawing.finding)
        if drawn is not None and not is_narrow(drawn):
            words = ", ".join(f"{name} = {value}" for name, value in inputs.values.items())
            return replace(drawn, launch=words, wider=True)
    return None


def _launches(contract: ContractInNumbers, drawing: Drawing) -> Iterator[Inputs]:
    """Small launches with two tiles along each axis, and two blocks where the witness has as many."""
    array = next((each for each in contract.spec.arrays() if each.name == drawing.array), None)
    if array is None or len(array.shape) != len(drawing.shape):
        return
    tile = drawing.tile or (1,) * len(drawing.shape)
    shape, grid = array.shape, contract.grid

    def tiles(values: Mapping[str, int]) -> bool:
        sizes = (evaluate(axis, values) for axis in shape)
        return all(size >= FEWEST_TILES * step for size, step in zip(sizes, tile, strict=True))

    def blocks(values: Mapping[str, int]) -> bool:
        axes = [evaluate(axis, values) for axis in grid]
        return prod(axes) <= MOST_BLOCKS and all(
            (axis > 1) == (least > 1) for axis, least in zip(axes, drawing.grid, strict=True)
        )

    wanted = [
        Condition("two tiles along each axis", frozenset[str]().union(*map(free_names, shape)), tiles),
        Condition("few blocks, along the same axes", frozenset[str]().union(*map(free_names, grid)), blocks),
    ]
    found = 0
    sizes = sorted({FEWEST_TILES * max(tile), *ALIKE}) if contract.sizes else ()
    for given in (*(dict.fromkeys(contract.sizes, size) for size in sizes), {}):
        with suppress(UsageError):
            yield small_inputs(contract, choose(contract, given, wanted))
            found += 1
        if found == MOST_LAUNCHES:
            return
