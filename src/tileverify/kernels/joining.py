"""Joins of two columns of int32 keys: all pairs of rows with one key."""

from __future__ import annotations

from typing import Final

from ..system.errors import UsageError
from .array_types import A, AnyArray, Array, ArrayOf
from .arrays import contiguous, empty, fetched, filled
from .jax_arrays import takes_jax
from .needs import need_axes, need_type
from .prepared import launch
from .scans import TILE as SUMMED
from .scans import prefix_sums
from .sorting import sort

TILE: Final = 256

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
    launch("join.build_chains", _blocks(right), right, heads, following, TILE, like=right)
    launch("join.count_in_chains", _blocks(left), left, right, heads, following, counts, TILE, like=left)
    offsets, pairs = _offsets(counts)
    if pairs[0].shape[0]:
        table = left, right, heads, following, offsets
        launch("join.write_from_chains", _blocks(pairs[0]), *table, *pairs, _steps(left), TILE, like=left)
    return pairs


def _by_sorting(left: A, right: Array) -> tuple[A, A]:
    keys, rows = sort(right)
    firsts, counts = empty(left.shape, left), empty(left.shape, left)
    launch("join.count_in_sorted", _blocks(left), left, keys, firsts, counts, _steps(right), TILE, like=left)
    offsets, pairs = _offsets(counts)
    if pairs[0].shape[0]:
        launch(
            "join.write_from_sorted", _blocks(pairs[0]), firsts, offsets, rows, *pairs, _steps(left), TILE, like=left
        )
    return pairs


def _offsets(counts: A) -> tuple[Array, tuple[A, A]]:
    """Where the pairs of each row on the left begin, and arrays for all of them; raises `UsageError` for too many."""
    tiles = -(-counts.shape[0] // SUMMED)
    sums = empty((tiles,), counts, "i64")
    launch("scans.block_sums", (tiles,), counts, sums, SUMMED, like=counts)
    total = int(fetched(sums).sum())
    if total > MOST:
        raise UsageError(f"there are {total} pairs, and a join takes {MOST} at most: join parts of the columns")
    return prefix_sums(counts, exclusive=True), (empty((total,), counts), empty((total,), counts))


def _blocks(column: AnyArray) -> tuple[int, ...]:
    return (-(-column.shape[0] // TILE),)


def _steps(column: AnyArray) -> int:
    """Of a bisection."""
    return int(column.shape[0]).bit_length()
