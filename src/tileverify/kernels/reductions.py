"""Sums, means and maxima along an axis, taken in float32.  None of these functions has a gradient."""

from __future__ import annotations

from math import prod
from typing import Final

from .array_types import A, ArrayOf
from .arrays import empty, processors
from .gradients import no_gradient
from .jax_arrays import takes_jax
from .moving import fill
from .needs import need_axes
from .prepared import launch
from .rows import as_rows

ROWS: Final = (4, 512)
"""Rows and columns of the tiles in which a block walks along its rows."""

COLUMNS: Final = (16, 128)
"""Rows and columns of the tiles in which a block walks down its columns."""

WAVES: Final = 2
"""Blocks for each multiprocessor where rows are added up in groups."""


@takes_jax
def row_sums(x: ArrayOf[A]) -> A:
    """``sum(x)`` along the last axis; x (..., N), gives (...).

    >>> import numpy as np
    >>> from tileverify.kernels import row_sums
    >>> row_sums(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)).tolist()
    [3.0, 7.0]
    """
    return _along_rows("row_sums", x, 0.0)


@takes_jax
def row_means(x: ArrayOf[A]) -> A:
    """``mean(x)`` along the last axis, no number where that is empty; x (..., N), gives (...).

    >>> import numpy as np
    >>> from tileverify.kernels import row_means
    >>> row_means(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)).tolist()
    [1.5, 3.5]
    """
    return _along_rows("row_means", x, float("nan"))


@takes_jax
def row_maxima(x: ArrayOf[A]) -> A:
    """``max(x)`` along the last axis, minus infinity where that is empty; x (..., N), gives (...).

    >>> import numpy as np
    >>> from tileverify.kernels import row_maxima
    >>> row_maxima(np.array([[1.0, 2.0], [4.0, 3.0]], np.float32)).tolist()
    [2.0, 4.0]
    """
    return _along_rows("row_maxima", x, -float("inf"))


@takes_jax
def column_sums(x: ArrayOf[A]) -> A:
    """``sum(x)`` along all axes but the last, on one device always in the same order; x (..., N), gives (N).

    >>> import numpy as np
    >>> from tileverify.kernels import column_sums
    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)).tolist()
    [4.0, 6.0]
    """
    no_gradient("column_sums", x=x)
    need_axes("(..., N)", x=x)
    rows = as_rows(x)
    out = empty(x.shape[-1:], x)
    height, width = rows.shape
    if not height or not width:
        fill(out, 0.0)
        return out
    across = -(-width // COLUMNS[1])
    groups = min(-(-height // COLUMNS[0]), -(-WAVES * processors(x) // across))
    if groups > 1:
        partials = empty((groups, width), x, "f32")
        launch("moving.column_sum_partials", (across, groups), rows, partials, *COLUMNS, like=x)
        rows = partials
    launch("moving.column_sums", (across,), rows, out, *COLUMNS, like=x)
    return out


def _along_rows(kernel: str, x: ArrayOf[A], of_none: float) -> A:
    """``of_none``: what comes out of an empty row."""
    no_gradient(kernel, x=x)
    need_axes("(..., N)", x=x)
    height, width = prod(x.shape[:-1]), x.shape[-1]
    out = empty((height,), x)
    if not width:
        fill(out, of_none)
    elif height:
        launch(f"moving.{kernel}", (-(-height // ROWS[0]),), as_rows(x), out, *ROWS, like=x)
    return out.reshape(x.shape[:-1])
