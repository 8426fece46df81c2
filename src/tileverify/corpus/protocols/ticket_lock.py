"""Parts of one sum are added in the order of tickets: a block draws a number and waits until it is served."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
DEVICE = ct.MemoryScope.DEVICE
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def add_served(x, tickets, served, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    mine = ct.atomic_add(tickets, (0,), 1, memory_order=RELAXED).item()
    while ct.load(served, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() != mine:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.store(served, index=(0,), tile=mine + 1, memory_order=RELEASE, memory_scope=DEVICE)


@ct.kernel
def add_served_relaxed(x, tickets, served, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    mine = ct.atomic_add(tickets, (0,), 1).item()
    while ct.load(served, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() != mine:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.store(served, index=(0,), tile=mine + 1, memory_order=RELAXED, memory_scope=DEVICE)
