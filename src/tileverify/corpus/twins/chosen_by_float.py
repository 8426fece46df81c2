"""A float says which block writes the mark: one for the whole launch, or what every block reads off for itself."""

import cuda.tile as ct


@ct.kernel
def mark_chosen(out, n):
    halves = ct.astype(ct.arange(16, dtype=ct.int32), ct.float32) * 0.5
    chosen = ct.astype(ct.extract(halves, index=(n,), shape=(1,)), ct.int32).item()
    if chosen == ct.bid(0):
        ct.store(out, index=(0,), tile=ct.full((1,), n, dtype=ct.int32))


@ct.kernel
def mark_by_own_entry(out):
    i = ct.bid(0)
    numbers = ct.astype(ct.arange(16, dtype=ct.int32), ct.float32)
    chosen = ct.astype(ct.extract(numbers, index=(i,), shape=(1,)), ct.int32).item()
    if chosen == i:
        ct.store(out, index=(0,), tile=ct.full((1,), i, dtype=ct.int32))


@ct.kernel
def mark_by_turned_table(out):
    i = ct.bid(0)
    square = ct.astype(ct.arange(16, dtype=ct.int32), ct.float32).reshape((4, 4))
    table = ct.where(i == 0, square, ct.permute(square, (1, 0)))
    entry = ct.astype(ct.extract(table, index=(0, 1), shape=(1, 1)), ct.int32).item()
    if (entry == 1) == (i == 0):
        ct.store(out, index=(0,), tile=ct.full((1,), i, dtype=ct.int32))
