"""All blocks wait for each other between writing a tile and reading the neighbour's."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
DEVICE = ct.MemoryScope.DEVICE
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def rotate_behind_barrier(x, moved, arrived, out, TILE: ConstInt):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.load(arrived, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() < n:
        pass
    ct.store(out, index=(i,), tile=ct.load(moved, index=((i + 1) % n,), shape=(TILE,)))


@ct.kernel
def rotate_behind_short_barrier(x, moved, arrived, out, TILE: ConstInt):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.load(arrived, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() < n - 1:
        pass
    ct.store(out, index=(i,), tile=ct.load(moved, index=((i + 1) % n,), shape=(TILE,)))


@ct.kernel
def rotate_behind_relaxed_barrier(x, moved, arrived, out, TILE: ConstInt):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    ct.atomic_add(arrived, (0,), 1, memory_order=RELAXED)
    while ct.load(arrived, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() < n:
        pass
    ct.store(out, index=(i,), tile=ct.load(moved, index=((i + 1) % n,), shape=(TILE,)))


@ct.kernel
def rotate_twice(x, moved, arrived, left, TILE: ConstInt):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.load(arrived, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() < n:
        pass
    next_tile = ct.load(moved, index=((i + 1) % n,), shape=(TILE,))
    ct.atomic_add(left, (0,), 1, memory_order=RELEASE)
    while ct.load(left, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() < n:
        pass
    ct.store(moved, index=(i,), tile=next_tile)
