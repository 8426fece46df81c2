"""Arrays as rows along their last axis, and the tiles in which kernels walk through rows."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from .arrays import contiguous

SHORT: Final = (4, 1024)
"""Rows and columns of a tile that holds rows whole."""

LONG: Final = (1, 2048)
"""The same of tiles that rows are walked through in."""


def as_rows(x: Any) -> Any:
    """x (..., N) as (M, N), packed."""
    return contiguous(x).reshape(prod(x.shape[:-1]), x.shape[-1])


def any_of(rows: Any) -> bool:
    """Whether there is any element."""
    return 0 not in rows.shape


def blocks(rows: Any, tile: tuple[int, int]) -> tuple[int, ...]:
    """A block for each tile of rows."""
    return (-(-rows.shape[0] // tile[0]),)
