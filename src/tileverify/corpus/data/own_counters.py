"""Counters in memory that one block alone loads and stores: what it loads is what was there at first, or its own."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def write_in_ring(heads, out, W: ConstInt, T: ConstInt):
    b = ct.bid(0)
    for k in range(T):
        head = ct.load(heads, index=(b,), shape=(1,))
        ct.scatter(out, b * W + head, k, check_bounds=False)
        ct.store(heads, index=(b,), tile=ct.where(head + 1 < W, head + 1, 0))


@ct.kernel
def write_in_ring_too_far(heads, out, W: ConstInt, T: ConstInt):
    # The head comes to W before it goes back to 0.
    b = ct.bid(0)
    for k in range(T):
        head = ct.load(heads, index=(b,), shape=(1,))
        ct.scatter(out, b * W + head, k, check_bounds=False)
        ct.store(heads, index=(b,), tile=ct.where(head + 1 <= W, head + 1, 0))


@ct.kernel
def write_in_shared_ring(heads, out, W: ConstInt, T: ConstInt):
    # One head for all blocks.
    b = ct.bid(0)
    for k in range(T):
        head = ct.load(heads, index=(0,), shape=(1,))
        ct.scatter(out, b * W + head, k, check_bounds=False)
        ct.store(heads, index=(0,), tile=ct.where(head + 1 < W, head + 1, 0))


@ct.kernel
def number_by_kind(kinds, counts, out, E: ConstInt, T: ConstInt):
    b = ct.bid(0)
    for k in range(T):
        kind = ct.gather(kinds, b * T + k)
        number = ct.gather(counts, b * E + kind)
        ct.scatter(out, b * T + number, k, check_bounds=False)
        ct.scatter(counts, b * E + kind, number + 1, check_bounds=False)


@ct.kernel
def number_by_kind_counted_first(kinds, counts, out, E: ConstInt, T: ConstInt):
    # Counted before it is used: the numbers are 1 to T, and that of the last may lie in the next block's part.
    b = ct.bid(0)
    for k in range(T):
        kind = ct.gather(kinds, b * T + k)
        ct.scatter(counts, b * E + kind, ct.gather(counts, b * E + kind) + 1, check_bounds=False)
        ct.scatter(out, b * T + ct.gather(counts, b * E + kind), k, check_bounds=False)


@ct.kernel
def number_from_zero(kinds, counts, out, E: ConstInt, T: ConstInt):
    b = ct.bid(0)
    ct.store(counts, index=(b,), tile=ct.zeros((E,), dtype=ct.int32))
    for k in range(T):
        kind = ct.gather(kinds, b * T + k)
        number = ct.gather(counts, b * E + kind)
        ct.scatter(out, b * T + number, k, check_bounds=False)
        ct.scatter(counts, b * E + kind, number + 1, check_bounds=False)


@ct.kernel
def number_from_zero_of_half(kinds, counts, out, E: ConstInt, T: ConstInt):
    # Half of the block's counters hold what they held before.
    b = ct.bid(0)
    ct.store(counts, index=(2 * b,), tile=ct.zeros((E // 2,), dtype=ct.int32))
    for k in range(T):
        kind = ct.gather(kinds, b * T + k)
        number = ct.gather(counts, b * E + kind)
        ct.scatter(out, b * T + number, k, check_bounds=False)
        ct.scatter(counts, b * E + kind, number + 1, check_bounds=False)


@ct.kernel
def write_by_eighths(counts, out, T: ConstInt):
    # Counted up by an eighth of what fits: the ninth number is negative.
    b = ct.bid(0)
    for k in range(T):
        count = ct.load(counts, index=(b,), shape=(1,))
        ct.scatter(out, b * 8 + count // 2**28, k, check_bounds=False)
        ct.store(counts, index=(b,), tile=count + 2**28)
