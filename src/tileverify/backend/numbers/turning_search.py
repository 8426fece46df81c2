"""Numbers at which something that a kernel computes of an element changes its sign, has a peak, or is infinite.

A polynomial of degree 2 does not tell where ``t * t * t - 5`` is 0.  But most kernels compute each element of one
element, so a run shows what every op makes of as many numbers as a tile has lanes.  Where something turns between two
of them, the next run asks for numbers between these, until there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from .elements import Array

if TYPE_CHECKING:
    from ...frontend.bytecode.model import Op

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
_BESIDE: Final = 0.02
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
        return abs(self.near - number) <= width * (_BESIDE if self.turn is TurnKind.SIGN else 0.5)


def turning_numbers(run: Run, count: int, known: Sequence[float]) -> list[float]:
    """The likeliest first, each with its neighbour; ``count``: the elements of the array; ``known``: numbers beside
    which nothing is looked for, and 0 is one."""
    rows = [*_rows(run, _even(count))]
    if not rows:
        return []
    places = _chosen([*_places(rows), *_places(_rows(run, _growing(count)))], [0.0, *known])
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


def _places(rows: Iterable[tuple[Op, Array, Array]]) -> Iterator[_Place]:
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
