"""Blocks that synchronise by atomics, as cuTile Python compiles them; `relaxed` takes its lock without an acquire."""

import cuda.tile as ct


@ct.kernel
def locked(lock, data):
    taken = ct.atomic_cas(lock, (0,), 0, 1, memory_order=ct.MemoryOrder.ACQUIRE)
    while taken != 0:
        taken = ct.atomic_cas(lock, (0,), 0, 1, memory_order=ct.MemoryOrder.ACQUIRE)
    ct.store(data, index=(0,), tile=ct.load(data, index=(0,), shape=(16,)) + 1)
    ct.atomic_xchg(lock, (0,), 0, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def relaxed(lock, data):
    taken = ct.atomic_cas(lock, (0,), 0, 1, memory_order=ct.MemoryOrder.RELAXED)
    while taken != 0:
        taken = ct.atomic_cas(lock, (0,), 0, 1, memory_order=ct.MemoryOrder.RELAXED)
    ct.store(data, index=(0,), tile=ct.load(data, index=(0,), shape=(16,)) + 1)
    ct.atomic_xchg(lock, (0,), 0, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def last_block(x, partial, counter, out, blocks: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(partial, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(16,))).reshape((1,)))
    if ct.atomic_add(counter, (0,), 1) == blocks - 1:
        ct.store(out, index=(0,), tile=ct.sum(ct.load(partial, index=(0,), shape=(blocks,))).reshape((1,)))
