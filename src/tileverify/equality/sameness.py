"""Two arrays after a launch, the kernel's and the reference's, element by element.

Equal residues mean equal numbers.  Different residues mean different numbers only where laws of real numbers hold for
them; so that no missing law makes a difference, one has to show in float64, too.  Of a number that goes beyond float64
on the way nothing is said.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from . import exact, field
from .field import LANES, LEVELS, SLOTS, Array
from .primitives import is_numbers, lifted

RELATIVE: Final = 1e-9
OF_LARGEST: Final = 1e-11
UNIT: Final = 1e-12
"""What is left in float64 where numbers like those that are drawn cancel: numbers with equal residues may differ so."""


@dataclass(frozen=True, slots=True)
class Compared:
    """``different``: the first element (flat) that differs; else ``open``: why it is not known that all are equal.

    ``bits``: minus the logarithm to base 2 of the chance that an unequal array looks equal here.
    """

    different: int | None = None
    open: str = ""
    bits: float = math.inf
    undefined: int = 0
    """Elements that are NaN in both."""
    unequal: Array | None = dataclasses.field(default=None, compare=False)
    """All elements (flat) that differ."""


def compared(kernel: Array, reference: Array) -> Compared:
    """Both of one shape; integers or numbers."""
    if not is_numbers(kernel) and not is_numbers(reference):
        unequal = np.flatnonzero(np.asarray(kernel) != np.asarray(reference))
        return Compared(different=int(unequal[0]), unequal=unequal) if len(unequal) else Compared()
    x, y = lifted(kernel).reshape(-1), lifted(reference).reshape(-1)
    a, b = x["s"], y["s"]
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        neither = np.isnan(a) & np.isnan(b)
        largest = np.abs(np.where(finite, b, 0)).max(initial=0)
        room = RELATIVE * np.maximum(np.abs(a), np.abs(b)) + OF_LARGEST * largest
        apart = np.where(finite, np.abs(a - b) > room, ~((a == b) | neither))
        far = apart & finite & (np.abs(a - b) > UNIT)
    lanes = matched(x, y)
    lanes[~finite] = LANES
    lost = exact.is_lost(x) | exact.is_lost(y)
    wrong = np.flatnonzero(apart & ((lanes <= 0) | ~finite) & ~lost)
    if len(wrong):
        return Compared(different=int(wrong[0]), unequal=wrong)
    if lost.any():
        return Compared(open="a number goes beyond float64 on the way")
    if far.any():
        return Compared(open="residues are equal, but the float64 values are far apart")
    if (lanes < 0).any():
        return Compared(open="residues differ where float64 values do not: a law that is not known, or too small")
    if (lanes == 0).any():
        return Compared(open="no residue is left for which the laws hold")
    if not len(x):
        return Compared()
    n, d, m, e = (held.astype(np.float64) for held in (x["n"], x["d"], y["n"], y["d"]))
    degree = max(1.0, float(np.max([n + e, m + d, d + e])))  # of the numerator of the difference
    bits = int(lanes.min()) * max(0.0, math.log2(field.SMALLEST) - math.log2(degree))
    return Compared(bits=bits, undefined=int(np.count_nonzero(neither)))


def matched(x: Array, y: Array) -> Array:
    """For each element the points at which residues show that both are equal; -1 where they show a difference."""
    equal = np.moveaxis(x["r"] == y["r"], -1, 0)
    live = ~exact.unpacked(np.asarray(x["dead"] | y["dead"]))
    found = np.zeros(x.shape, np.int64)
    for number in range(LEVELS):
        slots = field.level(number)
        whole = equal[slots].all(axis=0)
        some = np.where(whole, LANES, (equal[slots] & live[slots]).sum(axis=0))
        found = np.maximum(found, np.where((live[slots] & ~equal[slots]).any(axis=0), 0, some))
    shown = (live & ~equal).reshape(SLOTS, -1).any(axis=0).reshape(x.shape)
    return np.where((found == 0) & shown, -1, found)
