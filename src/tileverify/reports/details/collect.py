"""Everything that a page shows of one kernel beyond its result, collected while the kernel is at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Final

import numpy as np

from ...backend.interpreter import BoundLaunch, InterpreterStop, bind_launch
from ...backend.interpreter.conflicts import loops_around
from ...backend.numbers.choose import Condition, ContractInNumbers, choose
from ...backend.numbers.inputs import Given, Inputs, make_inputs
from ...backend.replay.replay import Replayer
from ...backend.traffic.measured import traffic_of
from ...contract.expressions import Undefined, evaluate, free_names
from ...contract.launch import ConcreteArray, EntryParameter, KernelUnit, LaunchSpec, strides_of
from ...contract.terms import TRUE, render
from ...frontend.bytecode.location import user_frame
from ...frontend.bytecode.model import Entry, Module, Op
from ...frontend.bytecode.printer import entry_lines
from ...frontend.symbolic.summary import AccessSummary, Loop, Site, ViewFootprint
from ...results import Finding, KernelResult
from ...results.claim import claim_from_json
from ...results.details import (
    AccessDetail,
    Drawing,
    IrLine,
    KernelDetails,
    ObligationDetail,
    SideDrawing,
    State,
    Traffic,
)
from ...system.errors import SpecError, TileVerifyError, UsageError
from ...verifier.attempt import Closed
from ...verifier.messages import sites, source_site
from .drawings import LARGEST_RANK, Run, Tracer, drawing_of, fault_drawings, loop_name, runs, tile_of

WIDTH = 160
"""Characters of a rendered term."""


def collect(
    unit: KernelUnit,
    module: Module,
    entry: Entry,
    summary: AccessSummary,
    result: KernelResult,
    decided: Sequence[Closed],
) -> KernelDetails:
    """Files are named as the bytecode names them, in ``result`` as well."""
    faults = tuple(fault_drawings(module, entry, unit.parameters, result))
    wider = tuple(wider_drawings(module, entry, unit, result, faults))
    return KernelDetails(
        ir=ir_lines(entry),
        obligations=(*map(_open, result.findings), *map(_proved, decided)),
        accesses=tuple(_access(site, summary) for site in summary.sites),
        drawings=(*faults, *wider, *_examples(unit, module, entry, result)),
        traffic=_traffic(unit, module, entry, summary),
    )


def _traffic(unit: KernelUnit, module: Module, entry: Entry, summary: AccessSummary) -> Traffic | None:
    """The bytes that a launch moves; ``None`` for a kernel of which no launch is described."""
    try:
        return traffic_of(module, entry, unit.parameters, unit.launch, summary, {}, numbers_only=True)
    except (SpecError, UsageError):
        return None


def _examples(unit: KernelUnit, module: Module, entry: Entry, result: KernelResult) -> tuple[Drawing, ...]:
    launch = result.proved_launch
    return () if launch is None else example_drawings(module, entry, unit.parameters, launch, result.clauses)


def ir_lines(entry: Entry) -> tuple[IrLine, ...]:
    """The Tile IR of the entry, each line with the user's own source line behind it."""
    return tuple(_ir_lines(entry))


def _ir_lines(entry: Entry) -> Iterator[IrLine]:
    for line in entry_lines(entry):
        place = None if line.op is None else user_frame(line.op.location)
        yield IrLine(line.text) if place is None else IrLine(line.text, place.file, place.line)


# ------------------------------------------------------------------------------------------ obligations
def _proved(decided: Closed) -> ObligationDetail:
    obligation = decided.obligation
    return ObligationDetail(
        code=obligation.code,
        state=State.PROVED,
        sites=tuple(sites(obligation)),
        detail=obligation.detail,
        level=obligation.level,
        tier=decided.tier,
        milliseconds=round(1000 * decided.seconds, 3),
        lemmas=decided.lemmas,
    )


def _open(finding: Finding) -> ObligationDetail:
    seen = finding.witness is not None
    return ObligationDetail(
        code=finding.code if seen or finding.obligation is None else finding.obligation,
        state=State.REFUTED if seen and finding.refutes else State.UNDECIDED,
        sites=finding.sites,
        detail="",
        level="",
        tier=None,
        milliseconds=0.0,
    )


# -------------------------------------------------------------------------------------------- accesses
def _access(site: Site, summary: AccessSummary) -> AccessDetail:
    footprint = site.footprint
    if isinstance(footprint, ViewFootprint):
        element = f"[{', '.join(render(each, WIDTH) for each in footprint.coordinates)}]"
    else:
        element = f"bytes {render(footprint.offset, WIDTH)} .. +{footprint.element_bytes - 1}"
    return AccessDetail(
        site=source_site(site),
        ordering=site.ordering if site.scope is None else f"{site.ordering}, {site.scope}",
        element=element,
        guard="" if site.guard is TRUE else render(site.guard, WIDTH),
        loops=tuple(_loop(loop, summary) for loop in site.loops),
    )


def _loop(loop: Loop, summary: AccessSummary) -> str:
    name = render(loop.iteration)
    return f"{name}: {summary.names.get(name, 'its iteration')}"


# ------------------------------------------------------------------------------------------------------------- examples
# Drawings of a launch without a fault: which block writes which elements, in one small launch of the contract.


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


# ---------------------------------------------------------------------------------------------------------------- wider
# A second launch for the picture of a fault.
#
# A witness is the smallest launch that fails, which often has one tile along an axis: a picture of that shows nothing.
# Here a launch of the same contract is looked for that has two tiles along each axis of the array, and the interpreter
# has to see the same fault in it, between whichever blocks.  The finding keeps its witness.


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
