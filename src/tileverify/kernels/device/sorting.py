"""Stable sorting of integers: by digits, with a scatter, or by merging sorted runs, with gathers alone.

A radix sort of N keys makes passes over 4 bits each: `digit_counts`, the exclusive prefix sums of the counts (as one
row), `digit_places`, and `move` for the keys and what goes with them.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
LARGEST = 2**31 - 1


def digits_of(keys, block, shift, TILE):
    """One row for each key, with a 1 in the column of its digit; none for what is beyond the array."""
    lanes = block * TILE + ct.arange(TILE, dtype=ct.int32)
    digit = (ct.load(keys, (block,), (TILE,), padding_mode=ZERO) >> shift) & 15
    # The sign bit stands for what is less.
    digit = ct.where(shift == 28, digit ^ 8, digit)
    digit = ct.where(lanes < keys.shape[0], digit, -1)
    return (digit[:, None] == ct.arange(16, dtype=ct.int32)[None, :]).astype(ct.int32)


@ct.kernel
def digit_counts(keys, counts, shift, TILE: ConstInt):
    """How often each digit occurs in each tile: keys i32[N], counts i32[16, cdiv(N, TILE)].

    Requires 0 <= shift <= 28: the lowest bit of the digit.  Grid cdiv(N, TILE).
    """
    i = ct.bid(0)
    ct.store(counts, (0, i), ct.sum(digits_of(keys, i, shift, TILE), axis=0).reshape((16, 1)))


@ct.kernel
def digit_places(keys, starts, places, shift, TILE: ConstInt):
    """Where each key goes: to the start of its digit and tile, behind those of the same digit before it in the tile.

    keys and places i32[N], starts i32[16, cdiv(N, TILE)].  Requires 0 <= shift <= 28.  Grid cdiv(N, TILE).
    """
    i = ct.bid(0)
    digits = digits_of(keys, i, shift, TILE)
    start = ct.load(starts, (0, i), (16, 1), padding_mode=ZERO).reshape((1, 16))
    before = start + ct.cumsum(digits, axis=0) - digits
    ct.store(places, (i,), ct.sum(digits * before, axis=1))


@ct.kernel
def move(x, places, out, TILE: ConstInt):
    """``out[places[i]] = x[i]`` for x [N], places i32[N] and out [N].  Needs a permutation.  Grid cdiv(N, TILE)."""
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    place = ct.gather(places, (lanes,), padding_value=-1)
    ct.scatter(out, (place,), ct.gather(x, (lanes,)), mask=lanes < x.shape[0])


@ct.kernel
def sort_tiles(keys, values, out_keys, out_values, TILE: ConstInt):
    """Sorts each tile by keys, and values with them: all i32[N].  Grid cdiv(N, TILE); TILE is 128 at most."""
    i = ct.bid(0)
    own = ct.arange(TILE, dtype=ct.int32)
    key = ct.gather(keys, (i * TILE + own,), padding_value=LARGEST)
    value = ct.gather(values, (i * TILE + own,))
    less = key[None, :] < key[:, None]
    earlier = (key[None, :] == key[:, None]) & (own[None, :] < own[:, None])
    rank = ct.sum((less | earlier).astype(ct.int32), axis=1)
    here = rank[:, None] == own[None, :]
    ct.store(out_keys, (i,), ct.sum(ct.where(here, key[:, None], 0), axis=0))
    ct.store(out_values, (i,), ct.sum(ct.where(here, value[:, None], 0), axis=0))


@ct.kernel
def merge_runs(keys, values, out_keys, out_values, BITS: ConstInt, TILE: ConstInt):
    """Merges neighbouring sorted runs of 2**BITS elements into runs of twice that: all arrays i32[N].

    Each element finds by bisection how many of those before it come from the first run.
    BITS is 0 to 29.  Grid cdiv(N, TILE).
    """
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    first = at >> (BITS + 1) << (BITS + 1)
    second = ct.minimum(first + (1 << BITS), keys.shape[0])
    end = ct.minimum(second + (1 << BITS), keys.shape[0])
    rank = at - first
    low, high = ct.maximum(rank - (end - second), 0), ct.minimum(rank, second - first)
    for step in range(BITS + 1):
        more = low + (1 << (BITS - step))
        left = ct.gather(keys, (first + more - 1,))
        right = ct.gather(keys, (second + rank - more,))
        low = ct.where((more <= high) & (left <= right), more, low)
    left_at, right_at = first + low, second + rank - low
    left, right = ct.gather(keys, (left_at,)), ct.gather(keys, (right_at,))
    from_left = (left_at < second) & ((right_at >= end) | (left <= right))
    ct.store(out_keys, (ct.bid(0),), ct.where(from_left, left, right))
    ct.store(out_values, (ct.bid(0),), ct.gather(values, (ct.where(from_left, left_at, right_at),)))
