"""What a lock holds while it is taken, and how it is given back: owners, semaphores, stores and compare-and-swap."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE

DEVICE, BLOCK = ct.MemoryScope.DEVICE, ct.MemoryScope.BLOCK


@ct.kernel
def add_by_owner(x, lock, total, TILE: ConstInt):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.atomic_cas(lock, (0,), 0, i + 1, memory_order=ACQUIRE).item() != 0:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_cas(lock, (0,), i + 1, 0, memory_order=RELEASE)


@ct.kernel
def add_by_owner_from_zero(x, lock, total, TILE: ConstInt):
    """While block 0 holds the lock, it looks free."""
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.atomic_cas(lock, (0,), 0, i, memory_order=ACQUIRE).item() != 0:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_cas(lock, (0,), i, 0, memory_order=RELEASE)


@ct.kernel
def add_given_by_acquiring_swap(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_cas(lock, (0,), 1, 0, memory_order=ACQUIRE)


@ct.kernel
def add_given_by_store(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_xchg(lock, (0,), 1, memory_order=ACQUIRE).item() == 1:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.store(lock, index=(0,), tile=0, memory_order=RELEASE, memory_scope=DEVICE)


@ct.kernel
def add_given_by_plain_store(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_xchg(lock, (0,), 1, memory_order=ACQUIRE).item() == 1:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.store(lock, index=(0,), tile=0)


@ct.kernel
def add_given_in_block_scope(x, lock, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() > 0:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE, memory_scope=BLOCK)


@ct.kernel
def add_by_permit(x, permits, total, TILE: ConstInt):
    """A semaphore: who finds no permit puts back what it took."""
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_add(permits, (0,), -1, memory_order=ACQUIRE).item() <= 0:
        ct.atomic_add(permits, (0,), 1, memory_order=RELAXED)
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_add(permits, (0,), 1, memory_order=RELEASE)
