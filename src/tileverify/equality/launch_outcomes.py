"""What a launch leaves in memory beside what the reference says of it: the first element that differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from ..backend.numbers.elements import Array, numbers
from ..backend.numbers.inputs import view
from ..results.equality_section import UnequalValues
from .exact_arrays import presented
from .points import WHOLE, TrialPoint
from .primitives import is_numbers, lifted
from .sameness import Compared, compared
from .undecided import Undecided

MOST_UNEQUAL: Final = 1024
"""Elements of an array that differ and are kept with their values."""


@dataclass(frozen=True, slots=True)
class UnequalArray:
    """An array in which ``count`` elements differ, and the first of them."""

    shape: tuple[int, ...]
    dtype: str
    count: int
    elements: tuple[UnequalValues, ...]


@dataclass(frozen=True, slots=True)
class UnequalElement:
    """One element, in float64, and the point at which it was seen; ``inputs``: the contents of that point, where they
    are constants; ``whole``: the array that it is of."""

    array: str
    index: tuple[int, ...]
    kernel: float
    reference: float
    point: TrialPoint
    whole: UnequalArray
    inputs: Mapping[str, ArrayLike] | None = None
    given: bool = True
    """Whether the reference says anything of the array: what it leaves out has to stay as it was."""

    def where_finite(self) -> UnequalElement | None:
        """The first element of the array that differs and is finite on both sides, if there is one."""
        for each in self.whole.elements:
            if np.isfinite(each.kernel) and np.isfinite(each.reference):
                return replace(self, index=each.index, kernel=each.kernel, reference=each.reference)
        return None


def outcome(point: TrialPoint, after: Mapping[str, Array], expected: Mapping[str, Array]) -> Compared | UnequalElement:
    """The memory that the kernel leaves at a point beside the arrays that the reference says."""
    kernel = dict(arrays_of(point, after))
    wanted_memory = _overwritten(point, expected)
    dtypes = {name: array.dtype for name, array in point.inputs.launch.named_arrays()}
    worst = Compared()
    for name, array in kernel.items():
        wanted = _plain(wanted_memory[name])
        held = _plain(array)
        if point.filling == WHOLE and held.dtype.kind in "iu" and wanted.dtype.kind in "iu":
            wanted = wanted.astype(held.dtype)  # what is stored: a sum in wider integers is no difference
        found = compared(held, wanted)
        if found.unequal is not None:
            whole = _unequal(found.unequal, held, wanted, dtypes[name])
            first = whole.elements[0]
            given = name in expected
            return UnequalElement(name, first.index, first.kernel, first.reference, point, whole, given=given)
        if found.open:
            worst = replace(found, open=f"{name}: {found.open}") if not worst.open else worst
        elif not worst.open:
            worst = Compared(bits=min(worst.bits, found.bits), undefined=worst.undefined + found.undefined)
    return worst


def _unequal(places: Array, kernel: Array, wanted: Array, dtype: str) -> UnequalArray:
    """``places``: flat ones of both arrays."""
    indices = zip(*np.unravel_index(places[:MOST_UNEQUAL], kernel.shape), strict=True)
    elements = (tuple(int(each) for each in index) for index in indices)
    found = tuple(UnequalValues(index, _float(kernel[index]), _float(wanted[index])) for index in elements)
    return UnequalArray(kernel.shape, dtype, len(places), found)


def _overwritten(point: TrialPoint, expected: Mapping[str, Array]) -> dict[str, Array]:
    """All arrays after those of ``expected`` were written; two arguments may be one array."""
    memory = {name: array.copy() for name, array in {**point.inputs.memory, **point.contents}.items()}
    whole: dict[str, Array] = {}
    for name, array in point.inputs.launch.named_arrays():
        if name not in expected:
            continue
        value = _plain(expected[name])
        if value.shape != array.shape:
            raise Undecided(f"the reference's {name} has the shape {value.shape}, not {array.shape}")
        if array.allocation in point.contents:
            view(memory[array.allocation], array.shape, array.strides)[...] = lifted(value)
        else:
            whole[array.allocation] = value
    after = dict(arrays_of(point, memory))
    places = {name: array.allocation for name, array in point.inputs.launch.named_arrays()}
    return {name: whole.get(places[name], array) for name, array in after.items()}


def _plain(value: object) -> Array:
    if is_numbers(value):
        return lifted(value)
    if isinstance(value, list | tuple):
        return np.asarray(lifted(value) if any(is_numbers(each) for each in value) else value)
    return np.asarray(value)


def _float(value: Any) -> float:
    return float(value["s"]) if getattr(value, "dtype", None) is not None and value.dtype.names else float(value)


def arrays_of(point: TrialPoint, memory: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    """The arrays of the launch by name, with their shapes, those of floats as `Numbers`."""
    for name, array in point.inputs.launch.named_arrays():
        held = view(memory[array.allocation], array.shape, array.strides)
        yield name, presented(held) if is_numbers(held) else numbers(held, array.dtype)
