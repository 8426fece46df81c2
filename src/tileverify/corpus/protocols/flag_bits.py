"""Flags that are bits of one word: a block sets its own, and others wait for one of them or for all."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def sum_behind_all_bits(x, parts, bits, out, TILE: ConstInt):
    i = ct.bid(0)
    if i < 4:
        ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
        ct.atomic_or(bits, (0,), 1 << i, memory_order=RELEASE)
    else:
        while ct.atomic_or(bits, (0,), 0, memory_order=ACQUIRE).item() & 15 != 15:
            pass
        ct.store(out, index=(i - 4,), tile=ct.sum(ct.load(parts, index=(0,), shape=(4,))))


@ct.kernel
def sum_behind_any_bit(x, parts, bits, out, TILE: ConstInt):
    i = ct.bid(0)
    if i < 4:
        ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
        ct.atomic_or(bits, (0,), 1 << i, memory_order=RELEASE)
    else:
        while ct.atomic_or(bits, (0,), 0, memory_order=ACQUIRE).item() & 15 == 0:
            pass
        ct.store(out, index=(i - 4,), tile=ct.sum(ct.load(parts, index=(0,), shape=(4,))))


@ct.kernel
def sum_behind_shared_bits(x, parts, bits, out, TILE: ConstInt):
    """Two producers have one bit."""
    i = ct.bid(0)
    if i < 4:
        ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
        ct.atomic_or(bits, (0,), 1 << (i // 2), memory_order=RELEASE)
    else:
        while ct.atomic_or(bits, (0,), 0, memory_order=ACQUIRE).item() & 3 != 3:
            pass
        ct.store(out, index=(i - 4,), tile=ct.sum(ct.load(parts, index=(0,), shape=(4,))))


@ct.kernel
def rotate_by_bits(x, moved, bits, out, TILE: ConstInt):
    i = ct.bid(0)
    other = (i + 1) % ct.num_blocks(0)
    ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    ct.atomic_or(bits, (0,), 1 << i, memory_order=RELEASE)
    while (ct.atomic_or(bits, (0,), 0, memory_order=ACQUIRE).item() >> other) & 1 == 0:
        pass
    ct.store(out, index=(i,), tile=ct.load(moved, index=(other,), shape=(TILE,)))


@ct.kernel
def rotate_by_own_bit(x, moved, bits, out, TILE: ConstInt):
    i = ct.bid(0)
    other = (i + 1) % ct.num_blocks(0)
    ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    ct.atomic_or(bits, (0,), 1 << i, memory_order=RELEASE)
    while (ct.atomic_or(bits, (0,), 0, memory_order=ACQUIRE).item() >> i) & 1 == 0:
        pass
    ct.store(out, index=(i,), tile=ct.load(moved, index=(other,), shape=(TILE,)))
