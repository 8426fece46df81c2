"""Some blocks produce and count, the others wait until all of them have counted."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def sum_behind_producers(x, parts, done, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    producers = parts.shape[0]
    if i < producers:
        ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
        ct.atomic_add(done, (0,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_add(done, (0,), 0, memory_order=ACQUIRE).item() < producers:
            pass
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(i - producers,), tile=ct.sum(all_parts))


@ct.kernel
def sum_behind_all_but_one(x, parts, done, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    producers = parts.shape[0]
    if i < producers:
        ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
        ct.atomic_add(done, (0,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_add(done, (0,), 0, memory_order=ACQUIRE).item() < producers - 1:
            pass
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(i - producers,), tile=ct.sum(all_parts))


@ct.kernel
def sum_behind_whoever_counts(x, parts, done, out, TILE: ConstInt, PARTS: ConstInt):
    """The blocks that wait have counted, too."""
    i = ct.bid(0)
    producers = parts.shape[0]
    if i < producers:
        ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    ct.atomic_add(done, (0,), 1, memory_order=RELEASE)
    if i >= producers:
        while ct.atomic_add(done, (0,), 0, memory_order=ACQUIRE).item() < producers:
            pass
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(i - producers,), tile=ct.sum(all_parts))


@ct.kernel
def sum_behind_acquiring_producers(x, parts, done, out, TILE: ConstInt, PARTS: ConstInt):
    i = ct.bid(0)
    producers = parts.shape[0]
    if i < producers:
        ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
        ct.atomic_add(done, (0,), 1, memory_order=ACQUIRE)
    else:
        while ct.atomic_add(done, (0,), 0, memory_order=ACQUIRE).item() < producers:
            pass
        all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, index=(i - producers,), tile=ct.sum(all_parts))
