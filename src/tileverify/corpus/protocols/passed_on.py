"""What one block releases and another acquires, a third block has handed on."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def read_behind_third(x, first, second, data, out, TILE: ConstInt):
    """Block 1 never touches the data; those behind it wait for block 1 alone."""
    i = ct.bid(0)
    if i == 0:
        ct.store(data, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))
        ct.atomic_xchg(first, (0,), 1, memory_order=RELEASE)
    elif i == 1:
        while ct.atomic_or(first, (0,), 0, memory_order=ACQUIRE).item() == 0:
            pass
        ct.atomic_xchg(second, (0,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_or(second, (0,), 0, memory_order=ACQUIRE).item() == 0:
            pass
        ct.store(out, index=(i,), tile=ct.load(data, index=(0,), shape=(TILE,)))


@ct.kernel
def read_behind_third_relaxed(x, first, second, data, out, TILE: ConstInt):
    """Block 1 acquires nothing that it could hand on."""
    i = ct.bid(0)
    if i == 0:
        ct.store(data, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))
        ct.atomic_xchg(first, (0,), 1, memory_order=RELEASE)
    elif i == 1:
        while ct.atomic_or(first, (0,), 0, memory_order=RELAXED).item() == 0:
            pass
        ct.atomic_xchg(second, (0,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_or(second, (0,), 0, memory_order=ACQUIRE).item() == 0:
            pass
        ct.store(out, index=(i,), tile=ct.load(data, index=(0,), shape=(TILE,)))


@ct.kernel
def read_behind_leader(x, arrived, go, data, out, TILE: ConstInt):
    """Three blocks count themselves; the fourth waits for all of them and lets the others go."""
    i = ct.bid(0)
    if i < 3:
        ct.store(data, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
        ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    elif i == 3:
        while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < 3:
            pass
        ct.atomic_xchg(go, (0,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_or(go, (0,), 0, memory_order=ACQUIRE).item() == 0:
            pass
        ct.store(out, index=(i,), tile=ct.load(data, index=(i % 3,), shape=(TILE,)))


@ct.kernel
def read_behind_hasty_leader(x, arrived, go, data, out, TILE: ConstInt):
    """The fourth block waits for two of the three."""
    i = ct.bid(0)
    if i < 3:
        ct.store(data, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
        ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    elif i == 3:
        while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < 2:
            pass
        ct.atomic_xchg(go, (0,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_or(go, (0,), 0, memory_order=ACQUIRE).item() == 0:
            pass
        ct.store(out, index=(i,), tile=ct.load(data, index=(i % 3,), shape=(TILE,)))
