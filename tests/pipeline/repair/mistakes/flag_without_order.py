"""Block 0 prepares a tile and sets a flag; the other blocks wait for it."""

import cuda.tile as ct


@ct.kernel
def share(x, shared, flag, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    if i == 0:
        ct.store(shared, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))
        ct.atomic_xchg(flag, (0,), 1, memory_order=ct.MemoryOrder.RELAXED)
    else:
        while ct.atomic_or(flag, (0,), 0, memory_order=ct.MemoryOrder.RELAXED) == 0:
            pass
        ct.store(out, index=(i,), tile=ct.load(shared, index=(0,), shape=(TILE,)))
