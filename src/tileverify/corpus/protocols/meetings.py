"""One compare-and-swap, and no loop: the second block of a pair to come takes over, or the first one has a claim."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def sum_by_second_to_come(x, parts, met, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    if ct.atomic_cas(met, (i // 2,), 0, 1).item() == 1:
        ct.store(out, index=(i // 2,), tile=ct.sum(ct.load(parts, index=(i // 2,), shape=(2,))))


@ct.kernel
def sum_by_first_to_come(x, parts, met, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    if ct.atomic_cas(met, (i // 2,), 0, 1).item() == 0:
        ct.store(out, index=(i // 2,), tile=ct.sum(ct.load(parts, index=(i // 2,), shape=(2,))))


@ct.kernel
def sum_by_second_to_come_releasing(x, parts, met, out, TILE: ConstInt):
    """The swap that fails acquires nothing."""
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    if ct.atomic_cas(met, (i // 2,), 0, 1, memory_order=RELEASE).item() == 1:
        ct.store(out, index=(i // 2,), tile=ct.sum(ct.load(parts, index=(i // 2,), shape=(2,))))


@ct.kernel
def fill_by_claim(x, claims, out, TILE: ConstInt):
    i = ct.bid(0)
    if ct.atomic_cas(claims, (i // 2,), 0, 1, memory_order=RELAXED).item() == 0:
        ct.store(out, index=(i // 2,), tile=ct.sum(ct.load(x, index=(i // 2,), shape=(TILE,))))


@ct.kernel
def fill_by_other_claim(x, claims, out, TILE: ConstInt):
    """Blocks of one tile claim different words."""
    i = ct.bid(0)
    if ct.atomic_cas(claims, (i % 2,), 0, 1, memory_order=RELAXED).item() == 0:
        ct.store(out, index=(i // 2,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
