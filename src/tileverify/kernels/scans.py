"""Prefix sums, histograms and reductions of whole arrays, which give the same result each time."""

from __future__ import annotations

from math import prod
from typing import Final, overload

from ..system.errors import UsageError
from .array_types import A, AnyArray, Array, ArrayOf, Float32s, Int32s, NumPyArray
from .arrays import contiguous, empty, filled, processors, value_of
from .gradients import no_gradient
from .jax_arrays import takes_jax
from .needs import need_axes, need_type
from .prepared import launch

TILE: Final = 1024
REDUCED: Final = 4096
"""Elements of a tile in the first stage of a reduction; the second one takes `TILE`."""

WAVES: Final = 4
"""Blocks for each multiprocessor in that first stage."""

_SUMS: Final = {"i32": "i32", "bf16": "f32", "f16": "f32", "f32": "f32"}
"""In what elements of each type are added up."""


@overload
def prefix_sums(x: Int32s, *, exclusive: bool = False) -> Int32s: ...
@overload
def prefix_sums(x: NumPyArray, *, exclusive: bool = False) -> Float32s: ...
@overload
def prefix_sums(x: ArrayOf[A], *, exclusive: bool = False) -> A: ...
@takes_jax
def prefix_sums(x: AnyArray, *, exclusive: bool = False) -> Array:
    """``out[i]`` is the sum of ``x[0]`` to ``x[i]``, or with ``exclusive`` to ``x[i - 1]``.  It has no gradient.

    x (N): int32, added up in int32, or floats, in float32, of which the result is.

    >>> import numpy as np
    >>> from tileverify.kernels import prefix_sums
    >>> prefix_sums(np.array([3, 1, 2], np.int32), exclusive=True).tolist()
    [0, 3, 4]
    """
    no_gradient("prefix_sums", x=x)
    need_axes("(N)", x=x)
    need_type(*_SUMS, x=x)
    kind, x = _SUMS[value_of(x).dtype], contiguous(x)
    out = empty(x.shape, x, kind)
    tiles = -(-x.shape[0] // TILE)
    if tiles:
        sums, starts = empty((tiles,), x, kind), empty((tiles + 1,), x, kind)
        launch("scans.block_sums", (tiles,), x, sums, TILE, like=x)
        launch("scans.scan_sums", (1,), sums, starts, TILE, like=x)
        launch("scans.scan_blocks", (tiles,), x, starts, out, TILE, exclusive, like=x)
    return out


@takes_jax
def histogram(values: ArrayOf[A], bins: int) -> A:
    """How often each number from 0 to ``bins - 1`` occurs; other values are left out.

    values: int32, of any shape; the result is int32 (bins).

    >>> import numpy as np
    >>> from tileverify.kernels import histogram
    >>> histogram(np.array([2, 0, 2, 7, -1], np.int32), 4).tolist()
    [1, 0, 2, 0]
    """
    if bins < 0:
        raise UsageError(f"`bins` is {bins}, and it takes 0 and up")
    need_type("i32", values=values)
    flat, out = contiguous(values).reshape((-1,)), filled((bins,), 0, values)
    if bins and flat.shape[0]:
        launch("scans.histogram", (-(-flat.shape[0] // TILE),), flat, out, TILE, like=values)
    return out


@overload
def array_sum(x: NumPyArray) -> Float32s: ...
@overload
def array_sum(x: ArrayOf[A]) -> A: ...
@takes_jax
def array_sum(x: AnyArray) -> Array:
    """The sum of all elements, in float32: x of any shape, float; the result has no axes.  It has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import array_sum
    >>> float(array_sum(np.array([[2.0, 7.0], [-1.0, 3.0]], np.float32)))
    11.0
    """
    return _reduced("array_sum", x, 0.0)


@overload
def array_maximum(x: NumPyArray) -> Float32s: ...
@overload
def array_maximum(x: ArrayOf[A]) -> A: ...
@takes_jax
def array_maximum(x: AnyArray) -> Array:
    """The largest element, in float32, minus infinity if there is none.  It has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import array_maximum
    >>> float(array_maximum(np.array([[2.0, 7.0], [-1.0, 3.0]], np.float32)))
    7.0
    """
    return _reduced("array_maximum", x, float("-inf"))


def _reduced(kernel: str, x: ArrayOf[A], of_none: float) -> A:
    no_gradient(kernel, x=x)
    need_type("bf16", "f16", "f32", x=x)
    flat, out = contiguous(x).reshape((prod(x.shape),)), filled((1,), of_none, x, "f32")
    if flat.shape[0]:
        blocks = min(-(-flat.shape[0] // REDUCED), WAVES * processors(x))
        parts = empty((blocks,), x, "f32")
        launch(f"scans.{kernel}", (blocks,), flat, parts, REDUCED, like=x)
        launch(f"scans.{kernel}", (1,), parts, out, TILE, like=x)
    return out.reshape(())
