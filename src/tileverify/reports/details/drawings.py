"""Drawings of faults: the launch of a witness run block by block, and what both sides touch of the array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ...backend.interpreter import InterpreterStop, bind_launch
from ...backend.interpreter.conflicts import conflicting_byte, doubled_lanes, loops_around
from ...contract.concrete import ConcreteLaunch
from ...contract.launch import EntryParameter
from ...frontend.bytecode.model import Entry, Module, Op, PartitionViewType, StridedViewType
from ...results import Finding, KernelResult, SourceSite, Witness
from ...results.claim import Claim, claim_from_json
from ...results.codes import TV
from ...results.details import Box, Drawing, SideDrawing
from ...results.families import BETWEEN_BLOCKS, EVENTS
from .tracks import Run, Tracer, runs

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
        if self.claim.code in EVENTS:
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


__all__ = ["drawing_of", "fault_drawings", "loop_name", "tile_of"]
