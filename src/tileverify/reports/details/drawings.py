"""Drawings of faults: the launch of a witness run block by block, and what both sides touch of the array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Final

import numpy as np

from ...backend.interpreter import (
    BlockLog,
    BoundLaunch,
    Budget,
    DynamicAccess,
    InterpreterStop,
    Memory,
    UndefinedBehaviour,
    bind_launch,
    run_block,
)
from ...backend.interpreter.access_log import Footprint
from ...backend.interpreter.conflicts import conflicting_byte, doubled_lanes, loops_around
from ...backend.interpreter.machine import BlockInterpreter
from ...backend.interpreter.memory import Provenance
from ...backend.interpreter.values import Array, Tile, as_signed
from ...backend.replay.fault_places import OutsideWatch, coordinates_of, numbered
from ...contract.launch import Block, ConcreteLaunch, EntryParameter
from ...frontend.bytecode.model import Entry, Module, Op, PartitionViewType, StridedViewType
from ...results import Finding, KernelResult, SourceSite, Witness
from ...results.claim import Claim, claim_from_json
from ...results.codes import BETWEEN_BLOCKS, EVENTS, FILLED, TV
from ...results.details import Box, Drawing, SideDrawing, Step, Track

LARGEST_RANK: Final = 6


def fault_drawings(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], result: KernelResult
) -> Iterator[Drawing]:
    """One for each finding that has a witness about the elements of an array."""
    for number, finding in enumerate(result.findings):
        witness = finding.witness
        if witness is None or witness.launch is None:
            continue
        launch, claim = claim_from_json(witness.launch)
        drawn = drawing_of(module, entry, parameters, launch, claim, finding, witness, number)
        if drawn is not None:
            yield drawn


def drawing_of(
    module: Module,
    entry: Entry,
    parameters: Sequence[EntryParameter],
    launch: ConcreteLaunch,
    claim: Claim,
    finding: Finding,
    witness: Witness,
    number: int,
) -> Drawing | None:
    """The fault of the finding with this number, as it shows in a ``launch``; ``None`` where nothing can be drawn."""
    try:
        return _Fault(module, entry, parameters, launch, claim, finding, witness).draw(number)
    except InterpreterStop:
        return None


@dataclass(frozen=True, slots=True)
class _At:
    """One side of a fault in the runs: the op, the block's position among the runs, the execution of the op."""

    op: Op
    run: int
    step: int


@dataclass
class _Fault:
    module: Module
    entry: Entry
    parameters: Sequence[EntryParameter]
    launch: ConcreteLaunch
    claim: Claim
    finding: Finding
    witness: Witness

    def draw(self, number: int) -> Drawing | None:
        """``None`` where nothing has indices to draw: an assumption, arithmetic, memory without a layout."""
        name = self._array()
        array = dict(self.launch.named_arrays()).get(name)
        if array is None or not 1 <= len(array.shape) <= LARGEST_RANK:
            return None
        bound = bind_launch(self.module, self.entry, self.parameters, self.launch)
        origin = next(each for each in bound.image.origins if each.name == name)
        self.loops = loops_around(self.entry.body)
        blocks = [self.witness.block_a, *([self.witness.block_b] if self.witness.block_b else [])]
        found = runs(bound, self.launch.grid, blocks, self.loops)
        sides = self._sides(found)
        if not sides:
            return None
        tracer = Tracer(origin)
        drawn = tuple(self._side(tracer, found, each, site) for each, site in zip(sides, self._sites(), strict=False))
        shared = self._shared()
        return Drawing(
            finding=number,
            array=name,
            dtype=array.dtype,
            shape=array.shape,
            strides=array.strides,
            tile=next((tile for each in sides if (tile := tile_of(each.op, len(array.shape)))), ()),
            grid=self.launch.grid,
            sides=drawn,
            shared=shared,
            launch="",
        )

    def _array(self) -> str:
        elements = self.witness.elements
        if elements is not None:
            return elements.array
        return next((site.array for site in self.finding.sites if site.array), "")

    def _shared(self) -> tuple[Box, ...]:
        elements = self.witness.elements
        return (elements.ranges,) if elements is not None and elements.ranges else ()

    def _sites(self) -> list[SourceSite | None]:
        sites: list[SourceSite | None] = [*self.finding.sites[:2]]
        return [*sites, *sites[:1], None, None][:2]

    def _side(self, tracer: Tracer, found: Sequence[Run], at: _At, site: SourceSite | None) -> SideDrawing:
        return SideDrawing(
            access=site.access if site is not None else at.op.name,
            site=site,
            loops=tuple(map(loop_name, self.loops.get(at.op, ()))),
            tracks=tracer.tracks(found, at.op.offset),
            start=(at.run, at.step),
        )

    # -------------------------------------------------------------------------------------------- sides
    def _sides(self, found: Sequence[Run]) -> list[_At]:
        places = {run.log.block: number for number, run in enumerate(found)}
        a, b = places.get(self.witness.block_a), places.get(self.witness.block_b or self.witness.block_a)
        if a is None or b is None:
            return []
        if self.claim.code in (*EVENTS, *FILLED):
            return self._one_sided(found[a], a)
        if self.claim.code == TV.DUPLICATE_LANES:
            return [
                _At(each.first.op, a, found[a].step_of(each.first.op.offset, each.first.time))
                for each in doubled_lanes(found[a].log)
                if each.first.op.offset == self.claim.offset_a
            ][:1] or self._one_sided(found[a], a)
        return self._meeting(found, a, b) or self._claimed(a, b)

    def _one_sided(self, run: Run, number: int) -> list[_At]:
        """The op of the event; at fault is what it first reaches outside."""
        op = self._op(self.claim.offset_a)
        if op is None:
            return []
        times = [event.time for event in run.log.events if event.offset == op.offset and event.time in run.watch.found]
        return [_At(op, number, run.step_of(op.offset, times[0]) if times else 0)]

    def _meeting(self, found: Sequence[Run], a: int, b: int) -> list[_At]:
        """The first executions of the claimed ops, or of any others, that conflict on the elements of the witness."""
        claimed = (self.claim.offset_a, self.claim.offset_b)
        between = self.claim.code in BETWEEN_BLOCKS
        for offsets in (claimed, claimed[::-1], None):
            for first in found[a].log.accesses:
                for second in found[b].log.accesses:
                    if offsets is not None and (first.op.offset, second.op.offset) != offsets:
                        continue
                    ordered = not between and (
                        first.number == second.number or first.orders(second) or second.orders(first)
                    )
                    if ordered or not first.footprints or not second.footprints:
                        continue
                    if conflicting_byte(first, second) is not None:
                        return [
                            _At(first.op, a, found[a].step_of(first.op.offset, first.time)),
                            _At(second.op, b, found[b].step_of(second.op.offset, second.time)),
                        ]
        return []

    def _claimed(self, a: int, b: int) -> list[_At]:
        """Where blocks have to run together for the fault to show: the claimed ops, from their first execution."""
        ops = [self._op(self.claim.offset_a), self._op(self.claim.offset_b)]
        return [_At(op, place, 0) for op, place in zip(ops, (a, b), strict=True) if op is not None]

    def _op(self, offset: int | None) -> Op | None:
        return next((op for op in self.loops if op.offset == offset), None)


def tile_of(op: Op, rank: int) -> tuple[int, ...]:
    """The tile of a view access along each dimension of the array, empty where the view is not of the whole array."""
    operand = op.operands.get("view")
    kind = None if operand is None or isinstance(operand, tuple) else operand.type
    if not isinstance(kind, PartitionViewType | StridedViewType) or len(kind.tensor.shape) != rank:
        return ()
    sizes = [1] * rank
    for size, dim in zip(kind.tile, kind.dim_map, strict=True):
        sizes[dim] = size
    return tuple(sizes)


def loop_name(loop: Op) -> str:
    """``loop at line 12``; just ``loop`` where its place is not known."""
    place = loop.location
    return "loop" if place is None else f"loop at line {place.line}"


# --------------------------------------------------------------------------------------------------------------- tracks
# What the blocks of a concrete launch do to one array: every access with the iterations of the loops around it.


MOST_BLOCKS: Final = 64
"""Blocks of a launch that are run for a drawing."""
MOST_STEPS: Final = 64
"""Executions of one access by one block that are drawn."""
STEPS: Final = 1 << 25
"""Interpreter steps for all blocks of one drawing: a fraction of a second."""
MOST_ELEMENTS: Final = 1 << 21
"""Elements of all footprints of one drawing together."""


class IterationWatch(OutsideWatch):
    """Notes which execution of its op, and which iterations of the loops around it, each time of the log belongs to.

    Loops without a counter count executions of the access.
    """

    def __init__(self, loops: Mapping[Op, tuple[Op, ...]]) -> None:
        super().__init__()
        self._loops = loops
        self._seen: dict[Op, int] = {}
        self.executions: dict[int, int] = {}
        self.iterations: dict[int, tuple[int, ...]] = {}

    def look(
        self, run: BlockInterpreter, op: Op, accesses: Sequence[DynamicAccess], events: Sequence[UndefinedBehaviour]
    ) -> None:
        super().look(run, op, accesses, events)
        number = self._seen[op] = self._seen.get(op, -1) + 1
        now = tuple(_iteration(run, loop, number) for loop in self._loops.get(op, ()))
        for time in (*(access.time for access in accesses), *(event.time for event in events)):
            self.executions[time], self.iterations[time] = number, now


def _iteration(run: BlockInterpreter, loop: Op, otherwise: int) -> int:
    """How often the loop has begun again; ``otherwise`` for a loop that has no counter of its own."""
    if loop.name != "for":
        return otherwise
    counter = run.values[loop.regions[0].blocks[0].arguments[0]]
    lower, step = run.tile(loop, "lower"), run.tile(loop, "step")
    assert isinstance(counter, Tile)
    bits = 8 * counter.data.dtype.itemsize
    value, first, by = (int(as_signed(tile.data, bits)) for tile in (counter, lower, step))
    return (value - first) // by if by else otherwise


@dataclass(frozen=True, slots=True)
class Run:
    """One block's log, and who looked on."""

    log: BlockLog
    watch: IterationWatch

    def executions(self, offset: int) -> list[list[DynamicAccess | UndefinedBehaviour]]:
        """What the op at ``offset`` in the bytecode did each time that it touched memory, or reached outside."""
        found: dict[int, list[DynamicAccess | UndefinedBehaviour]] = {}
        happened: list[DynamicAccess | UndefinedBehaviour] = []
        happened += (access for access in self.log.accesses if access.op.offset == offset and access.footprints)
        happened += (event for event in self.log.events if event.offset == offset and event.time in self.watch.found)
        for each in happened:
            found.setdefault(self.watch.executions[each.time], []).append(each)
        return [found[number] for number in sorted(found)]

    def step_of(self, offset: int, time: int) -> int:
        """The position in `executions` of what happened at ``time``."""
        return next(i for i, each in enumerate(self.executions(offset)) if any(one.time == time for one in each))


def runs(bound: BoundLaunch, grid: Block, first: Iterable[Block], loops: Mapping[Op, tuple[Op, ...]]) -> list[Run]:
    """Blocks of the launch, each run from the initial memory unseen by the others: those of ``first``, and as many
    of the others as the limits allow, in the order of their ids."""
    budget = Budget(STEPS)
    found = []
    for block in _chosen(grid, first):
        watch = IterationWatch(loops)
        log = run_block(
            bound.program, bound.arguments, Memory(bound.image), grid, block, budget, apart=True, turn=watch
        )
        found.append(Run(log, watch))
        if budget.left <= 0:
            break
    return sorted(found, key=lambda run: run.log.block[::-1])


def _chosen(grid: Block, first: Iterable[Block]) -> list[Block]:
    blocks = (numbered(number, grid) for number in range(prod(grid)))
    named = [block for block in first if all(0 <= i < size for i, size in zip(block, grid, strict=True))]
    return list(islice(dict.fromkeys((*named, *islice(blocks, MOST_BLOCKS))), MOST_BLOCKS))


@dataclass
class Tracer:
    """Turns runs into tracks on one array, while ``MOST_ELEMENTS`` last."""

    origin: Provenance
    left: int = MOST_ELEMENTS

    def tracks(self, runs: Sequence[Run], offset: int) -> tuple[Track, ...]:
        """What each block does at the op at ``offset``; blocks that never get there have a track without steps."""
        return tuple(Track(run.log.block, tuple(self._steps(run, offset))) for run in runs)

    def _steps(self, run: Run, offset: int) -> Iterator[Step]:
        for execution in run.executions(offset)[:MOST_STEPS]:
            if self.left <= 0:
                return
            storage = elements_in(
                self.origin, [f for a in execution if isinstance(a, DynamicAccess) for f in a.footprints]
            )
            self.left -= len(storage)
            boxes, cut = boxes_of(self.origin, storage)
            beyond = [named.elements for each in execution if (named := run.watch.found.get(each.time)) is not None]
            outside = [each for each in beyond if each is not None and each.array == self.origin.name]
            yield Step(
                boxes=(*boxes, *(each.ranges for each in outside if each.ranges)),
                count=len(storage) + sum(each.count for each in outside),
                iterations=run.watch.iterations[execution[0].time],
                cut=cut,
            )


# ---------------------------------------------------------------------------------------------------------------- boxes
# The elements that an access touches, as few boxes of index ranges as rows allow.


MOST_BOXES: Final = 192
"""Boxes that are kept of one footprint; what is drawn of more is marked as cut."""


def elements_in(origin: Provenance, footprints: Sequence[Footprint]) -> Array:
    """The storage indices of the elements of ``origin`` whose bytes are touched, ascending."""
    width = origin.element_bytes
    found = [np.zeros(0, np.int64)]
    for footprint in footprints:
        first = (footprint.addresses() - origin.base) // width
        last = (footprint.addresses() + footprint.width - 1 - origin.base) // width
        found += [first + step for step in range(int((last - first).max(initial=0)) + 1)]
    touched = np.unique(np.concatenate(found))
    return np.asarray(touched[(touched >= 0) & (touched * width < origin.size)])


def boxes_of(origin: Provenance, storage: Array) -> tuple[tuple[Box, ...], bool]:
    """Boxes that cover exactly the elements at ``storage``, and whether some were left out."""
    axes = coordinates_of(origin, storage) if len(storage) else None
    if not axes:
        return (((),) if axes is not None and len(storage) else ()), False
    whole = tuple((int(axis.min()), int(axis.max()) + 1) for axis in axes)
    if prod(end - start for start, end in whole) == len(storage):
        return (whole,), False
    boxes = _merged(_rows(axes))
    return tuple(boxes[:MOST_BOXES]), len(boxes) > MOST_BOXES


def _rows(axes: Sequence[Array]) -> list[Box]:
    """Runs of neighbours along the last axis, in row-major order."""
    order = np.lexsort(tuple(reversed(axes)))
    points = np.stack([axis[order] for axis in axes])
    steps = np.diff(points, axis=1)
    breaks = np.flatnonzero((steps[:-1] != 0).any(axis=0) | (steps[-1] != 1)) + 1
    starts, ends = np.concatenate(([0], breaks)), np.concatenate((breaks, [points.shape[1]])) - 1
    rows = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        lead = [(int(value), int(value) + 1) for value in points[:-1, start]]
        rows.append((*lead, (int(points[-1, start]), int(points[-1, end]) + 1)))
    return rows


def _merged(rows: list[Box]) -> list[Box]:
    """Boxes that agree in all axes but one, in which they are neighbours, as one; inner axes first."""
    rank = len(rows[0])
    for axis in range(rank - 2, -1, -1):
        grown: dict[tuple[Box, int], Box] = {}
        for row in rows:
            others = (*row[:axis], *row[axis + 1 :])
            before = grown.pop((others, row[axis][0]), None)
            start = row[axis][0] if before is None else before[axis][0]
            grown[others, row[axis][1]] = (*row[:axis], (start, row[axis][1]), *row[axis + 1 :])
        rows = list(grown.values())
    return rows
