"""Arrays as rows along their last axis, and the tiles in which kernels walk through rows."""

from __future__ import annotations

from math import prod
from typing import Final, overload

from .array_types import A, AnyArray, Array, ArrayOf
from .arrays import contiguous

SHORT: Final = (4, 1024)
"""Rows and columns of a tile that holds rows whole."""

LONG: Final = (1, 2048)
"""The same of tiles that rows are walked through in."""

WHOLE: Final = (
    ("_short", SHORT, 1024), ("_short", (2, 2048), 2048), ("_short", (1, 4096), 4096), ("_row", (1, 8192), 8192),
    ("_three", (1, 4096), 12288), ("_row", (1, 16384), 16384),
)  # fmt: skip
"""Ends of the names of kernels that hold rows whole, their tiles, and the longest row of each, in this order."""


@overload
def as_rows(x: A) -> A: ...
@overload
def as_rows(x: ArrayOf[A]) -> A: ...
def as_rows(x: AnyArray) -> Array:
    """x (..., N) as (M, N), packed."""
    return contiguous(x).reshape((prod(x.shape[:-1]), x.shape[-1]))


def any_of(rows: AnyArray) -> bool:
    """Whether there is any element."""
    return 0 not in rows.shape


def blocks(rows: AnyArray, tile: tuple[int, int]) -> tuple[int, ...]:
    """A block for each tile of rows."""
    return (-(-rows.shape[0] // tile[0]),)


def holding(rows: AnyArray) -> tuple[str, tuple[int, int]]:
    """The end of a kernel's name and its tile: the first that takes rows whole, or parts of them where none does."""
    return next(((end, tile) for end, tile, most in WHOLE if rows.shape[1] <= most), ("", LONG))
