"""How far a kernel's own formats are from float64, in units of the spacing of the format that holds the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from .field import Array
from .narrow_sums import NarrowSum

FORMATS: Final = {
    "f64": (53, -1022), "f32": (24, -126), "tf32": (11, -126), "f16": (11, -14), "bf16": (8, -126),
    "f8e4m3": (4, -6), "f8e5m2": (3, -14), "f8e8m0": (1, -127),
}  # fmt: skip
"""Bits of a significand, and the least exponent of a normal number."""


@dataclass(frozen=True, slots=True)
class ArrayError:
    """The worst element of an array: ``units`` are spacings of its format at ``reference``, ``of_largest`` the largest
    error of the array in spacings at its largest element.  Both are infinite where the format overflows."""

    array: str
    format: str
    units: float
    of_largest: float
    index: tuple[int, ...]
    kernel: float
    reference: float
    launch: Mapping[str, int]
    contents: str

    @property
    def beside_zero(self) -> bool:
        """Whether the error is as large as the value: ``units`` then counts spacings that are finer than any digit."""
        apart = abs(self.kernel - self.reference)
        return bool(np.isfinite(apart)) and apart >= abs(self.reference) and self.units > 1


@dataclass(frozen=True, slots=True)
class RoundingSeen:
    """What was measured at a few points, the worst of each array; ``reason``: why nothing was."""

    arrays: tuple[ArrayError, ...] = ()
    narrow: tuple[NarrowSum, ...] = ()
    reason: str = ""


def spacing(values: Array, format_name: str) -> Array:
    """The distance between neighbouring numbers of a format at finite ``values`` (float64)."""
    digits, least = FORMATS[format_name]
    _, exponents = np.frexp(values)
    exponents = np.where(values == 0, least, np.maximum(exponents - 1, least))
    return np.asarray(np.ldexp(1.0, exponents - (digits - 1)))


def error_of(
    name: str, format_name: str, kernel: Array, reference: Array, launch: Mapping[str, int], contents: str
) -> ArrayError | None:
    """Of arrays of one shape, in float64; elements whose reference is not finite are left out, None if all are."""
    known = np.isfinite(reference)
    if not known.any():
        return None
    exact = np.where(known, reference, 0.0)
    with np.errstate(all="ignore"):
        apart = np.where(known, np.abs(kernel - exact), 0.0)
        apart = np.where(np.isnan(apart), np.inf, apart)
        units = apart / spacing(exact, format_name)
    worst = int(units.argmax())
    index = tuple(int(place) for place in np.unravel_index(worst, exact.shape))
    of_largest = float(apart.max() / spacing(np.abs(exact).max(), format_name))
    return ArrayError(
        name, format_name, float(units[index]), of_largest, index, float(kernel[index]), float(exact[index]),
        launch, contents,
    )  # fmt: skip
