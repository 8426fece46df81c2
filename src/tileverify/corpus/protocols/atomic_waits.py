"""Blocks wait for each other by atomics that change nothing (add 0, or 0), which a GPU makes once for a whole block."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def add_in_turn(x, turn, total, TILE: ConstInt):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.atomic_add(turn, (0,), 0, memory_order=ACQUIRE).item() != i:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_xchg(turn, (0,), i + 1, memory_order=RELEASE)


@ct.kernel
def add_in_turn_relaxed_wait(x, turn, total, TILE: ConstInt):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.atomic_add(turn, (0,), 0, memory_order=RELAXED).item() != i:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_xchg(turn, (0,), i + 1, memory_order=RELEASE)


@ct.kernel
def add_served(x, tickets, served, total, TILE: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    mine = ct.atomic_add(tickets, (0,), 1, memory_order=RELAXED).item()
    while ct.atomic_or(served, (0,), 0, memory_order=ACQUIRE).item() != mine:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_xchg(served, (0,), mine + 1, memory_order=RELEASE)


@ct.kernel
def rotate_behind_barrier(x, moved, arrived, out, TILE: ConstInt):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < n:
        pass
    ct.store(out, index=(i,), tile=ct.load(moved, index=((i + 1) % n,), shape=(TILE,)))


@ct.kernel
def rotate_behind_short_barrier(x, moved, arrived, out, TILE: ConstInt):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < n - 1:
        pass
    ct.store(out, index=(i,), tile=ct.load(moved, index=((i + 1) % n,), shape=(TILE,)))


@ct.kernel
def rotate_behind_counting_barrier(x, moved, arrived, out, TILE: ConstInt):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.atomic_add(arrived, (0,), 1, memory_order=ACQUIRE).item() < n:
        pass
    ct.store(out, index=(i,), tile=ct.load(moved, index=((i + 1) % n,), shape=(TILE,)))


@ct.kernel
def look_back(x, sums, ready, TILE: ConstInt):
    i = ct.bid(0)
    own = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    if i > 0:
        while ct.atomic_or(ready, (i - 1,), 0, memory_order=ACQUIRE).item() == 0:
            pass
        own = own + ct.load(sums, index=(i - 1,), shape=()).item()
    ct.store(sums, index=(i,), tile=own)
    ct.atomic_xchg(ready, (i,), 1, memory_order=RELEASE)


@ct.kernel
def look_back_relaxed_flag(x, sums, ready, TILE: ConstInt):
    i = ct.bid(0)
    own = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    if i > 0:
        while ct.atomic_or(ready, (i - 1,), 0, memory_order=ACQUIRE).item() == 0:
            pass
        own = own + ct.load(sums, index=(i - 1,), shape=()).item()
    ct.store(sums, index=(i,), tile=own)
    ct.atomic_xchg(ready, (i,), 1, memory_order=RELAXED)
