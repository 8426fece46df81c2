"""What a repair does beside mending the fault, seen in runs of the kernel as it is and as it would be.

A proof says that the changed kernel is right in itself, not that it does what the other one did.  So both run, block
after block, on the launches that showed the faults and on some that the contract allows; where they wrote, what the
memory holds in the end, and what they printed has to be the same.  What hangs on an access at fault is nobody's result:
which numbers it gives is not compared, only that they are written.

Of loads that leave lanes open beyond the array (TV403) it is known what was meant: reductions and products of the lanes
that are there.  The kernel as it is runs so, and a padding mode is right if it gives the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from ...backend.audit.legal_launches import drawn
from ...backend.interpreter import BoundLaunch, Budget, InterpreterStop, bind_launch, control
from ...backend.interpreter.control import reduced, scanned
from ...backend.interpreter.grid_runs import ScheduledRun, run_schedule
from ...backend.interpreter.machine import BlockInterpreter
from ...backend.interpreter.ordering import Schedule
from ...backend.interpreter.reductions import identity_of
from ...backend.interpreter.values import INTERLEAVED, OVERFLOWED, UNSPECIFIED, Array, Conduct, Tile
from ...backend.numbers.array_files import numbers, rounded, storage_type
from ...backend.numbers.choose import ContractInNumbers
from ...backend.replay.side_values import counting_floats
from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import Block, ConcreteLaunch, KernelUnit, LaunchSpec
from ...frontend.bytecode import decode
from ...frontend.bytecode.model import Entry, Module, Op
from ...frontend.sources.abi import under_contract
from ...results import Finding
from ...results.claim import claim_from_json
from ...system.errors import TileVerifyError

if TYPE_CHECKING:
    from ...backend.interpreter.machine import Result, Rule

DRAWN: Final = 4
"""Launches of the contract that are tried beside those of the findings."""
MOST_BLOCKS: Final = 64
STEPS: Final = 1 << 25
"""Of one run."""
ALL_STEPS: Final = 1 << 28
"""Of all runs of one kernel and its changed ones."""

_OPEN: Final = UNSPECIFIED | INTERLEAVED | OVERFLOWED
_FAULTY: Final = Conduct(open=UNSPECIFIED | OVERFLOWED, executes=False, stops=False)
"""A block goes on behind a fault; an access that hangs on what the fault left open is left out, and what it may have
written is open."""
_NEAR: Final = {64: 1e-9, 32: 1e-3, 19: 1e-2, 16: 2e-2, 8: 0.2}
"""How far floats of so many bits may lie apart, relative to the largest, that were added in another order."""


@dataclass(frozen=True, slots=True)
class _SmallLaunch:
    """``contents``: the bytes of its allocations; ``for_lanes``: only of use where lanes are mended; ``values``: of the
    names of the contract, where it was drawn from that."""

    launch: ConcreteLaunch
    contents: Mapping[str, Array]
    for_lanes: bool = False
    values: Mapping[str, int] | None = None

    def under(self, spec: LaunchSpec, before: LaunchSpec) -> ConcreteLaunch | None:
        """With the grid that ``spec`` has for it; ``None`` where that is not known."""
        if spec.grid == before.grid:
            return self.launch
        if spec.grid is None or self.values is None:
            return None
        x, y, z = (ContractInNumbers(spec).value(axis, self.values) for axis in spec.grid)
        return replace(self.launch, grid=(x, y, z))


class Comparison(Enum):
    """``PARTLY``: the same, as far as it is known what was meant; ``UNKNOWN``: no launch could be run."""

    SAME = "same"
    PARTLY = "partly"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Of each allocation by name what it holds, which bytes are open, and where its elements were written; of each
    block what it printed."""

    holds: Mapping[str, Array]
    open: Mapping[str, Array]
    written: Mapping[str, Array]
    printed: tuple[tuple[str, ...], ...]


@dataclass
class SmallRuns:
    """Runs of ``unit``, compared with those of changed ones; ``lanes``: what is mended are lanes that are left open."""

    unit: KernelUnit
    findings: Sequence[Finding]
    _budget: Budget = field(default_factory=lambda: Budget(ALL_STEPS))
    _known: dict[tuple[int, bool], _Outcome | None] = field(default_factory=dict)

    def compared(self, changed: KernelUnit, *, lanes: bool = False) -> Comparison:
        found = Comparison.UNKNOWN
        for number, small in enumerate(self._launches):
            launch = small.under(changed.launch, self.unit.launch)
            if launch is None or (small.for_lanes and not lanes):
                continue
            if (number, lanes) not in self._known:
                outcome = _outcome(self.unit, small.launch, small.contents, self._budget, lanes=lanes)
                self._known[number, lanes] = outcome
            before = self._known[number, lanes]
            after = None if before is None else _outcome(changed, launch, small.contents, self._budget)
            if before is None or after is None:
                continue
            if not _agree(before, after, launch):
                return Comparison.OTHER
            whole = not lanes or not any(lanes_open.any() for lanes_open in before.open.values())
            found = Comparison.PARTLY if not whole or found is Comparison.PARTLY else Comparison.SAME
        return found

    @cached_property
    def _launches(self) -> list[_SmallLaunch]:
        return list(self._seen()) + list(self._legal())

    def _seen(self) -> Iterator[_SmallLaunch]:
        """Those that showed the faults."""
        told: list[object] = []
        for finding in self.findings:
            document = None if finding.witness is None else finding.witness.launch
            if document is None:
                continue
            launch, _ = claim_from_json(document)
            if launch not in told and _is_small(launch):
                told.append(launch)
                yield _SmallLaunch(launch, counting_floats(launch))

    def _legal(self) -> Iterator[_SmallLaunch]:
        """Some of the contract, each with numbers of both signs, of one, and of the other."""
        spec = self.unit.launch
        decided = {name for fact in spec.data for name in fact.arrays}
        try:
            _, entry = decoded(self.unit)
            for inputs in drawn(ContractInNumbers(spec), entry, DRAWN, Counter()):
                if not _is_small(inputs.launch):
                    continue
                kinds = {array.allocation or name: array.dtype for name, array in inputs.launch.named_arrays()}
                free = {name for name in inputs.memory if name not in decided and name in kinds}
                for sign in (0, -1, 1):
                    changed = {name: _signed(inputs.memory[name], kinds[name], sign) for name in free}
                    memory = {**inputs.memory, **changed}
                    contents = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in memory.items()}
                    yield _SmallLaunch(inputs.launch, contents, sign != 0, inputs.values)
        except TileVerifyError:
            return


def _is_small(launch: ConcreteLaunch) -> bool:
    sizes = [prod(array.shape) for _, array in launch.named_arrays()]
    return prod(launch.grid) <= MOST_BLOCKS and sum(sizes) <= 1 << 22


def _signed(array: Array, dtype: str, sign: int) -> Array:
    """Floats and signed integers as they are (0), all negative, or all positive, none of them between -1 and 1."""
    kind = ELEMENT_TYPES[dtype].kind
    if sign == 0 or not (kind == "f" or dtype in ("i8", "i16", "i32", "i64")):
        return array
    values = sign * (1 + np.abs(numbers(array, dtype).astype(np.float64)))
    return rounded(values, dtype) if kind == "f" else values.astype(storage_type(dtype))


def decoded(unit: KernelUnit) -> tuple[Module, Entry]:
    """The module of a unit, and its entry under what the launch trusts."""
    module = decode(unit.bytecode, file=str(unit.file))
    return module, under_contract(
        next(each for each in module.entries if each.name == unit.symbol), unit.launch, unit.parameters
    )


def _outcome(
    unit: KernelUnit, launch: ConcreteLaunch, contents: Mapping[str, Array], budget: Budget, *, lanes: bool = False
) -> _Outcome | None:
    """What the launch does; ``None`` where a block does not come to its end.  ``lanes``: open ones are not there."""
    module, entry = decoded(unit)
    try:
        bound = bind_launch(module, entry, unit.parameters, launch, contents)
        bound.program.rules = ABSENT_LANES if lanes else None
        count = len(bound.image.allocations)
        run = run_schedule(bound, launch.grid, _blocks(launch.grid), Schedule(), budget.part(STEPS), _goes_on)
        if any(log.stopped is not None for log in run.trace.logs):
            return None
        return _read(bound, run, count, launch)
    except InterpreterStop:
        return None


def _goes_on(run: BlockInterpreter) -> None:
    run.conduct = _FAULTY


def _blocks(grid: Block) -> list[Block]:
    return [(x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]


def _read(bound: BoundLaunch, run: ScheduledRun, count: int, launch: ConcreteLaunch) -> _Outcome:
    holds, open_, written = {}, {}, {}
    for number, allocation in enumerate(bound.image.allocations[:count]):
        name = allocation.name
        holds[name] = run.memory.bytes_of(number).copy()
        taint = run.memory.taint(number, np.arange(allocation.size), 1)
        open_[name] = np.zeros(allocation.size, np.bool_) if taint is None else taint & _OPEN != 0
        places = [
            access.writes.addresses() - allocation.base
            for log in run.trace.logs
            for access in log.accesses
            if access.writes is not None and bound.image.origins[access.origin].allocation == number
        ]
        marks = np.zeros(allocation.size, np.bool_)
        for place in places:
            marks[place] = True
        written[name] = marks
    return _Outcome(holds, open_, written, tuple(tuple(each.text for each in log.printed) for log in run.trace.logs))


def _agree(before: _Outcome, after: _Outcome, launch: ConcreteLaunch) -> bool:
    kinds: dict[str, set[str]] = {}
    for name, array in launch.named_arrays():
        kinds.setdefault(array.allocation or name, set()).add(array.dtype)
    for name, held in before.holds.items():
        settled = ~before.open[name]
        lost, new = before.written[name] & ~after.written[name], after.written[name] & ~before.written[name]
        if lost.any() or (new & settled).any() or (after.open[name] & settled).any():
            return False
        dtypes = kinds.get(name, set())
        one = next(iter(dtypes)) if len(dtypes) == 1 else "u8"
        if not _same_numbers(held, after.holds[name], one, settled):
            return False
    if len(before.printed) == len(after.printed):
        return before.printed == after.printed
    return [*chain(*before.printed)] == [*chain(*after.printed)]  # other tiles, and so other blocks


def _same_numbers(before: Array, after: Array, dtype: str, settled: Array) -> bool:
    kind = storage_type(dtype)
    count = len(before) // kind.itemsize * kind.itemsize
    here = settled[:count].reshape(-1, kind.itemsize).all(axis=1)
    one, other = (numbers(each[:count].view(kind), dtype)[here] for each in (before, after))
    if ELEMENT_TYPES[dtype].kind != "f":
        return bool((one == other).all())
    finite = np.abs(one[np.isfinite(one)]).astype(np.float64)
    near = _NEAR[ELEMENT_TYPES[dtype].bits]
    with np.errstate(all="ignore"):
        return np.allclose(one, other, rtol=near, atol=near * float(finite.max(initial=0)), equal_nan=True)


# --------------------------------------------------------------------------------------------------------- absent lanes
# Rules for a run in which lanes that are left open are not there: reductions and products do without them.
#
# It is what somebody means who loads a tile that sticks out of its array and says no padding: the lanes beyond the
# array are none of the numbers that are summed.  What is computed of open lanes stays open, as in any run; an element
# of a product is open if none of its factors are there.


def _open_lanes(tile: Tile) -> Array:
    taint = np.asarray(0 if tile.taint is None else tile.taint, np.uint8)
    return np.broadcast_to(taint & UNSPECIFIED != 0, tile.data.shape)


def _filled(tile: Tile, absent: Array, value: Array) -> Tile:
    """``value`` in the lanes that are absent."""
    taint = None if tile.taint is None else np.where(absent, 0, tile.taint & ~np.uint8(UNSPECIFIED)).astype(np.uint8)
    return Tile(np.where(absent, value.astype(tile.data.dtype), tile.data), taint, tile.origin)


def _combined(rule: Rule) -> Rule:
    """Absent lanes hold the identity."""

    def apply(run: BlockInterpreter, op: Op) -> Result:
        values = op.group("inputs")
        kept = {value: run.values[value] for value in values}
        tiles = run.tiles(op, "inputs")
        absent = np.logical_or.reduce([_open_lanes(tile) for tile in tiles])
        axis = op.attributes["dim"]
        nothing = absent.all(axis=axis) if op.name == "reduce" else absent
        for value, tile, identity in zip(values, tiles, op.attributes["ident"], strict=True):
            run.values[value] = _filled(tile, absent, identity_of(identity).reshape(()))
        try:
            results = rule(run, op)
        finally:
            run.values.update(kept)
        assert isinstance(results, tuple)
        return tuple(_opened(tile, nothing) if isinstance(tile, Tile) else tile for tile in results)

    return apply


def _opened(tile: Tile, lanes: Array) -> Tile:
    if not lanes.any():
        return tile
    taint = np.broadcast_to(np.asarray(0 if tile.taint is None else tile.taint, np.uint8), tile.data.shape)
    return Tile(tile.data, np.where(lanes, taint | UNSPECIFIED, taint).astype(np.uint8))


def _product(rule: Rule) -> Rule:
    """Absent factors are 0, and so are those that meet them."""

    def apply(run: BlockInterpreter, op: Op) -> Result:
        names = [name for name in ("lhs", "rhs", "ls", "rs") if name in op.operands]
        kept = {op.value(name): run.values[op.value(name)] for name in names}
        nothing = np.zeros((), np.bool_)
        for name, axis in (("lhs", -1), ("rhs", -2)):
            nothing = nothing | _open_lanes(run.tile(op, name)).all(axis=axis, keepdims=True)
        left, right = (_open_lanes(run.tile(op, name)) for name in ("lhs", "rhs"))
        # A step of the sum without one of its factors is no step: what the other one holds there may be infinite.
        absent = {
            "lhs": left | np.swapaxes(right.all(axis=-1, keepdims=True), -1, -2),
            "rhs": right | np.swapaxes(left.all(axis=-2, keepdims=True), -1, -2),
        }
        for name in names:
            tile = run.tile(op, name)
            lanes = absent.get(name)
            run.values[op.value(name)] = _filled(tile, _open_lanes(tile) if lanes is None else lanes, np.zeros(()))
        try:
            result = rule(run, op)
        finally:
            run.values.update(kept)
        assert isinstance(result, Tile)
        return _opened(result, np.broadcast_to(nothing, result.data.shape))

    return apply


ABSENT_LANES: Final[Mapping[str, Rule]] = {
    **control.RULES,
    "reduce": _combined(reduced),
    "scan": _combined(scanned),
    **{name: _product(control.RULES[name]) for name in ("mmai", "mmaf", "mmaf_scaled")},
}
