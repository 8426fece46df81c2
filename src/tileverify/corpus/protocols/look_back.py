"""A running sum over tiles: every block adds to the sum of the block before it, as soon as that is ready."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
DEVICE = ct.MemoryScope.DEVICE
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def look_back(x, sums, ready, TILE: ConstInt):
    i = ct.bid(0)
    own = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    if i > 0:
        while ct.load(ready, index=(i - 1,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() == 0:
            pass
        own = own + ct.load(sums, index=(i - 1,), shape=()).item()
    ct.store(sums, index=(i,), tile=own)
    ct.store(ready, index=(i,), tile=1, memory_order=RELEASE, memory_scope=DEVICE)


@ct.kernel
def look_back_relaxed_wait(x, sums, ready, TILE: ConstInt):
    i = ct.bid(0)
    own = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    if i > 0:
        while ct.load(ready, index=(i - 1,), shape=(), memory_order=RELAXED, memory_scope=DEVICE).item() == 0:
            pass
        own = own + ct.load(sums, index=(i - 1,), shape=()).item()
    ct.store(sums, index=(i,), tile=own)
    ct.store(ready, index=(i,), tile=1, memory_order=RELEASE, memory_scope=DEVICE)


@ct.kernel
def look_back_relaxed_flag(x, sums, ready, TILE: ConstInt):
    i = ct.bid(0)
    own = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    if i > 0:
        while ct.load(ready, index=(i - 1,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() == 0:
            pass
        own = own + ct.load(sums, index=(i - 1,), shape=()).item()
    ct.store(sums, index=(i,), tile=own)
    ct.store(ready, index=(i,), tile=1, memory_order=RELAXED, memory_scope=DEVICE)


@ct.kernel
def look_back_by_status(x, aggregates, prefixes, status, TILE: ConstInt):
    i = ct.bid(0)
    own = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    ct.store(aggregates, index=(i,), tile=own)
    ct.store(status, index=(i,), tile=1, memory_order=RELEASE, memory_scope=DEVICE)
    before = own - own
    j = i - 1
    while j >= 0:
        s = ct.load(status, index=(j,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item()
        if s == 2:
            before = before + ct.load(prefixes, index=(j,), shape=())
            j = -1
        elif s == 1:
            before = before + ct.load(aggregates, index=(j,), shape=())
            j = j - 1
    ct.store(prefixes, index=(i,), tile=before + own)
    ct.store(status, index=(i,), tile=2, memory_order=RELEASE, memory_scope=DEVICE)


@ct.kernel
def look_back_by_status_relaxed(x, aggregates, prefixes, status, TILE: ConstInt):
    i = ct.bid(0)
    own = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    ct.store(aggregates, index=(i,), tile=own)
    ct.store(status, index=(i,), tile=1, memory_order=RELAXED, memory_scope=DEVICE)
    before = own - own
    j = i - 1
    while j >= 0:
        s = ct.load(status, index=(j,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item()
        if s == 2:
            before = before + ct.load(prefixes, index=(j,), shape=())
            j = -1
        elif s == 1:
            before = before + ct.load(aggregates, index=(j,), shape=())
            j = j - 1
    ct.store(prefixes, index=(i,), tile=before + own)
    ct.store(status, index=(i,), tile=2, memory_order=RELEASE, memory_scope=DEVICE)
