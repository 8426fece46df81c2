"""What two runs of one launch left in memory, compared element by element."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...contract.concrete import ConcreteLaunch
from ...contract.element_types import ELEMENT_TYPES
from ...frontend.bytecode.model import ScalarType
from ..interpreter.access_log import DynamicAccess
from ..interpreter.encodings import from_bits
from ..interpreter.interleaving import ScheduledRun
from ..interpreter.memory import Provenance
from ..interpreter.ordering import spread
from ..interpreter.values import UNSPECIFIED, Array

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
