"""Blocks add to one total with plain accesses, under a lock that is taken by compare-and-swap."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def add_locked(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)


@ct.kernel
def add_locked_relaxed_take(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_cas(lock, (0,), 0, 1, memory_order=RELAXED).item() != 0:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)


@ct.kernel
def add_locked_relaxed_give(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELAXED)


@ct.kernel
def add_with_two_locks(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_cas(lock, (ct.bid(0) % 2,), 0, 1, memory_order=ACQUIRE).item() != 0:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_xchg(lock, (ct.bid(0) % 2,), 0, memory_order=RELEASE)


@ct.kernel
def add_locked_given_early(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)
    ct.store(total, index=(0,), tile=before + part)


@ct.kernel
def add_rows_locked(x, locks, totals, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    for row in range(totals.shape[0]):
        while ct.atomic_cas(locks, (row,), 0, 1, memory_order=ACQUIRE).item() != 0:
            pass
        before = ct.load(totals, index=(row,), shape=()).item()
        ct.store(totals, index=(row,), tile=before + part)
        ct.atomic_xchg(locks, (row,), 0, memory_order=RELEASE)


@ct.kernel
def add_locked_while_held(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() == 1:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)


@ct.kernel
def add_locked_by_exchange(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_xchg(lock, (0,), 1, memory_order=ACQUIRE).item() > 0:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)


@ct.kernel
def add_behind_look(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    if ct.bid(0) == 0:
        while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
            pass
        ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)
    else:
        while ct.load(lock, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=ct.MemoryScope.DEVICE).item() != 0:
            pass
        before = ct.load(total, index=(0,), shape=()).item()
        ct.store(total, index=(0,), tile=before + part)
