"""Stable sorting, joins of two columns of keys, prefix sums and histograms; the same result each time."""

from __future__ import annotations

from math import prod
from typing import Final, overload

from ..system.errors import UsageError
from .arrays import (
    A,
    AnyArray,
    Array,
    ArrayOf,
    Float32s,
    Int32s,
    NumPyArray,
    contiguous,
    empty,
    fetched,
    filled,
    need,
    need_axes,
    need_type,
    processors,
    takes_jax,
    value_of,
)
from .prepared import launch, no_gradient

COUNTED: Final = 512
"""Keys of a tile in which digits are counted."""

MOVED: Final = 1024
DIGIT: Final = 4
"""Bits of a digit."""

BITS: Final = 32


@takes_jax
def radix_pass(keys: ArrayOf[A], values: AnyArray, shift: int) -> tuple[A, A]:
    """Keys in the order of their bits ``shift`` to ``shift + 3``, equal ones as they were, and values with them.

    keys and values int32 (N); ``shift`` is 0 to 28, and the highest bit of 28 is the sign.

    >>> import numpy as np
    >>> from tileverify.kernels import radix_pass
    >>> keys, values = radix_pass(np.array([0x21, 0x10, 0x11], np.int32), np.array([7, 8, 9], np.int32), 4)
    >>> keys.tolist(), values.tolist()
    ([16, 17, 33], [8, 9, 7])
    """
    if not 0 <= shift <= BITS - DIGIT:
        raise UsageError(f"`shift` is {shift}, and it takes 0 to {BITS - DIGIT}")
    need_axes("(N)", keys=keys)
    need(keys.shape, values=values)
    need_type("i32", keys=keys, values=values)
    return _passed(contiguous(keys), contiguous(values), shift)


def _passed(keys: A, values: Array, shift: int) -> tuple[A, A]:
    """`radix_pass` of packed arrays."""
    count, moved = keys.shape[0], (empty(keys.shape, keys), empty(keys.shape, keys))
    if count:
        tiles = -(-count // COUNTED)
        counts, places = empty((1 << DIGIT, tiles), keys), empty(keys.shape, keys)
        launch("sorting.digit_counts", (tiles,), keys, counts, shift, COUNTED, like=keys)
        starts = prefix_sums(counts.reshape((-1,)), exclusive=True).reshape(counts.shape)
        launch("sorting.digit_places", (tiles,), keys, starts, places, shift, COUNTED, like=keys)
        grid, facts = (-(-count // MOVED),), ["injective(places)", "range(places, 0, x.shape[0])"]
        for source, target in zip((keys, values), moved, strict=True):
            launch("sorting.move", grid, source, places, target, MOVED, like=keys, data=facts)
    return moved


@takes_jax
def sort(keys: ArrayOf[A], values: AnyArray | None = None) -> tuple[A, A]:
    """Keys in rising order, equal ones as they were, and values with them, or else the places where the keys stood.

    keys and values int32 (N).  Eight passes, one for each digit.  That no two keys are moved to one place is checked in
    each pass, as the kernel that moves them was proved for such places.

    >>> import numpy as np
    >>> from tileverify.kernels import sort
    >>> keys, places = sort(np.array([5, -2, 5, 0], np.int32))
    >>> keys.tolist(), places.tolist()
    ([-2, 0, 5, 5], [1, 3, 0, 2])
    """
    need_axes("(N)", keys=keys)
    if values is None:
        values = prefix_sums(filled(keys.shape, 1, keys, "i32"), exclusive=True)
    moved = radix_pass(keys, values, 0)
    for shift in range(DIGIT, BITS, DIGIT):
        moved = _passed(*moved, shift)
    return moved


# -------------------------------------------------------------------------------------------------------------- joining
# Joins of two columns of int32 keys: all pairs of rows with one key.


JOIN_TILE: Final = 256

MOST: Final = 2**31 - 1
"""Pairs that can be numbered in 32 bits."""


@takes_jax
def join(left: ArrayOf[A], right: AnyArray, *, ordered: bool = False) -> tuple[A, A]:
    """All (i, j) with ``left[i] == right[j]``, as two columns of row numbers, int32 both: all i, all j.

    left (M) and right (N): int32.  Pairs are in the order of i; with ``ordered`` those of one i are in the order of j,
    otherwise in any, which may be another one each time.  Without it the rows on the right go into a hash table, with
    it they are sorted.  How many pairs there are is fetched from the device.

    >>> import numpy as np
    >>> from tileverify.kernels import join
    >>> i, j = join(np.array([7, 3, 7], np.int32), np.array([3, 7, 7, 8], np.int32), ordered=True)
    >>> list(zip(i.tolist(), j.tolist()))
    [(0, 1), (0, 2), (1, 0), (2, 1), (2, 2)]
    """
    need_axes("(M)", left=left)
    need_axes("(N)", right=right)
    need_type("i32", left=left, right=right)
    if not left.shape[0] or not right.shape[0]:
        return empty((0,), left), empty((0,), left)
    joined = _by_sorting if ordered else _by_hashing
    return joined(contiguous(left), contiguous(right))


def _by_hashing(left: A, right: Array) -> tuple[A, A]:
    heads = filled((1 << right.shape[0].bit_length(),), -1, right)
    following, counts = empty(right.shape, right), empty(left.shape, left)
    launch("join.build_chains", _blocks(right), right, heads, following, JOIN_TILE, like=right)
    launch("join.count_in_chains", _blocks(left), left, right, heads, following, counts, JOIN_TILE, like=left)
    offsets, pairs = _offsets(counts)
    if pairs[0].shape[0]:
        table = left, right, heads, following, offsets
        launch("join.write_from_chains", _blocks(pairs[0]), *table, *pairs, _steps(left), JOIN_TILE, like=left)
    return pairs


def _by_sorting(left: A, right: Array) -> tuple[A, A]:
    keys, rows = sort(right)
    firsts, counts = empty(left.shape, left), empty(left.shape, left)
    launch("join.count_in_sorted", _blocks(left), left, keys, firsts, counts, _steps(right), JOIN_TILE, like=left)
    offsets, pairs = _offsets(counts)
    if pairs[0].shape[0]:
        launch(
            "join.write_from_sorted",
            _blocks(pairs[0]),
            firsts,
            offsets,
            rows,
            *pairs,
            _steps(left),
            JOIN_TILE,
            like=left,
        )
    return pairs


def _offsets(counts: A) -> tuple[Array, tuple[A, A]]:
    """Where the pairs of each row on the left begin, and arrays for all of them; raises `UsageError` for too many."""
    tiles = -(-counts.shape[0] // SCAN_TILE)
    sums = empty((tiles,), counts, "i64")
    launch("scans.block_sums", (tiles,), counts, sums, SCAN_TILE, like=counts)
    total = int(fetched(sums).sum())
    if total > MOST:
        raise UsageError(f"there are {total} pairs, and a join takes {MOST} at most: join parts of the columns")
    return prefix_sums(counts, exclusive=True), (empty((total,), counts), empty((total,), counts))


def _blocks(column: AnyArray) -> tuple[int, ...]:
    return (-(-column.shape[0] // JOIN_TILE),)


def _steps(column: AnyArray) -> int:
    """Of a bisection."""
    return int(column.shape[0]).bit_length()


# ---------------------------------------------------------------------------------------------------------------- scans
# Prefix sums, histograms and reductions of whole arrays, which give the same result each time.


SCAN_TILE: Final = 1024
REDUCED: Final = 4096
"""Elements of a tile in the first stage of a reduction; the second one takes `SCAN_TILE`."""

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
    tiles = -(-x.shape[0] // SCAN_TILE)
    if tiles:
        sums, starts = empty((tiles,), x, kind), empty((tiles + 1,), x, kind)
        launch("scans.block_sums", (tiles,), x, sums, SCAN_TILE, like=x)
        launch("scans.scan_sums", (1,), sums, starts, SCAN_TILE, like=x)
        launch("scans.scan_blocks", (tiles,), x, starts, out, SCAN_TILE, exclusive, like=x)
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
        launch("scans.histogram", (-(-flat.shape[0] // SCAN_TILE),), flat, out, SCAN_TILE, like=values)
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
        launch(f"scans.{kernel}", (1,), parts, out, SCAN_TILE, like=x)
    return out.reshape(())
