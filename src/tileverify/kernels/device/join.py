"""Joins of two columns of keys: all pairs of rows with one key, by a hash table of chains or by sorted keys.

Rows on the left are counted first; the exclusive prefix sums of the counts say where the pairs of each begin, and every
element of the result finds its row on the left by bisection.  So rows with many pairs are spread over many blocks, and
no fact about an index array is needed.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]
NO_ROW = -1


def bucket_of(key, buckets):
    """By a product with the golden ratio, whose upper bits are the best mixed; all are used if there are 2**n."""
    mixed = key * -1640531527
    return ((mixed >> 15) ^ mixed) & (buckets - 1)


@ct.kernel
def build_chains(keys, heads, following, TILE: ConstInt):
    """Puts each row at the head of its bucket's chain: ``following[i]`` is the row behind row i, or -1.

    keys and following i32[N], heads i32[H], which is -1 before.  The order in a chain is that in which blocks come.
    Grid cdiv(N, TILE).
    """
    rows = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    key = ct.gather(keys, (rows,))
    bucket = ct.where(rows < keys.shape[0], bucket_of(key, heads.shape[0]), NO_ROW)
    before = ct.atomic_xchg(heads, (bucket,), rows, memory_order=ct.MemoryOrder.RELAXED)
    ct.scatter(following, (rows,), ct.where(bucket < heads.shape[0], before, NO_ROW))


@ct.kernel
def count_in_chains(left, keys, heads, following, counts, TILE: ConstInt):
    """How many rows on the right have the key of each row on the left: left and counts i32[M], others as built.

    Grid cdiv(M, TILE).
    """
    rows = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    key = ct.gather(left, (rows,))
    bucket = ct.where(rows < left.shape[0], bucket_of(key, heads.shape[0]), NO_ROW)
    at = ct.gather(heads, (bucket,), padding_value=NO_ROW)
    count = ct.zeros((TILE,), dtype=ct.int32)
    while ct.max(at) >= 0:
        count = count + ((at >= 0) & (ct.gather(keys, (at,)) == key)).astype(ct.int32)
        at = ct.gather(following, (at,), padding_value=NO_ROW)
    ct.store(counts, (ct.bid(0),), count)


def row_of(offsets, at, steps):
    """The last row whose pairs begin at ``at`` or before."""
    low, high = at * 0, at * 0 + offsets.shape[0]
    for _ in range(steps):
        middle = (low + high) // 2
        begun = (low < high) & (ct.gather(offsets, (middle,)) <= at)
        high = ct.where((low < high) & ~begun, middle, high)
        low = ct.where(begun, middle + 1, low)
    return low - 1


@ct.kernel
def write_from_chains(left, keys, heads, following, offsets, out_left, out_right, steps, TILE: ConstInt):
    """The pairs of rows: offsets i32[M] are the exclusive prefix sums of the counts, out_left and out_right i32[P].

    steps is at least the number of bits of M.  Grid cdiv(P, TILE).
    """
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    row = row_of(offsets, at, steps)
    rank = at - ct.gather(offsets, (row,))
    key = ct.gather(left, (row,))
    bucket = ct.where(at < out_left.shape[0], bucket_of(key, heads.shape[0]), NO_ROW)
    right = ct.gather(heads, (bucket,), padding_value=NO_ROW)
    found = ct.full((TILE,), NO_ROW, dtype=ct.int32)
    while ct.max(right) >= 0:
        same = (right >= 0) & (ct.gather(keys, (right,)) == key)
        found = ct.where(same & (rank == 0), right, found)
        rank = rank - same.astype(ct.int32)
        right = ct.where(rank < 0, NO_ROW, ct.gather(following, (right,), padding_value=NO_ROW))
    ct.store(out_left, (ct.bid(0),), row)
    ct.store(out_right, (ct.bid(0),), found)


@ct.kernel
def count_in_sorted(left, keys, firsts, counts, steps, TILE: ConstInt):
    """Where the rows with each key on the left begin among sorted keys, and how many there are.

    left, firsts and counts i32[M], keys i32[N]; steps is at least the number of bits of N.  Grid cdiv(M, TILE).
    """
    rows = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    key = ct.gather(left, (rows,))
    low, high = rows * 0, rows * 0 + keys.shape[0]
    upper_low, upper_high = low, high
    for _ in range(steps):
        middle = (low + high) // 2
        less = (low < high) & (ct.gather(keys, (middle,)) < key)
        high = ct.where((low < high) & ~less, middle, high)
        low = ct.where(less, middle + 1, low)
        middle = (upper_low + upper_high) // 2
        not_more = (upper_low < upper_high) & (ct.gather(keys, (middle,)) <= key)
        upper_high = ct.where((upper_low < upper_high) & ~not_more, middle, upper_high)
        upper_low = ct.where(not_more, middle + 1, upper_low)
    ct.store(firsts, (ct.bid(0),), low)
    ct.store(counts, (ct.bid(0),), upper_low - low)


@ct.kernel
def write_from_sorted(firsts, offsets, rows, out_left, out_right, steps, TILE: ConstInt):
    """The pairs of rows: firsts and offsets i32[M], rows i32[N] of the sorted keys, out_left and out_right i32[P].

    steps is at least the number of bits of M.  Grid cdiv(P, TILE).
    """
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    row = row_of(offsets, at, steps)
    place = ct.gather(firsts, (row,)) + at - ct.gather(offsets, (row,))
    ct.store(out_left, (ct.bid(0),), row)
    ct.store(out_right, (ct.bid(0),), ct.gather(rows, (place,)))
