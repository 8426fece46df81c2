"""Float arrays that count up, so that values tell where they come from."""

from __future__ import annotations

from typing import Final

import numpy as np

from ...contract.concrete import ConcreteArray, ConcreteLaunch
from ...contract.element_types import ELEMENT_TYPES
from ...frontend.bytecode.model import ScalarType
from ..interpreter.arguments import extent_bytes
from ..interpreter.encodings import round_to, to_bits
from ..interpreter.values import Array

PERIODS: Final = {"f8e8m0": 2, "f8e5m2": 7, "f8e4m3": 13, "bf16": 251}
PERIOD: Final = 2039
"""Prime, so that the rows of an array differ, and so small that the format holds every integer up to it."""
APART: Final = 101
"""By how much the first elements of two allocations differ."""
MOST_BYTES: Final = 1 << 24
"""Larger allocations stay as they are."""


def counting_floats(launch: ConcreteLaunch) -> dict[str, Array]:
    """The bytes of every allocation of floats: element i of allocation k holds ``1 + (i + 101 k) % 2039``.

    Formats with fewer exact integers repeat sooner.  What a witness gives contents to keeps them.
    """
    groups: dict[str, list[ConcreteArray]] = {}
    for name, array in launch.named_arrays():
        groups.setdefault(array.allocation or name, []).append(array)
    found = {}
    for number, (allocation, arrays) in enumerate(groups.items()):
        size = max(array.byte_offset + extent_bytes(array) for array in arrays)
        if 0 < size <= MOST_BYTES and len({array.dtype for array in arrays}) == 1 and all(map(_blank, arrays)):
            found[allocation] = _counting(arrays[0].dtype, size, APART * number)
    return found


def _blank(array: ConcreteArray) -> bool:
    return ELEMENT_TYPES[array.dtype].kind == "f" and not array.contents and not array.fill


def _counting(dtype: str, size: int, start: int) -> Array:
    (name,) = ELEMENT_TYPES[dtype].tile_ir
    element = ScalarType(name, 19 if name == "tf32" else ELEMENT_TYPES[dtype].bits)
    numbers = 1 + (start + np.arange(-(-size // element.bytes))) % PERIODS.get(dtype, PERIOD)
    bits = np.ascontiguousarray(to_bits(round_to(numbers.astype(np.float64), element), element))
    return bits.view(np.uint8)[:size]
