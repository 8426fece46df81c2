"""Contents at which a value that a kernel computes of them turns: 0, or where a shift or a rounding of it jumps.

A condition need hold no number that stands in the bytecode: ``((b | -b) >> 31) + 1`` of ``b = 3 * x + 300003`` is 1 at
-100001 alone, ``floor(1 / (1 + a * a))`` where ``a`` is 0.  So the launch runs with all elements of an array (or all
arrays, or a scalar) one number, at several numbers that lie evenly.  What every op gives there is fitted by a
polynomial of degree 1 or 2, integers modulo the width of their type, and its roots are told.  What each element makes
of itself alone is searched for turns besides.  Nothing rests on them: they are contents to be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import pairwise, zip_longest
from math import prod, sqrt
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np

from ...contract.element_types import ELEMENT_TYPES
from ...frontend.bytecode.model import Constant, Entry, Module, Op, ScalarType, TileType, Value
from ...frontend.bytecode.traverse import walk
from ...system.errors import UsageError
from ..interpreter import Budget, InterpreterStop, Memory, bind_launch, run_block
from ..interpreter.control import RULES
from ..interpreter.integers import bits_of
from ..interpreter.tiles import constant_tile
from ..interpreter.values import KEEP_GOING, Tile, as_signed
from .array_files import Array, rounded, storage_type
from .choose import ContractInNumbers, scalars
from .inputs import Given, Inputs, make_inputs
from .trial_launches import Constants, TurningPlace

if TYPE_CHECKING:
    from ...contract.launch import EntryParameter
    from ..interpreter.machine import BlockInterpreter, Result, Rule

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
        spoken_of = {name for fact in (*spec.data, *spec.observed) for name in fact.arrays}
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
    def recorded(run: BlockInterpreter, op: Op) -> Result:
        result = rule(run, op)
        tile = result[0] if op.declaration.loads and isinstance(result, tuple) else result
        if isinstance(tile, Tile) and (values := _numbers(run, op, tile, lanes)) is not None:
            time = next((time for time in range(_TIMES * _BLOCKS) if (op, time) not in seen), None)
            if time is not None:
                seen[op, time] = values
        return result

    return recorded


def _numbers(run: BlockInterpreter, op: Op, result: Tile, most: int) -> Array | None:
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


# ------------------------------------------------------------------------------------------------------- turning search
# Numbers at which something that a kernel computes of an element changes its sign, has a peak, or is infinite.
#
# A polynomial of degree 2 does not tell where ``t * t * t - 5`` is 0.  But most kernels compute each element of one
# element, so a run shows what every op makes of as many numbers as a tile has lanes.  Where something turns between two
# of them, the next run asks for numbers between these, until there are none.


Seen: TypeAlias = "Mapping[Op, Array]"
"""What each op gave when it first ran, all lanes in order."""
Run: TypeAlias = "Callable[[Array], Seen | None]"
"""The kernel on arrays that hold these numbers over and over; None where it stopped."""

_FEW: Final = 16
"""Fewer lanes show nothing."""
_MOST: Final = 12
"""Places that are looked at more closely."""
_ROUNDS: Final = 14
_FLAT: Final = 1e-6
_NEAR_ROOT: Final = 0.02
"""Of an interval, within which a root is one that is known."""
_PARTS: Final = 8
"""Of an interval, in each of which one root is looked for."""


class TurnKind(IntEnum):
    """The likeliest comes first."""

    SIGN = 0
    END = 1
    PEAK = 2


@dataclass(frozen=True, slots=True)
class _Place:
    turn: TurnKind
    op: Op
    below: float
    above: float
    near: float
    """Where between them it is, if the function is a line."""

    def is_at(self, number: float) -> bool:
        width = self.above - self.below
        return abs(self.near - number) <= width * (_NEAR_ROOT if self.turn is TurnKind.SIGN else 0.5)


def turning_numbers(run: Run, count: int, known: Sequence[float]) -> list[float]:
    """The likeliest first, each with its neighbour; ``count``: the elements of the array; ``known``: numbers beside
    which nothing is looked for, and 0 is one."""
    rows = [*_rows(run, _even(count))]
    if not rows:
        return []
    places = _chosen([*_zeros(rows), *_zeros(_rows(run, _growing(count)))], [0.0, *known])
    for _ in range(_ROUNDS):
        left = [place for place in places if not _is_narrow(place)]
        if not left:
            break
        closer = dict(zip(left, _closer(run, left, count), strict=True))
        places = [closer.get(place, place) for place in places]
        if all(closer[place] == place for place in left):
            break
    return list(dict.fromkeys(number for place in places for number in (place.below, place.above)))


def _even(count: int) -> Array:
    return np.linspace(-8.0, 8.0, max(_FEW, min(count, 256))).astype(np.float32).astype(np.float64) + 0.03125


def _growing(count: int) -> Array:
    half = 2.0 ** np.linspace(-24, 40, max(_FEW, min(count, 256)) // 2)
    return np.concatenate([-half[::-1], half])


def _is_narrow(place: _Place) -> bool:
    below, above = np.float32(place.below), np.float32(place.above)
    return bool(np.nextafter(below, above) >= above)


# ------------------------------------------------------------------------------------------------ one run
def _rows(run: Run, numbers: Array) -> Iterator[tuple[Op, Array, Array]]:
    """Of each op with a lane for each element that was loaded: the numbers, rising and each once, and its values."""
    seen = run(numbers)
    if seen is None:
        return
    first: dict[int, tuple[Array, Array]] = {}
    for op, lanes in seen.items():
        if op.declaration.loads and lanes.size not in first:
            held, places = np.unique(lanes, return_index=True)
            held, places = held[np.isfinite(held)], places[np.isfinite(held)]
            if held.size >= _FEW:
                first[lanes.size] = held, places
    for op, lanes in seen.items():
        if not op.declaration.loads and lanes.size in first:
            held, places = first[lanes.size]
            yield op, held, lanes[places]


def _zeros(rows: Iterable[tuple[Op, Array, Array]]) -> Iterator[_Place]:
    for op, held, values in rows:
        for turn, place in _turns(values):
            below, above = place, place + 1
            if turn is TurnKind.PEAK:
                below = place - 1
            yield _place(turn, op, held, values, below, above)


def _place(turn: TurnKind, op: Op, held: Array, values: Array, below: int, above: int) -> _Place:
    first, last = float(held[below]), float(held[above])
    near = (first + last) / 2
    if turn is TurnKind.SIGN:
        near = first - float(values[below]) * (last - first) / float(values[above] - values[below])
    return _Place(turn, op, first, last, near)


def _turns(values: Array) -> Iterator[tuple[TurnKind, int]]:
    finite = np.isfinite(values)
    signs = np.sign(np.where(finite, values, 0))
    both = finite[1:] & finite[:-1]
    for place in np.flatnonzero(both & (signs[1:] != signs[:-1]) & (signs[:-1] != 0)):
        yield TurnKind.SIGN, int(place)
    for place in np.flatnonzero(finite[1:] != finite[:-1]):
        yield TurnKind.END, int(place)
    steps = np.diff(np.where(finite, values, 0))
    size = float(np.abs(values[finite]).max(initial=0.0))
    peaks = (steps[1:] * steps[:-1] < 0) & both[1:] & both[:-1]
    peaks &= np.minimum(np.abs(steps[1:]), np.abs(steps[:-1])) > _FLAT * size
    for place in np.flatnonzero(peaks):
        yield TurnKind.PEAK, int(place) + 1


def _chosen(places: Iterable[_Place], known: Sequence[float]) -> list[_Place]:
    """The likeliest, one of each kind in an interval; several ops have one root."""
    found: dict[tuple[TurnKind, float, float, int], _Place] = {}
    for place in places:
        if place.turn is TurnKind.END or not any(map(place.is_at, known)):
            part = int(_PARTS * (place.near - place.below) / (place.above - place.below))
            found.setdefault((place.turn, place.below, place.above, part), place)
    return sorted(found.values(), key=lambda place: (place.turn, abs(place.below + place.above)))[:_MOST]


def _closer(run: Run, places: list[_Place], count: int) -> list[_Place]:
    """The same turns between numbers that are closer; a place at which nothing turns any more stays as it is."""
    each = max(3, min(count, 256) // max(1, len(places)))
    asked = [np.linspace(place.below, place.above, each).astype(np.float32).astype(np.float64) for place in places]
    rows = {op: (held, values) for op, held, values in _rows(run, np.concatenate(asked))}
    closer = []
    for place in places:
        held, values = rows.get(place.op, (np.zeros(0), np.zeros(0)))
        inside = (held >= np.float32(place.below)) & (held <= np.float32(place.above))
        held, values = held[inside], values[inside]
        turn = next((at for turn, at in _turns(values) if turn is place.turn), None) if held.size > 2 else None
        if turn is None:
            closer.append(place)
            continue
        below = turn - 1 if place.turn is TurnKind.PEAK else turn
        closer.append(_place(place.turn, place.op, held, values, below, turn + 1))
    return closer


# ---------------------------------------------------------------------------------------------------------------- masks
# Large negative constants where an element is masked: a kernel that has one takes no contents that are as large.


_LEAST: Final = 1e4
_MASKING: Final = {"select": ("t", "f"), "mulf": ("lhs", "rhs"), "fma": ("lhs", "rhs")}
"""Operands that are a mask: chosen, or times 0 or 1.  A loop begins with one, too."""
_MOVING: Final = frozenset({"broadcast", "reshape"})


def masks(entry: Entry) -> frozenset[float]:
    """The numbers of -10000 and below that the kernel masks with, and does nothing else with."""
    ops = list(walk(entry.body))
    users: dict[Value, list[tuple[Op, str]]] = {}
    for op in ops:
        for name, operand in op.operands.items():
            for value in operand if isinstance(operand, tuple) else (operand,):
                if value is not None:
                    users.setdefault(value, []).append((op, name))
    masking: set[float] = set()
    others: set[float] = set()
    for op in (each for each in ops if each.name == "constant"):
        number = _number(op)
        if number is not None and number <= -_LEAST:
            only = all(_masks(use, name) for use, name in _uses(op.result, users))
            (masking if only else others).add(number)
    return frozenset(masking - others)


def _number(op: Op) -> float | None:
    constant = op.attributes["value"]
    if not isinstance(constant, Constant) or not constant.is_splat or not isinstance(constant.scalar, ScalarType):
        return None
    if not constant.scalar.is_float or not (data := constant_tile(constant).data).size:
        return None
    number = float(data.reshape(-1)[0])
    return number if np.isfinite(number) else None


def _uses(value: Value, users: dict[Value, list[tuple[Op, str]]]) -> Iterator[tuple[Op, str]]:
    for op, name in users.get(value, ()):
        if op.name in _MOVING:
            yield from _uses(op.result, users)
        else:
            yield op, name


def _masks(op: Op, name: str) -> bool:
    return name in _MASKING.get(op.name, ()) or (op.declaration.body == "loop" and name == "inits")
