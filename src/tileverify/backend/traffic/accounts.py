"""What every access of a kernel moves in one launch, and the least for each array: each byte once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import ConcreteArray, ConcreteLaunch, EntryParameter, LaunchSpec
from ...contract.terms import Term
from ...frontend.bytecode.model import Entry, Module
from ...frontend.symbolic.summary import Access, AccessSummary, OriginKind, Site, ViewFootprint
from ..audit.block_terms import launch_numbers
from ..audit.symbol_values import Known, lane, run_blocks
from ..interpreter import Budget, InterpreterStop, bind_launch
from ..interpreter.access_log import Footprint
from ..numbers.inputs import Inputs
from .regions import (
    MOST_CELLS,
    Array,
    Bounds,
    Extents,
    NotCounted,
    Part,
    RangedValues,
    SiteParts,
    chosen_intervals,
    ends,
    holds_at_all,
    lanes_touched,
    of_contents,
    parts_of,
    site_parts,
    straight,
    truth,
)

GLOBAL_MEMORY: Final = frozenset({OriginKind.PARAMETER, OriginKind.LIST_ELEMENT, OriginKind.GLOBAL})
_WAYS: Final = {Access.READ: (False,), Access.WRITE: (True,), Access.ATOMIC: (False, True)}


@dataclass(frozen=True)
class LaunchAccount:
    """One launch.  ``moved``: by the number of the site; ``parts``: the counts whose product the lanes of a site are.
    ``least``, ``of_array``: least and moved bytes by array and direction."""

    moved: Mapping[int, Bounds]
    parts: Mapping[int, tuple[Bounds, ...]]
    least: Mapping[Mode, Bounds]
    of_array: Mapping[Mode, Bounds]


@dataclass
class KernelAccounts:
    """The sites of a kernel that touch global memory."""

    entry: Entry
    parameters: Sequence[EntryParameter]
    spec: LaunchSpec
    sites: tuple[SiteParts, ...]
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, entry: Entry, parameters: Sequence[EntryParameter], spec: LaunchSpec, summary: AccessSummary
    ) -> KernelAccounts:
        """Raises `NotCounted` for a kernel with an access that nobody can follow."""
        for site in summary.sites:
            _refuse(site)
        sites = tuple(site_parts(site) for site in summary.sites if site.origin.kind in GLOBAL_MEMORY)
        names = {name: min(group) for group in spec.same_arrays() for name in group}
        return cls(entry, parameters, spec, sites, names)

    def array(self, site: Site) -> str:
        """The name of what a site touches; arrays that the contract says are one have one name."""
        return self.names.get(site.origin.name, site.origin.name)

    def at(self, launch: ConcreteLaunch, cells: int = MOST_CELLS) -> LaunchAccount:
        """Raises `NotCounted`, also for a launch with more than ``cells`` blocks and iterations to try."""
        values = RangedValues(launch_numbers(self.entry, self.parameters, launch), cells)
        moved: dict[int, Bounds] = {}
        parts: dict[int, tuple[Bounds, ...]] = {}
        runs: dict[Mode, list[tuple[Runs | None, Runs | None]]] = defaultdict(list)
        totals: dict[Mode, Bounds] = {}
        for each in self.sites:
            extents = Extents.of(each, values, launch.grid)
            lanes, parts[each.site.number] = lanes_touched(each, extents)
            own = (lanes[0] * _element_bytes(each.site), lanes[1] * _element_bytes(each.site))
            ways = _WAYS[each.site.access]
            moved[each.site.number] = own[0] * len(ways), own[1] * len(ways)
            most = touched_runs(each, extents, most=True)
            least = touched_runs(each, extents, most=False) if lanes[0] != lanes[1] else most
            for writes in ways:
                mode = self.array(each.site), writes
                runs[mode].append((least, most))
                low, high = totals.get(mode, (0, 0))
                totals[mode] = low + own[0], high + own[1]
        least_of = {
            mode: _least(found, totals[mode], _extent(launch.arrays.get(mode[0]))) for mode, found in runs.items()
        }
        return LaunchAccount(moved, parts, least_of, totals)

    def difference(self, account: LaunchAccount, log: LoggedTraffic) -> str:
        """Where the interpreter moved other bytes, in words; empty where it moved the same."""
        for each in self.sites:
            seen = log.moved.get(each.site.offset, 0)
            low, high = account.moved[each.site.number]
            if not low <= seen <= high:
                return f"access {each.site.number} moves {low} to {high} bytes, the interpreter moved {seen}"
        least: dict[Mode, int] = defaultdict(int)
        for (name, writes), seen in log.least.items():
            least[self.names.get(name, name), writes] += seen
        for mode, (low, high) in account.least.items():
            if not low <= least[mode] <= high and mode[0] in {each.name for each in self.spec.arrays()}:
                return f"of {mode[0]} {low} to {high} bytes are touched, in the interpreter {least[mode]}"
        return ""


def _refuse(site: Site) -> None:
    if site.origin.kind is OriginKind.UNKNOWN:
        raise NotCounted("an access goes to an address whose array is not known")
    if isinstance(site.footprint, ViewFootprint) and site.footprint.packed:
        raise NotCounted("two elements of an array share a byte")


def _element_bytes(site: Site) -> int:
    return site.footprint.element_bytes


def _extent(array: ConcreteArray | None) -> int | None:
    if array is None:
        return None
    if 0 in array.shape:
        return 0
    elements = 1 + sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    return elements * -(-ELEMENT_TYPES[array.dtype].bits // 8)


def _least(found: Sequence[tuple[Runs | None, Runs | None]], moved: Bounds, extent: int | None) -> Bounds:
    """Each byte once.  Accesses whose place is not known touch nothing, or all that they move."""
    low = length(joined(least for least, _ in found if least is not None))
    high = length(joined(most for _, most in found if most is not None))
    if any(most is None for _, most in found):
        high = moved[1] if extent is None else min(moved[1], extent)
    return low, high


# -------------------------------------------------------------------------------------------------------------- touched
# The bytes of an array that sites touch in one launch: each once, however often blocks, iterations and lanes come.
#
# The places of a site are numbers along its *dimensions*: coordinates of a view with their strides, or one byte offset.
# Each part of the site (`regions`) gives boxes over the dimensions that its variables decide, and the places are the
# product of all parts' boxes.  Boxes become runs of bytes, and the runs of all sites are joined.


Runs: TypeAlias = tuple[Array, Array]
"""Starts and ends of runs of bytes behind the array's first one."""
Boxes: TypeAlias = Array
"""A row for each box: low and high (inclusive) of each dimension, in turn."""

MOST_RUNS: Final = 1 << 21
_TOO_MANY: Final = "it touches too many separate runs of bytes"


@dataclass(frozen=True)
class Dimension:
    """``place`` counts in ``stride`` bytes."""

    place: Term
    stride: int


def touched_runs(parts: SiteParts, extents: Extents, *, most: bool) -> Runs | None:
    """The runs of bytes of one site; ``None`` where contents decide its places.

    Of accesses of which nobody knows whether they happen, ``most`` decides.
    """
    if not holds_at_all(parts, extents.values, most=most) or (parts.at_most and not most):
        return _none()
    if any(extents.sizes[each] == 0 for each in parts.variables):
        return _none()
    dimensions = _dimensions(parts.site, extents)
    if dimensions is None:
        return None
    places = [each.place for each in dimensions]
    if any(map(of_contents, places)):
        return None
    boxes: list[tuple[tuple[int, ...], Boxes]] = []
    for part in parts_of(parts.variables, parts.conditions, places):
        found = _boxes(part, dimensions, extents, most=most)
        if found is None:
            return None
        if not len(found):
            return _none()
        boxes.append((part.places, _joined_boxes(found, len(part.places))))
    decided = {number for numbers, _ in boxes for number in numbers}
    for number in set(range(len(places))) - decided:
        at = extents.values.over(places[number], ())
        if at.open is not None:
            return None
        last = int(at.data) + _beyond(parts.site)
        boxes.append(((number,), np.array([[int(at.data), last]])))
    return _runs(boxes, dimensions, _width(parts.site))


def joined(runs: Iterable[Runs]) -> Runs:
    """The union."""
    every = list(runs)
    starts = np.concatenate([each[0] for each in every] or [np.zeros(0, np.int64)])
    ends_ = np.concatenate([each[1] for each in every] or [np.zeros(0, np.int64)])
    if not len(starts):
        return starts, ends_
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(ends_[order])
    apart = np.flatnonzero(starts[1:] > reach[:-1])
    return starts[np.concatenate(([0], apart + 1))], reach[np.concatenate((apart, [len(starts) - 1]))]


def length(runs: Runs) -> int:
    """Bytes in runs that are apart."""
    return int((runs[1] - runs[0]).sum())


def _width(site: Site) -> int:
    """Of what a box has along its sides: elements of a view, bytes behind a pointer."""
    return site.footprint.element_bytes if isinstance(site.footprint, ViewFootprint) else 1


def _beyond(site: Site) -> int:
    """How far the last thing along a side of an element lies behind the first."""
    return site.footprint.element_bytes - 1 if _width(site) == 1 else 0


def _none() -> Runs:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def _dimensions(site: Site, extents: Extents) -> list[Dimension] | None:
    place = site.footprint
    if not isinstance(place, ViewFootprint):
        return [Dimension(place.offset, 1)]
    found = [Dimension(place.base, 1)]
    for at, stride in zip(place.coordinates, place.strides, strict=True):
        known = extents.values.over(stride, ())
        if known.open is not None:
            return None
        found.append(Dimension(at, int(known.data) * place.element_bytes))
    return found


# ----------------------------------------------------------------------------------------------- boxes
def _boxes(part: Part, dimensions: Sequence[Dimension], extents: Extents, *, most: bool) -> Boxes | None:
    """The boxes of a part over its dimensions; where it has none, whether its conditions hold at all."""
    free = _free(part, dimensions, extents)
    axes = extents.axes(each for each in part.variables if each not in free)
    shape = tuple(size for _, size in axes)
    settled = [condition for own in free.values() for condition in own[0]]
    live = np.ones(shape, bool)
    for condition in part.conditions:
        if condition not in settled:
            live = live & truth(extents.values.over(condition, axes), most=most)
    spans = {each: ends(each, own, extents, axes) for each, (own, _) in free.items()}
    for low, high in spans.values():
        live = live & (low <= high)
    columns: list[Array] = []
    for number in part.places:
        span = next(((each, spans[each]) for each, (_, place) in free.items() if place == number), None)
        known = [_at(dimensions[number].place, extents, axes, span, end) for end in (0, 1)]
        if any(
            each.open is not None and np.any(np.broadcast_to(np.asarray(each.open), shape) & live) for each in known
        ):
            return None
        first, final = (np.broadcast_to(np.asarray(each.data, np.int64), shape)[live] for each in known)
        columns += [first, final + _beyond(extents.parts.site)]
    if not columns:
        return np.zeros((int(live.any()), 0), np.int64)
    return np.stack(columns, axis=1)


def _at(
    place: Term, extents: Extents, axes: Sequence[tuple[Term, int]], span: tuple[Term, Runs] | None, end: int
) -> Known:
    if span is None:
        return extents.values.over(place, axes)
    places = {each: lane(number, size, len(axes)) for number, (each, size) in enumerate(axes)}
    return extents.values.at(place, places | {span[0]: Known(span[1][end])})


def _free(part: Part, dimensions: Sequence[Dimension], extents: Extents) -> dict[Term, tuple[list[Term], int]]:
    """Variables whose interval is a side of a box: each alone in one dimension, which it passes without gaps."""
    width = extents.parts.site.footprint.element_bytes
    passed = {}
    for variable in part.variables:
        own = [number for number in part.places if variable in dimensions[number].place.free]
        if len(own) == 1 and _is_passed(variable, part, dimensions[own[0]], width, extents):
            passed[variable] = own[0]
    chosen = chosen_intervals(part, extents, passed)
    found: dict[Term, tuple[list[Term], int]] = {}
    for variable, conditions in chosen.items():
        if passed[variable] not in [place for _, place in found.values()]:
            found[variable] = conditions, passed[variable]
    return found


def _is_passed(variable: Term, part: Part, dimension: Dimension, width: int, extents: Extents) -> bool:
    """Whether the next value of the variable touches the next element along the dimension."""
    last = extents.sizes[variable] - 1
    axes = extents.axes(each for each in part.variables if each is not variable and each in dimension.place.free)
    line = straight(dimension.place, variable, extents.values, axes, last)
    if line is None:
        return False
    places = {each: lane(number, size, len(axes)) for number, (each, size) in enumerate(axes)}
    first, second = (extents.values.at(line, places | {variable: Known(number)}) for number in (0, 1))
    if first.open is not None or second.open is not None:
        return False
    step = width // _width(extents.parts.site)
    return bool(np.all(np.asarray(second.data) - np.asarray(first.data) == step))


def _joined_boxes(boxes: Boxes, rank: int) -> Boxes:
    """Fewer boxes with the same places: those that differ along one dimension only, and meet there."""
    for number in range(rank):
        if len(boxes) < 2:
            break
        own = [2 * number, 2 * number + 1]
        others = [column for column in range(2 * rank) if column not in own]
        keys = [boxes[:, own[0]], *(boxes[:, column] for column in others)]
        boxes = boxes[np.lexsort(keys)]
        new = (
            np.any(boxes[1:][:, others] != boxes[:-1][:, others], axis=1) if others else np.zeros(len(boxes) - 1, bool)
        )
        group = np.concatenate(([0], np.cumsum(new)))
        far = int(boxes[:, own[1]].max() - boxes[:, own[1]].min()) + 1
        reach = np.maximum.accumulate(boxes[:, own[1]] + group * far) - group * far
        apart = np.flatnonzero(new | (boxes[1:, own[0]] > reach[:-1] + 1))
        firsts, lasts = np.concatenate(([0], apart + 1)), np.concatenate((apart, [len(boxes) - 1]))
        merged = boxes[firsts].copy()
        merged[:, own[1]] = reach[lasts]
        boxes = merged
    return boxes


# ------------------------------------------------------------------------------------------------ runs
def _runs(boxes: Sequence[tuple[tuple[int, ...], Boxes]], dimensions: Sequence[Dimension], width: int) -> Runs:
    found: list[Runs] = []
    total = 0
    if np.prod([float(len(each)) for _, each in boxes]) > MOST_RUNS >> 4:
        raise NotCounted(_TOO_MANY)
    for rows in product(*(each for _, each in boxes)):
        spans: dict[int, tuple[int, int]] = {}
        for (numbers, _), row in zip(boxes, rows, strict=True):
            spans |= {number: (int(row[2 * n]), int(row[2 * n + 1])) for n, number in enumerate(numbers)}
        found.append(_of_box([(*spans[n], each.stride) for n, each in enumerate(dimensions)], width))
        total += len(found[-1][0])
        if total > MOST_RUNS:
            raise NotCounted(_TOO_MANY)
    return joined(found)


def _of_box(sides: list[tuple[int, int, int]], width: int) -> Runs:
    """The runs of one box of (low, high, stride): a side whose elements touch each other makes runs longer."""
    starts: Array = np.array([sum(low * stride for low, _, stride in sides)], np.int64)
    run = width
    for low, high, stride in sorted(sides, key=lambda side: abs(side[2])):
        count = high - low + 1
        if count == 1 or stride == 0:
            continue
        if 0 < stride <= run and len(starts) == 1:
            run += stride * (count - 1)
        else:
            if len(starts) * count > MOST_RUNS:
                raise NotCounted(_TOO_MANY)
            starts = np.add.outer(np.arange(count, dtype=np.int64) * stride, starts).reshape(-1)
    return starts, starts + run


# --------------------------------------------------------------------------------------------------------------- logged
# What the interpreter's log says of one small launch: what each site moved, and what was touched at all.


MOST_BLOCKS: Final = 48
STEPS: Final = 1 << 22

Mode: TypeAlias = tuple[str, bool]
"""An array and whether it is written."""


@dataclass(frozen=True)
class LoggedTraffic:
    """``moved``: by the offset of the op; ``least``: bytes that were touched at all."""

    moved: dict[int, int]
    least: dict[Mode, int]


def logged(module: Module, entry: Entry, parameters: Sequence[EntryParameter], inputs: Inputs) -> LoggedTraffic | None:
    """``None`` for a launch that is too large, or that does not run to its end without undefined behaviour."""
    x, y, z = inputs.launch.grid
    if x * y * z > MOST_BLOCKS:
        return None
    blocks = [(a, b, c) for c in range(z) for b in range(y) for a in range(x)]
    data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in inputs.memory.items()}
    try:
        bound = bind_launch(module, entry, parameters, inputs.launch, data)
        with np.errstate(all="ignore"):
            logs = [each.log for each in run_blocks(bound, inputs.launch.grid, blocks, (), Budget(STEPS))]
    except InterpreterStop:
        return None
    if any(log.stopped is not None or log.left_out or log.events for log in logs):
        return None
    moved: Counter[int] = Counter()
    touched: dict[Mode, list[Runs]] = defaultdict(list)
    for log in logs:
        for access in log.accesses:
            for footprint, writes in ((access.reads, False), (access.writes, True)):
                if footprint is not None:
                    moved[access.op.offset] += _bytes(footprint)
                    origin = bound.image.origins[access.origin]
                    touched[origin.name, writes].append(footprint.runs)
    return LoggedTraffic(dict(moved), {mode: length(joined(runs)) for mode, runs in touched.items()})


def _bytes(footprint: Footprint) -> int:
    return footprint.width * len(footprint.addresses())
