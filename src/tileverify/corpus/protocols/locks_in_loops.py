"""Locks that are taken in loops: kept by the last round, taken hand over hand, looked at before they are taken."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def add_and_keep_last(x, lock, total, rounds_done, TILE: ConstInt, ROUNDS: ConstInt):
    """The lock of the last round is kept for the count of rounds."""
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    for round in range(ROUNDS):
        while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
            pass
        ct.store(total, index=(0,), tile=ct.load(total, index=(0,), shape=()).item() + part)
        if round < ROUNDS - 1:
            ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)
    ct.store(rounds_done, index=(0,), tile=ct.load(rounds_done, index=(0,), shape=()).item() + ROUNDS)
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)


@ct.kernel
def add_and_keep_none(x, lock, total, rounds_done, TILE: ConstInt, ROUNDS: ConstInt):
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    for round in range(ROUNDS):
        while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
            pass
        ct.store(total, index=(0,), tile=ct.load(total, index=(0,), shape=()).item() + part)
        ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)
    ct.store(rounds_done, index=(0,), tile=ct.load(rounds_done, index=(0,), shape=()).item() + ROUNDS)


@ct.kernel
def add_hand_over_hand(x, locks, totals, TILE: ConstInt):
    """The lock of the next row is taken before that of this row is given back."""
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    rows = totals.shape[0]
    while ct.atomic_cas(locks, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
        pass
    for row in range(rows):
        ct.store(totals, index=(row,), tile=ct.load(totals, index=(row,), shape=()).item() + part)
        if row + 1 < rows:
            while ct.atomic_cas(locks, (row + 1,), 0, 1, memory_order=ACQUIRE).item() != 0:
                pass
        ct.atomic_xchg(locks, (row,), 0, memory_order=RELEASE)


@ct.kernel
def add_with_lock_of_next_row(x, locks, totals, TILE: ConstInt):
    """The total of a row is touched when its lock has been given back."""
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    rows = totals.shape[0]
    while ct.atomic_cas(locks, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
        pass
    for row in range(rows):
        if row + 1 < rows:
            while ct.atomic_cas(locks, (row + 1,), 0, 1, memory_order=ACQUIRE).item() != 0:
                pass
        ct.atomic_xchg(locks, (row,), 0, memory_order=RELEASE)
        ct.store(totals, index=(row,), tile=ct.load(totals, index=(row,), shape=()).item() + part)


@ct.kernel
def add_after_looking(x, lock, total, TILE: ConstInt):
    """Test and test-and-set: looks at the lock until it is free, and then tries to take it."""
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() != 0:
        while ct.atomic_or(lock, (0,), 0, memory_order=RELAXED).item() != 0:
            pass
    ct.store(total, index=(0,), tile=ct.load(total, index=(0,), shape=()).item() + part)
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)


@ct.kernel
def add_after_looking_alone(x, lock, total, TILE: ConstInt):
    """A block that finds the lock taken waits until it is free, and does not take it."""
    part = ct.sum(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    old = ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item()
    while old != 0:
        old = ct.atomic_or(lock, (0,), 0, memory_order=ACQUIRE).item()
    ct.store(total, index=(0,), tile=ct.load(total, index=(0,), shape=()).item() + part)
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)
