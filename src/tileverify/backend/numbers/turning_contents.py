"""Contents at which a value that a kernel computes of them turns: 0, or where a shift or a rounding of it jumps.

A condition need hold no number that stands in the bytecode: ``((b | -b) >> 31) + 1`` of ``b = 3 * x + 300003`` is 1 at
-100001 alone, ``floor(1 / (1 + a * a))`` where ``a`` is 0.  So the launch runs with all elements of an array (or all
arrays, or a scalar) one number, at several numbers that lie evenly.  What every op gives there is fitted by a
polynomial of degree 1 or 2, integers modulo the width of their type, and its roots are told.  What each element makes
of itself alone is searched for turns besides (`turning_search`).  Nothing rests on them: they are contents to be tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest
from math import prod, sqrt
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np

from ...contract.element_types import ELEMENT_TYPES
from ...frontend.bytecode.model import Constant, Module, Op, ScalarType, TileType
from ...frontend.bytecode.traverse import walk
from ...system.errors import UsageError
from ..interpreter import Budget, InterpreterStop, Memory, bind_launch, run_block
from ..interpreter.control import RULES
from ..interpreter.integers import bits_of
from ..interpreter.values import KEEP_GOING, Tile, as_signed
from .conditions import ContractInNumbers, scalars
from .elements import Array, rounded, storage_type
from .inputs import Given, Inputs, make_inputs
from .masks import masks
from .trial_launches import Constants, TurningPlace
from .turning_search import turning_numbers

if TYPE_CHECKING:
    from ...contract.launch import EntryParameter
    from ...frontend.bytecode.model import Entry
    from ..interpreter.machine import BlockRun, Result, Rule

STEPS: Final = 1 << 22
"""Of the interpreter, for all runs."""
MOST: Final = 48
"""Numbers of either kind."""
MOST_PLACES: Final = 128
_SOURCES: Final = 6
_BLOCKS: Final = 2
_LANES: Final = 32
_WIDE: Final = 1 << 12
"""Lanes that are looked at; of a search, all of most tiles."""
_JOINING: Final = frozenset({"reduce", "scan", "mmaf", "mmaf_scaled"})
"""Of several elements: without one, whole rows of one number show no more than elements."""
TURNING_SCALAR: Final = 1.5
_BESIDE_FLOATS: Final = 0.5
"""What scalars and the first array hold that are not looked at; each further array 1 more."""
_TIMES: Final = 3
"""How often an op is looked at, in the rounds of loops."""
_LATTICES: Final = ((0.75, 0.5), (-3000.0, 1900.0))
"""First number and step of the floats: a large step tells where a slope is small beside what is added."""
_INTEGERS: Final = (5, 1)
_COUNT: Final = 4
_FIT: Final = 1e-5
_ROUNDINGS: Final = 4e-6
_BESIDE: Final = 7
"""What an integer holds that is not looked at."""

_N = TypeVar("_N", int, float)
Lanes: TypeAlias = "dict[tuple[Op, int], Array]"
"""What an op gave at its n-th time, as float64 or as Python's integers."""


def with_turning_points(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], contract: ContractInNumbers,
    values: Mapping[str, int], known: Constants, *, search: bool = True,
) -> Constants:  # fmt: skip
    """``known`` with the numbers at which the kernel turns at the launch ``values``, without those it masks with.

    ``search``: whether other roots than those of polynomials are looked for, which takes more runs."""
    masking = masks(entry)
    if masking:
        floats_left = tuple(each for each in known.floats if each not in masking)
        known = replace(known, floats=floats_left, largest=sqrt(min(map(abs, masking))))
    probe = _Probe(module, entry, parameters, contract, values, Budget(STEPS))
    floats: list[tuple[int, float]] = []
    integers: list[tuple[int, int]] = []
    places: list[list[TurningPlace]] = []
    rows: list[list[TurningPlace]] = []
    levels = sorted({0, *(1 << each for each in _shifts(entry)), *(-(1 << each) for each in _shifts(entry))}, key=abs)
    for source in list(probe.sources())[:_SOURCES]:
        if source.integer:
            integers += _roots_of_integers(probe.at(source, _lattice(*_INTEGERS)), levels)
        if source.integer:
            continue
        found: list[tuple[int, float]] = []
        for start, step in _LATTICES:
            found += _roots_of_floats(probe.at(source, _lattice(start, step)), start, step)
        found = [each for each in found if known.allows(each[1])]
        roots = [_tidy(each) for each in _likeliest(found)]
        searched = probe.searched(source, roots) if source.arrays and search else []
        searched = [each for each in searched if known.allows(each)]
        floats += [*found, *((0, each) for each in searched)]
        alone = [each for each in roots if not np.isclose(each, searched, rtol=1e-3).any()]
        places.append([probe.place(source, each) for each in _once([*searched, *alone])])
        rows.append([probe.place(source, each) for each in _once([*alone, *searched])])
    new = [each for each in map(_tidy, _likeliest(floats)) if each and each not in known.floats]
    whole = [each for each in _likeliest(integers) if each not in known.integers]
    return replace(
        known,
        turning_floats=_once(new),
        turning_integers=_once(whole),
        turning_places=_in_turn(places),
        turning_rows=_in_turn(rows) if any(op.name in _JOINING for op in walk(entry.body)) else (),
    )


def _in_turn(places: Iterable[Sequence[TurningPlace]]) -> tuple[TurningPlace, ...]:
    return tuple(place for each in zip_longest(*places) for place in each if place is not None)[:MOST_PLACES]


def _likeliest(roots: list[tuple[int, _N]]) -> list[_N]:
    return [root for _, root in sorted(roots, key=itemgetter(0))]


def _once(numbers: Iterable[_N]) -> tuple[_N, ...]:
    return tuple(dict.fromkeys(numbers))[:MOST]


def _tidy(root: float) -> float:
    """The short decimal that was meant, where there is one: a root is off by roundings."""
    short = float(f"{root:.5g}")
    return short if abs(short - root) <= _ROUNDINGS * abs(root) else float(root)


def _lattice(start: float, step: float) -> list[float]:
    return [start + step * place for place in range(_COUNT)]


def _shifts(entry: Entry) -> set[int]:
    """The amounts of shifts, at most: the constants of a kernel that shifts."""
    ops = list(walk(entry.body))
    if not any(op.name in ("shri", "shli") for op in ops):
        return set()
    constants = (op.attributes["value"] for op in ops if op.name == "constant")
    return {
        each.element(0)
        for each in constants
        if isinstance(each, Constant) and each.scalar.is_integer and each.count and 0 < each.element(0) < 31
    }


# ------------------------------------------------------------------------------------------------- running
@dataclass(frozen=True, slots=True)
class _Source:
    """What is one number: arrays, or a scalar."""

    arrays: tuple[str, ...]
    scalar: str | None
    integer: bool


@dataclass(slots=True)
class _Probe:
    module: Module
    entry: Entry
    parameters: Sequence[EntryParameter]
    contract: ContractInNumbers
    values: Mapping[str, int]
    budget: Budget
    arrays: Mapping[str, str] = field(init=False)
    """The type of each array whose contents are free."""

    def __post_init__(self) -> None:
        spec = self.contract.spec
        spoken_of = {name for fact in (*spec.data, *spec.observed) for name in (fact.array, fact.other)}
        self.arrays = {each.name: each.dtype for each in spec.arrays() if each.name not in spoken_of}

    def sources(self) -> Iterator[_Source]:
        kinds = {name: ELEMENT_TYPES[dtype].kind for name, dtype in self.arrays.items()}
        for kind in ("f", "iu"):
            names = tuple(name for name, each in kinds.items() if each in kind)
            if len(names) > 1:
                yield _Source(names, None, kind != "f")
            yield from (_Source((name,), None, kind != "f") for name in names)
        for scalar in scalars(self.contract.spec):
            whole = ELEMENT_TYPES[scalar.dtype].kind in "iu"
            if not whole or scalar.name in self.contract.scalars:
                yield _Source((), scalar.name, whole)

    def at(self, source: _Source, numbers: Iterable[float]) -> list[Lanes]:
        found = []
        for number in numbers:
            try:
                found.append(self._run(self._inputs(source, np.asarray([number]))))
            except (InterpreterStop, UsageError):
                return []
        return found

    def searched(self, source: _Source, known: Sequence[float]) -> list[float]:
        """Numbers at which elements of arrays turn, each computed of one number."""
        counts = [prod(array.shape) for array in self._plain().launch.arrays.values()]

        def run(numbers: Array) -> dict[Op, Array] | None:
            try:
                seen = self._run(self._inputs(source, numbers), _WIDE)
            except (InterpreterStop, UsageError):
                return None
            return {op: lanes for (op, time), lanes in seen.items() if time == 0 and lanes.dtype == np.float64}

        return turning_numbers(run, max(counts, default=0), known)

    def place(self, source: _Source, number: float) -> TurningPlace:
        """What arrays and float scalars hold where ``source`` is ``number``."""
        held = {name: _BESIDE_FLOATS + place for place, name in enumerate(self.arrays)}
        return {name: number if name in (*source.arrays, source.scalar) else each for name, each in held.items()}

    def _plain(self) -> Inputs:
        return make_inputs(self.contract, Given(dict(self.values), self._float_scalars(), {}))

    def _float_scalars(self) -> dict[str, float]:
        names = (each.name for each in scalars(self.contract.spec) if ELEMENT_TYPES[each.dtype].kind == "f")
        return dict.fromkeys(names, TURNING_SCALAR)

    def _inputs(self, source: _Source, numbers: Array) -> Inputs:
        """``numbers``: what it holds over and over; of a scalar there is one."""
        values = dict(self.values)
        number = float(numbers[0])
        floats = self._float_scalars()
        if source.scalar is not None and source.integer:
            values[source.scalar] = int(number)
        elif source.scalar is not None:
            floats[source.scalar] = number
        plain = make_inputs(self.contract, Given(values, floats, {}))
        drawn = {}
        for place, (name, dtype) in enumerate(self.arrays.items()):
            shape = plain.launch.arrays[name].shape
            if ELEMENT_TYPES[dtype].kind == "f":
                held = numbers if name in source.arrays else np.asarray([_BESIDE_FLOATS + place])
                with np.errstate(over="ignore"):
                    drawn[name] = rounded(np.resize(held, shape), dtype).reshape(shape)
            elif ELEMENT_TYPES[dtype].kind in "iu":
                drawn[name] = np.full(shape, int(number) if name in source.arrays else _BESIDE, storage_type(dtype))
        return make_inputs(self.contract, Given(values, floats, {}, drawn=drawn))

    def _run(self, inputs: Inputs, lanes: int = _LANES) -> Lanes:
        data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in inputs.memory.items()}
        bound = bind_launch(self.module, self.entry, self.parameters, inputs.launch, data)
        seen: Lanes = {}
        bound.program.rules = {name: _recording(rule, seen, lanes) for name, rule in RULES.items()}
        memory, grid = Memory(bound.image), inputs.launch.grid
        for block in dict.fromkeys(((0, 0, 0), (grid[0] - 1, grid[1] - 1, grid[2] - 1))):
            with np.errstate(all="ignore"):
                run_block(bound.program, bound.arguments, memory, grid, block, self.budget, conduct=KEEP_GOING)
            if self.budget.left < 0:
                break
        return seen


def _recording(rule: Rule, seen: Lanes, lanes: int) -> Rule:
    def recorded(run: BlockRun, op: Op) -> Result:
        result = rule(run, op)
        tile = result[0] if op.declaration.loads and isinstance(result, tuple) else result
        if isinstance(tile, Tile) and (values := _numbers(run, op, tile, lanes)) is not None:
            time = next((time for time in range(_TIMES * _BLOCKS) if (op, time) not in seen), None)
            if time is not None:
                seen[op, time] = values
        return result

    return recorded


def _numbers(run: BlockRun, op: Op, result: Tile, most: int) -> Array | None:
    """What turns in the op: its result, or the difference of what it compares."""
    if op.name in ("cmpi", "cmpf"):
        lhs, rhs = (_plain(run.tile(op, side), op.value(side).type, most) for side in ("lhs", "rhs"))
        return None if lhs is None or rhs is None else np.asarray(lhs - rhs)
    return _plain(result, op.results[0].type, most)


def _plain(tile: Tile, type_: object, most: int) -> Array | None:
    element = type_.element if isinstance(type_, TileType) else None
    if not isinstance(element, ScalarType) or tile.data.dtype == np.bool_:
        return None
    lanes = tile.data.reshape(-1)[:: max(1, tile.data.size // most)]
    if element.is_float:
        return np.asarray(lanes, np.float64)
    return np.asarray(as_signed(np.ascontiguousarray(lanes), element.bits), np.int64)


# ------------------------------------------------------------------------------------------------- roots
def _columns(runs: Sequence[Lanes]) -> Iterator[tuple[Op, Array]]:
    """For each op and time what it gave in all runs, a row for each run, the lanes that differ once."""
    if len(runs) < _COUNT:
        return
    for key, first in runs[0].items():
        rows = [run.get(key) for run in runs]
        if all(row is not None and row.shape == first.shape for row in rows):
            yield key[0], np.unique(np.stack([row for row in rows if row is not None]), axis=1)


def _roots_of_floats(runs: Sequence[Lanes], start: float, step: float) -> Iterator[tuple[int, float]]:
    """Each behind how unlikely it is that something turns there."""
    for op, rows in _columns(runs):
        if rows.dtype != np.float64 or not np.isfinite(rows).all():
            continue
        for target in (0.0, 1.0, -1.0) if op.name not in ("cmpf",) else (0.0,):
            for column in (rows - target).T[:_LANES]:
                yield from ((target != 0, start + step * each) for each in _places(column) if abs(each) < 1e9)


def _places(v: Array) -> Iterator[float]:
    """Where the polynomial of degree 1 or 2 through ``v``, at 0, 1, 2, 3, is 0; none if there is no such polynomial."""
    first, second, third = v[1] - v[0], v[2] - 2 * v[1] + v[0], v[3] - 3 * v[2] + 3 * v[1] - v[0]
    size = float(np.abs(v).max())
    if not size or abs(third) > _FIT * size:
        return
    a, b, c = second / 2, first - second / 2, v[0]
    if abs(second) <= _FIT * size:
        if abs(first) > _FIT * size / 10:
            yield -c / first
        return
    inside = b * b - 4 * a * c
    if inside >= -_FIT * b * b:
        root = float(np.sqrt(max(inside, 0.0)))
        yield from ((-b + root) / (2 * a), (-b - root) / (2 * a))


def _roots_of_integers(runs: Sequence[Lanes], levels: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The same; that which is exact comes first, then what lies beside, then what it is by wrapping around."""
    start, _ = _INTEGERS
    for op, rows in _columns(runs):
        if rows.dtype != np.int64:
            continue
        bits = bits_of(op.value("lhs") if op.name == "cmpi" else op.results[0])
        for column in rows.T[:_LANES]:
            first, *others = (int(after) - int(before) for before, after in pairwise(column))
            slope = _signed(first, bits)
            if not slope or any(_signed(each, bits) != slope for each in others):
                continue
            for level in levels:
                missing = level - int(column[0])
                below = start + missing // slope
                yield (level != 0) + (missing % slope != 0), below
                yield 2, below + 1
                if slope % 2:
                    yield 3, _signed(start + missing * pow(slope, -1, 1 << bits), bits)


def _signed(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half
