"""Exploration: one launch under many schedules, its races, and every outcome that depends on the order.

A launch whose result depends on the order of its blocks, or of accesses that no token path orders, is seen here as
two outcomes with the schedules that gave them; a race is seen even where all outcomes agree.  What is not seen is not
excluded: this is testing, the proof is the verifier's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import Block, ConcreteLaunch, EntryParameter, every_block
from ...frontend.bytecode.model import Entry, Module, Op, ScalarType
from ...frontend.bytecode.traverse import walk
from ...results.codes import TV
from ..interpreter import Budget, bind_launch
from ..interpreter.access_log import BlockLog, DynamicAccess
from ..interpreter.conflicts import loops_around
from ..interpreter.grid_runs import ScheduledRun, run_schedule
from ..interpreter.memory import MemoryImage, Provenance
from ..interpreter.ordering import Schedule, spread, standard_schedules
from ..interpreter.races import Race, find_races
from ..interpreter.rounding import from_bits
from ..interpreter.values import UNSPECIFIED, Array, BudgetSpent, EndlessLoop

DEFAULT_SCHEDULES: Final = 8
DEFAULT_BUDGET: Final = 1 << 32
"""Steps (see `interpreter.machine`) for all schedules together."""
OUTCOMES_KEPT: Final = 4
"""Different outcomes whose memory is kept to tell whether a later one is new."""

Place: TypeAlias = Callable[[Op], str]


@dataclass(frozen=True, slots=True)
class RacingAccess:
    """One side of a race: which block did what, by which op."""

    block: Block
    op: Op
    kind: str

    @classmethod
    def of(cls, block: Block, access: DynamicAccess) -> RacingAccess:
        return cls(block, access.op, access.kind)


@dataclass(frozen=True, slots=True)
class SeenRace:
    """A race on ``element`` and the first schedule that showed it; ``second`` is ``None`` for two lanes of a store."""

    code: TV
    element: str
    first: RacingAccess
    second: RacingAccess | None
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """Undefined behaviour, with the first block and schedule that showed it."""

    code: TV
    op: Op
    message: str
    block: Block
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class SeenRemark:
    """A failed assertion or a stored value that the specification leaves open; a run goes on behind them."""

    text: str
    op: Op
    block: Block
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class SeenStop:
    """``blocks`` of a schedule did not run to their ends (or left out an access), and why."""

    reason: str
    blocks: tuple[Block, ...]
    schedule: Schedule
    deadlock: bool


@dataclass(frozen=True, slots=True)
class SeenOutcome:
    """A result other than that of the first schedule."""

    schedule: Schedule
    differences: tuple[Difference, ...]

    @property
    def rounding(self) -> bool:
        """Nothing but the rounding of float sums by atomics tells the two apart."""
        return all(difference.rounding for difference in self.differences)


@dataclass(frozen=True, slots=True)
class Exploration:
    """What ``schedules`` showed of one launch; the first of them is what ``outcomes`` are compared with.

    ``unfinished``: schedules that the budget did not reach.
    """

    grid: Block
    schedules: tuple[Schedule, ...]
    races: tuple[SeenRace, ...]
    events: tuple[SeenEvent, ...]
    remarks: tuple[SeenRemark, ...]
    stops: tuple[SeenStop, ...]
    outcomes: tuple[SeenOutcome, ...]
    unfinished: tuple[Schedule, ...] = ()

    @property
    def codes(self) -> frozenset[str]:
        """The obligations that were seen broken."""
        return frozenset(race.code for race in self.races) | {event.code for event in self.events}

    @property
    def agrees(self) -> bool:
        """All schedules gave one result, but for the rounding of float sums by atomics."""
        return all(outcome.rounding for outcome in self.outcomes)

    @property
    def faultless(self) -> bool:
        """No race, no undefined behaviour, no remark, no stop, one result."""
        seen = (self.races, self.events, self.remarks, self.stops, self.unfinished)
        return self.agrees and not any(seen)

    def text(self, place: Place | None = None) -> str:
        """A few lines for people; ``place`` names the source position of an op."""
        return "".join(f"{line}\n" for line in _lines(self, place or op_place))


def explore(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], launch: ConcreteLaunch,
    contents: Mapping[str, Array], *, schedules: Sequence[Schedule] | int = DEFAULT_SCHEDULES, seed: int = 0,
    budget: int = DEFAULT_BUDGET, blocks: Sequence[Block] | None = None,
) -> Exploration:  # fmt: skip
    """Run the launch under every schedule and compare.

    ``schedules``: these, or so many of `standard_schedules` from ``seed`` on.  ``contents``: memory by allocation name,
    as `run_grid` takes it; what is missing there has the contents that the launch gives it.  ``blocks``: only these
    blocks, where the grid is large.

    :raises InterpreterStop: the launch does not fit the entry.
    """
    chosen = standard_schedules(schedules, seed) if isinstance(schedules, int) else tuple(schedules)
    data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in contents.items()}
    wanted = list(every_block(launch.grid)) if blocks is None else list(blocks)
    steps = Budget(budget)
    collected = _Collected(launch, entry)
    unfinished: list[Schedule] = []
    for schedule in chosen:
        bound = bind_launch(module, entry, parameters, launch, data)
        if steps.left < 0:
            unfinished.append(schedule)
            continue
        collected.add(run_schedule(bound, launch.grid, wanted, schedule, steps), steps)
    return Exploration(
        launch.grid,
        chosen,
        tuple(collected.races.values()),
        tuple(collected.events.values()),
        tuple(collected.remarks.values()),
        tuple(collected.stops.values()),
        tuple(collected.outcomes),
        tuple(unfinished),
    )


class _Collected:
    """What was seen so far, each thing once."""

    def __init__(self, launch: ConcreteLaunch, entry: Entry) -> None:
        self._launch = launch
        self._loops = loops_around(entry.body)
        self._ops = {op.offset: op for op in walk(entry.body)}
        self.races: dict[tuple[str, Op, Op | None], SeenRace] = {}
        self.events: dict[tuple[str, int], SeenEvent] = {}
        self.remarks: dict[tuple[str, Op], SeenRemark] = {}
        self.stops: dict[str, SeenStop] = {}
        self.outcomes: list[SeenOutcome] = []
        self._kept: list[ScheduledRun] = []

    def add(self, run: ScheduledRun, budget: Budget) -> None:
        for log in run.trace.logs:
            for event in log.events:
                seen = SeenEvent(event.code, self._ops[event.offset], event.message, log.block, run.schedule)
                self.events.setdefault((event.code, event.offset), seen)
            for text, op in self._remarks(log):
                self.remarks.setdefault((text, op), SeenRemark(text, op, log.block, run.schedule))
        self._add_stops(run)
        try:
            races = find_races(run.trace, self._loops, budget)
        except BudgetSpent as stop:
            self._stop(str(stop), (), run.schedule)
        else:
            for race in races:
                self._add_race(race, run)
        self._add_outcome(run)

    def _remarks(self, log: BlockLog) -> Iterator[tuple[str, Op]]:
        for failure in log.assertions:
            yield f"assertion '{failure.message}' fails", failure.op
        for use in log.open_uses:
            yield f"{use.what} reaches the {use.use} of {use.op}", self._ops[use.offset]

    def _add_stops(self, run: ScheduledRun) -> None:
        reasons: dict[str, list[Block]] = {}
        for log in run.trace.logs:
            for reason in (log.stopped, *log.left_out[:1]):
                if reason is not None:
                    reasons.setdefault(str(reason), []).append(log.block)
        deadlock = any(isinstance(log.stopped, EndlessLoop) for log in run.trace.logs)
        for reason, blocks in reasons.items():
            self._stop(reason, tuple(blocks), run.schedule, deadlock=deadlock)

    def _stop(self, reason: str, blocks: tuple[Block, ...], schedule: Schedule, *, deadlock: bool = False) -> None:
        self.stops.setdefault(reason, SeenStop(reason, blocks, schedule, deadlock))

    def _add_race(self, race: Race, run: ScheduledRun) -> None:
        first = RacingAccess.of(race.first_block, race.first)
        second = None
        if race.second is not None and race.second_block is not None:
            second = RacingAccess.of(race.second_block, race.second)
        pair = (race.code, first.op, None if second is None else second.op)
        turned = pair if second is None else (race.code, second.op, first.op)
        if pair not in self.races and turned not in self.races:
            element = _element(run.memory.image, race)
            self.races[pair] = SeenRace(race.code, element, first, second, run.schedule)

    def _add_outcome(self, run: ScheduledRun) -> None:
        """Runs that stopped early left half a result, which is compared with none."""
        if any(log.stopped is not None for log in run.trace.logs):
            return
        if all(differences(self._launch, other, run) for other in self._kept):
            if self._kept:
                self.outcomes.append(SeenOutcome(run.schedule, differences(self._launch, self._kept[0], run)))
            if len(self._kept) < OUTCOMES_KEPT:
                self._kept.append(run)


def _element(image: MemoryImage, race: Race) -> str:
    return image.origins[race.first.origin].element(race.address)


# -------------------------------------------------------------------------------------------------- as text
def op_place(op: Op) -> str:
    """``kernel.py:12``, or the op and its bytecode offset where it has no source position."""
    if op.location is None:
        return f"{op.name} at {op.offset:#x}"
    return f"{op.location.file}:{op.location.line}"


def _lines(exploration: Exploration, place: Place) -> Iterator[str]:
    count = len(exploration.schedules)
    yield f"explored {count} schedule{'s' if count != 1 else ''} of grid {exploration.grid}"
    for race in exploration.races:
        yield f"{race.code}: race on {race.element}, seen with {race.schedule}"
        for side in (race.first, race.second):
            if side is not None:
                yield f"    {side.kind} in block {side.block}: {place(side.op)}"
        if race.second is None:
            yield "    two lanes of this store write it"
    for event in exploration.events:
        yield f"{event.code}: {event.message}, seen with {event.schedule}"
        yield f"    in block {event.block}: {place(event.op)}"
    for remark in exploration.remarks:
        yield f"{remark.text}, seen with {remark.schedule}"
        yield f"    in block {remark.block}: {place(remark.op)}"
    for stop in exploration.stops:
        yield from _stop_lines(stop)
    for number, outcome in enumerate(exploration.outcomes):
        if number == 0:
            yield from _outcome_lines(exploration.schedules[0], outcome)
        else:
            yield f"another outcome with {outcome.schedule}: {_counts(outcome)}"
    for schedule in exploration.unfinished:
        yield f"not run, for the budget is spent: {schedule}"
    yield _verdict(exploration)


def _stop_lines(stop: SeenStop) -> Iterator[str]:
    who = f"{len(stop.blocks)} blocks" if len(stop.blocks) != 1 else f"block {stop.blocks[0]}"
    yield f"{'deadlock' if stop.deadlock else 'stopped'}: {stop.reason} ({who}; {stop.schedule})"


def _outcome_lines(first: Schedule, outcome: SeenOutcome) -> Iterator[str]:
    what = "two roundings" if outcome.rounding else "two outcomes"
    yield f"{what}: (1) {first}; (2) {outcome.schedule}"
    for difference in outcome.differences:
        for element in difference.elements:
            yield f"    {element.element}: (1) {_shown(element.first)}  (2) {_shown(element.second)}"
    yield f"    {_counts(outcome)}"


def _counts(outcome: SeenOutcome) -> str:
    counts = (f"{each.count} element{'s' if each.count != 1 else ''} of {each.array}" for each in outcome.differences)
    return f"{', '.join(counts)} differ" + ("" if sum(d.count for d in outcome.differences) > 1 else "s")


def _shown(value: float | int | None) -> str:
    return "unspecified" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)


def _verdict(exploration: Exploration) -> str:
    if exploration.faultless:
        rounded = " (but for the rounding of atomic float sums)" if exploration.outcomes else ""
        return f"all schedules agree{rounded}; no race was seen"
    races = len(exploration.races)
    parts = [f"{races} race{'s' if races != 1 else ''}"]
    parts.append("the schedules agree" if exploration.agrees else "the outcome depends on the schedule")
    return "; ".join(parts)


# ------------------------------------------------------------------------------------------------------------- outcomes
# What two runs of one launch left in memory, compared element by element.


SHOWN: Final = 4
"""Elements of one array that a difference spells out."""
ROUNDING: Final = 1 << 10
"""Units in the last place, of the largest value nearby, that sums in another order may be apart."""


@dataclass(frozen=True, slots=True)
class ElementDifference:
    """One element and what the two runs left in it; ``None``: a value that the specification leaves open."""

    element: str
    first: float | int | None
    second: float | int | None


@dataclass(frozen=True, slots=True)
class Difference:
    """``count`` elements of ``array`` differ; the first of them are ``elements``.

    ``rounding``: they are float sums of atomics, and so close that the order of rounding explains it.
    """

    array: str
    count: int
    elements: tuple[ElementDifference, ...]
    rounding: bool


def differences(launch: ConcreteLaunch, first: ScheduledRun, second: ScheduledRun) -> tuple[Difference, ...]:
    """Where the arrays (and global variables) of the launch differ after two runs of it."""
    return tuple(_differences(_element_types(launch), first, second))


def _element_types(launch: ConcreteLaunch) -> Mapping[str, str]:
    types = {name: array.dtype for name, array in launch.arrays.items()}
    for name, arrays in launch.lists.items():
        types |= {f"{name}[{number}]": array.dtype for number, array in enumerate(arrays)}
    return types


def _differences(types: Mapping[str, str], first: ScheduledRun, second: ScheduledRun) -> Iterator[Difference]:
    image = first.memory.image
    written, summed = _written(first) | _written(second), _summed(first) | _summed(second)
    for number in sorted(written):
        # What blocks allocate comes behind all else, in the order of the schedule: the same number may stand for memory
        # of another block, and none of it is a result.
        if number >= len(image.allocations) or image.allocations[number].name.startswith("alloca@"):
            continue
        allocation = image.allocations[number]
        left = _differing(number, first, second)
        for origin in image.origins:
            if not len(left) or origin.allocation != number:
                continue
            inside = (left >= origin.base - allocation.base) & (left < origin.base - allocation.base + origin.size)
            if inside.any():
                places = np.unique((left[inside] + allocation.base - origin.base) // origin.element_bytes)
                left = left[~inside]
                dtype = types.get(origin.name, f"u{8 * origin.element_bytes}")
                places = places[~_no_numbers(origin, places, dtype, first, second)]
                if len(places):
                    yield _difference(origin, places, dtype, first, second, number in summed)


def _no_numbers(
    origin: Provenance, places: Array, dtype: str, first: ScheduledRun, second: ScheduledRun
) -> Array:  # fmt: skip
    """Which elements are NaN in both runs: of its sign and its other bits nothing is promised."""
    one, other = (_values(origin, places, dtype, run)[0] for run in (first, second))
    return np.asarray(np.isnan(one) & np.isnan(other)) if one.dtype.kind == "f" else np.zeros(len(places), np.bool_)


def _accesses(run: ScheduledRun) -> Iterator[DynamicAccess]:
    return (access for _, access in run.trace.accesses())


def _written(run: ScheduledRun) -> set[int]:
    origins = run.memory.image.origins
    return {origins[access.origin].allocation for access in _accesses(run) if access.writes is not None}


def _summed(run: ScheduledRun) -> set[int]:
    """Allocations with atomic float sums, whose rounding depends on their order."""
    origins = run.memory.image.origins
    return {
        origins[access.origin].allocation
        for access in _accesses(run)
        if access.op.attributes.get("mode") == "addf" or access.op.attributes.get("red") == "add"
    }


def _differing(number: int, first: ScheduledRun, second: ScheduledRun) -> Array:
    """Offsets of bytes of an allocation that differ, and that the specification does not leave open in both."""
    if first.memory.image.allocations[number].dense:
        places = np.flatnonzero(first.memory.bytes_of(number) != second.memory.bytes_of(number))
    else:
        touched = np.union1d(_touched(number, first), _touched(number, second))
        places = touched[first.memory.load(number, touched, 1) != second.memory.load(number, touched, 1)]
    return places[~(_open(number, places, first) & _open(number, places, second))]


def _touched(number: int, run: ScheduledRun) -> Array:
    image = run.memory.image
    base = image.allocations[number].base
    found = [
        spread(access.writes.addresses() - base, access.writes.width)
        for access in _accesses(run)
        if access.writes is not None and image.origins[access.origin].allocation == number
    ]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _open(number: int, places: Array, run: ScheduledRun) -> Array:
    marks = run.memory.taint(number, places, 1)
    if marks is None:
        return np.zeros(len(places), np.bool_)
    return np.asarray(marks & np.uint8(UNSPECIFIED), np.bool_)


def _difference(
    origin: Provenance, places: Array, dtype: str, first: ScheduledRun, second: ScheduledRun, summed: bool
) -> Difference:
    columns = [_values(origin, places, dtype, run) for run in (first, second)]
    shown = tuple(
        ElementDifference(
            origin.element(origin.base + int(place) * origin.element_bytes),
            _number(columns[0], place_number),
            _number(columns[1], place_number),
        )
        for place_number, place in enumerate(places[:SHOWN])
    )
    close = summed and _close(columns[0][0], columns[1][0], dtype)
    return Difference(origin.name, len(places), shown, close)


def _values(origin: Provenance, places: Array, dtype: str, run: ScheduledRun) -> tuple[Array, Array]:
    """Elements as numbers, and which of them are open."""
    allocation = run.memory.image.allocations[origin.allocation]
    offsets = places * origin.element_bytes + (origin.base - allocation.base)
    bits = run.memory.load(origin.allocation, offsets, origin.element_bytes)
    spans = spread(offsets, origin.element_bytes)
    is_open = _open(origin.allocation, spans, run).reshape(-1, origin.element_bytes)
    return _decoded(bits, dtype), np.asarray(is_open.any(axis=1))


def _decoded(bits: Array, dtype: str) -> Array:
    if dtype[0] == "i":
        return bits.view(f"i{bits.dtype.itemsize}")
    if dtype not in ELEMENT_TYPES or dtype[0] == "u":
        return bits
    (name,) = ELEMENT_TYPES[dtype].tile_ir
    return from_bits(bits, ScalarType(name, ELEMENT_TYPES[dtype].bits))


def _number(column: tuple[Array, Array], place: int) -> float | int | None:
    values, is_open = column
    return None if is_open[place] else values[place].item()


def _close(first: Array, second: Array, dtype: str) -> bool:
    if first.dtype.kind != "f" or not (np.isfinite(first).all() and np.isfinite(second).all()):
        return False
    unit = {"f64": 2.0**-52, "f32": 2.0**-23, "tf32": 2.0**-10, "f16": 2.0**-10, "bf16": 2.0**-7}.get(dtype, 0.0)
    largest: Any = max(np.abs(first).max(), np.abs(second).max())
    return bool((np.abs(first.astype(np.float64) - second.astype(np.float64)) <= ROUNDING * unit * largest).all())
