"""The last block sums up, and puts the counter back for the next launch; what goes wrong where it does so too early."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED = ct.MemoryOrder.RELAXED


@ct.kernel
def sum_and_put_back(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1).item()
    if before == ct.num_blocks(0) - 1:
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(all_parts))
        ct.store(counter, index=(0,), tile=ct.zeros((1,), dtype=ct.int32))


@ct.kernel
def sum_and_exchange(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1).item()
    if before == ct.num_blocks(0) - 1:
        ct.atomic_xchg(counter, (0,), 0, memory_order=RELAXED)
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(all_parts))


@ct.kernel
def sum_and_put_back_early(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1).item()
    if before == ct.num_blocks(0) - 2:
        ct.store(counter, index=(0,), tile=ct.zeros((1,), dtype=ct.int32))
    if before == ct.num_blocks(0) - 1:
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(all_parts))


@ct.kernel
def sum_and_exchange_early(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    """The exchange is no race, but the count begins again before it is over: nobody sums up, or somebody too early."""
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1).item()
    if before == 0:
        ct.atomic_xchg(counter, (0,), ct.num_blocks(0) - 1)
    if before == ct.num_blocks(0) - 1:
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(all_parts))


@ct.kernel
def sum_and_put_back_relaxed(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1, memory_order=RELAXED).item()
    if before == ct.num_blocks(0) - 1:
        ct.store(counter, index=(0,), tile=ct.zeros((1,), dtype=ct.int32))


@ct.kernel
def put_next_back(x, counters, out, TILE: ConstInt):
    """One counter for each row of two blocks; the last block of a row puts back that of the next row."""
    row = ct.bid(0) // 2
    before = ct.atomic_add(counters, (row,), 1).item()
    if before == 1:
        ct.store(out, index=(row,), tile=ct.sum(ct.load(x, index=(row,), shape=(TILE,))))
        if row + 1 < ct.num_blocks(0) // 2:
            ct.store(counters, index=(row + 1,), tile=ct.zeros((1,), dtype=ct.int32))


@ct.kernel
def put_own_back(x, counters, out, TILE: ConstInt):
    row = ct.bid(0) // 2
    before = ct.atomic_add(counters, (row,), 1).item()
    if before == 1:
        ct.store(out, index=(row,), tile=ct.sum(ct.load(x, index=(row,), shape=(TILE,))))
        ct.store(counters, index=(row,), tile=ct.zeros((1,), dtype=ct.int32))
