"""Turns that are passed on by an atomic addition, to a block that waits for its number or for any that is not less."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def add_and_count(x, turn, total, TILE: ConstInt):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.atomic_add(turn, (0,), 0, memory_order=ACQUIRE).item() != i:
        pass
    ct.store(total, index=(0,), tile=ct.load(total, index=(0,), shape=()).item() + part)
    ct.atomic_add(turn, (0,), 1, memory_order=RELEASE)


@ct.kernel
def add_from_turn_on(x, turn, total, TILE: ConstInt):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.atomic_or(turn, (0,), 0, memory_order=ACQUIRE).item() < i:
        pass
    ct.store(total, index=(0,), tile=ct.load(total, index=(0,), shape=()).item() + part)
    ct.atomic_add(turn, (0,), 1, memory_order=RELEASE)


@ct.kernel
def add_and_count_twice(x, turn, total, TILE: ConstInt):
    """Block 0 lets blocks 1 and 2 in."""
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.atomic_or(turn, (0,), 0, memory_order=ACQUIRE).item() < i:
        pass
    ct.store(total, index=(0,), tile=ct.load(total, index=(0,), shape=()).item() + part)
    ct.atomic_add(turn, (0,), 2, memory_order=RELEASE)


@ct.kernel
def add_and_count_relaxed(x, turn, total, TILE: ConstInt):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.atomic_add(turn, (0,), 0, memory_order=ACQUIRE).item() != i:
        pass
    ct.store(total, index=(0,), tile=ct.load(total, index=(0,), shape=()).item() + part)
    ct.atomic_add(turn, (0,), 1, memory_order=RELAXED)


@ct.kernel
def count_and_add(x, turn, total, TILE: ConstInt):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.atomic_add(turn, (0,), 0, memory_order=ACQUIRE).item() != i:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.atomic_add(turn, (0,), 1, memory_order=RELEASE)
    ct.store(total, index=(0,), tile=before + part)
