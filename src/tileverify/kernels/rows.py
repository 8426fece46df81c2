"""Arrays as rows along their last axis, and the tiles in which kernels walk through rows."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from .arrays import contiguous

SHORT: Final = (4, 1024)
"""Rows and columns of a tile that holds rows whole."""

LONG: Final = (1, 2048)
"""The same of tiles that rows are walked through in."""

WHOLE: Final = (
    ("_short", SHORT), ("_short", (2, 2048)), ("_short", (1, 4096)), ("_row", (1, 8192)), ("_row", (1, 16384)),
)  # fmt: skip
"""Tiles that hold rows whole, in their order, and the ends of the names of kernels that take them."""


def as_rows(x: Any) -> Any:
    """x (..., N) as (M, N), packed."""
    return contiguous(x).reshape(prod(x.shape[:-1]), x.shape[-1])


def any_of(rows: Any) -> bool:
    """Whether there is any element."""
    return 0 not in rows.shape


def blocks(rows: Any, tile: tuple[int, int]) -> tuple[int, ...]:
    """A block for each tile of rows."""
    return (-(-rows.shape[0] // tile[0]),)


def holding(rows: Any) -> tuple[str, tuple[int, int]]:
    """The end of a kernel's name and its tile: the smallest that holds a row, or a part of it where none does."""
    return next((each for each in WHOLE if rows.shape[1] <= each[1][1]), ("", LONG))
