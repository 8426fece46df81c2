"""A reference on ordinary arrays of floats, beside its run on exact numbers.

Exact numbers are of classes of their own, and a reference may ask for them in ways that nothing here can answer as an
array of floats would: `type`, `isinstance`, `id`, `pickle`, `sys.getsizeof`, attributes.  So it runs on the
shadows, too, as a caller would give them: arrays of NumPy or tensors of torch of the launch's types, floats and
integers of Python.  Both have to agree.

What rounds in 16 bits is off by more than a small share.  Then a third run decides, all of whose floats are float64:
casts between formats of floats do nothing to exact numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from ..backend.numbers.elements import NUMPY
from . import exact
from .field import Array
from .primitives import is_numbers, lifted
from .undecided import NearTie, Undecided

Changes: TypeAlias = Mapping[str, Array]
"""The arrays that a reference changes, by name."""


@dataclass(frozen=True, slots=True)
class Room:
    """How far two values may be apart: by a share of the larger, of the largest of their array, and in all."""

    relative: float
    of_largest: float
    absolute: float


IN_FLOAT64: Final = Room(1e-8, 1e-10, 1e-11)
IN_FLOAT32: Final = Room(1e-4, 1e-5, 1e-9)
IN_FEW_BITS: Final = Room(0.05, 0.02, 1e-6)


def hold(found: Changes, own: Callable[[], Changes], wide: Callable[[], Changes], before: Mapping[str, Array]) -> None:
    """Hold what a reference changes on numbers, ``found``, against what it changes on floats of the launch's types
    (``own``) and of float64 (``wide``); these raise what they like.  ``before``: all arrays before it.

    :raises Undecided: it says otherwise on floats than on exact numbers.
    :raises NearTie: it does here, and rounding may be why.
    """
    in_types = _tried(own)
    said = _apart(found, in_types, before, IN_FLOAT32)
    if not said:
        return
    as_in_float64 = not _apart(found, _tried(wide), before, IN_FLOAT64)
    if as_in_float64 and isinstance(in_types, str):  # as torch has no products of 8 bits
        return
    if not _apart(found, in_types, before, IN_FEW_BITS, overflows=as_in_float64):
        return
    if as_in_float64:
        raise NearTie(f"in the types of its arrays the reference says otherwise, beyond rounding: {said}")
    raise Undecided(
        "the reference does not say the same on arrays of floats as on exact numbers, as if it asked what they are "
        f"(type, isinstance): {said}"
    )


def _tried(run: Callable[[], Changes]) -> Changes | str:
    """What a run changes, or why there is no answer."""
    try:
        return run()
    except (Exception, SystemExit) as error:
        return f"it fails on arrays of floats: {type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _apart(
    found: Changes, plain: Changes | str, before: Mapping[str, Array], room: Room, overflows: bool = False
) -> str:
    """The first element in which both differ, in words, empty if there is none; ``overflows``: what is not finite may
    stand for any number."""
    if isinstance(plain, str):
        return plain
    for name in before:
        if name not in found and name not in plain:
            continue
        one, other = found.get(name, before[name]), plain.get(name, before[name])
        ours, mine = _values(one), _values(other)
        if ours.shape != mine.shape:
            return f"{name} has the shape {mine.shape}, not {ours.shape}"
        unsaid = _unsaid(one, ours)
        if overflows and mine.dtype.kind == "f":
            unsaid |= ~np.isfinite(mine)
        lanes = np.argwhere(_differ(ours, mine, room) & ~unsaid)
        if len(lanes):
            place = tuple(map(int, lanes[0]))
            return f"{name}{list(place)} is {mine[place]}, not {ours[place]}"
    return ""


def _values(value: object) -> Array:
    """Floats, or integers as they are."""
    if is_numbers(value) or isinstance(value, list | tuple):
        return np.asarray(lifted(value)["s"])
    return np.asarray(value)


def _unsaid(value: object, values: Array) -> Array:
    """Elements of which nothing is claimed: numbers beyond float64, and NaN, which memory is that nobody wrote."""
    lost = exact.is_lost(lifted(value)) if is_numbers(value) else np.zeros(values.shape, np.bool_)
    return np.asarray(lost | (np.isnan(values) if values.dtype.kind == "f" else False))


def _differ(ours: Array, mine: Array, room: Room) -> Array:
    if ours.dtype.kind != "f" and mine.dtype.kind != "f":
        return np.asarray(ours != mine)
    a, b = ours.astype(np.float64), mine.astype(np.float64)
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        largest = float(np.abs(np.where(finite, a, 0)).max(initial=0))
        size = np.maximum(np.abs(a), np.abs(b))
        far = np.abs(a - b) > room.relative * size + room.of_largest * largest + room.absolute
        return np.asarray(np.where(finite, far, (a != b) & ~(np.isnan(a) & np.isnan(b))))


# ---------------------------------------------------------------------------------------------- arguments
def as_floats(numbers: Mapping[str, Array], dtypes: Mapping[str, str]) -> dict[str, Array]:
    """The shadows of arrays of numbers, in NumPy's types of the element types ``dtypes`` (of others in float64, and in
    float32 where NumPy lacks the type), and copies of all others."""
    return {
        name: np.array(lifted(array)["s"]).astype(NUMPY.get(dtypes.get(name, "f64"), "float32"))
        if is_numbers(array)
        else array.copy()
        for name, array in numbers.items()
    }


def as_scalars(arguments: Mapping[str, object]) -> dict[str, object]:
    """Floats of Python for numbers without axes; all others are what they were."""
    return {name: float(lifted(value)["s"]) if is_numbers(value) else value for name, value in arguments.items()}
