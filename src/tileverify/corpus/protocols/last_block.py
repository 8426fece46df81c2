"""Every block stores a partial sum and counts itself; the block that counts last adds the parts up."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def sum_by_last(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1).item()
    if before == ct.num_blocks(0) - 1:
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(all_parts))


@ct.kernel
def sum_by_last_relaxed(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1, memory_order=ct.MemoryOrder.RELAXED).item()
    if before == ct.num_blocks(0) - 1:
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(all_parts))


@ct.kernel
def sum_by_last_acquire_only(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1, memory_order=ct.MemoryOrder.ACQUIRE).item()
    if before == ct.num_blocks(0) - 1:
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(all_parts))


@ct.kernel
def sum_by_last_but_one(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1).item()
    if before == ct.num_blocks(0) - 2:
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(all_parts))


@ct.kernel
def sum_by_second(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1).item()
    if before == 1:
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(all_parts))


@ct.kernel
def sum_by_last_release_only(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    before = ct.atomic_add(counter, (0,), 1, memory_order=ct.MemoryOrder.RELEASE).item()
    if before == ct.num_blocks(0) - 1:
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(all_parts))


@ct.kernel
def sum_by_last_counted_twice(x, parts, counter, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    ct.atomic_add(counter, (0,), 1)
    before = ct.atomic_add(counter, (0,), 1).item()
    if before >= ct.num_blocks(0) - 1:
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(0,), tile=ct.sum(all_parts))


@ct.kernel
def sum_rows_by_last(x, parts, counters, out, TILE: ConstInt, PARTS: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(parts, index=(i, j), tile=ct.sum(ct.load(x, index=(i, j), shape=(1, TILE)), axis=1, keepdims=True))
    before = ct.atomic_add(counters, (i,), 1).item()
    if before == ct.num_blocks(1) - 1:
        row = ct.load(parts, index=(i, 0), shape=(1, PARTS), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(i,), tile=ct.sum(row))


@ct.kernel
def sum_rows_by_wrong_count(x, parts, counters, out, TILE: ConstInt, PARTS: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(parts, index=(i, j), tile=ct.sum(ct.load(x, index=(i, j), shape=(1, TILE)), axis=1, keepdims=True))
    before = ct.atomic_add(counters, (i,), 1).item()
    if before == ct.num_blocks(0) - 1:
        row = ct.load(parts, index=(i, 0), shape=(1, PARTS), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(i,), tile=ct.sum(row))
