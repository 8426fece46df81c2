"""A table is filled under a lock that is tried once, or a few times; who does not get it leaves the table alone."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def fill_if_free(table, lock, TILE: ConstInt):
    if ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() == 0:
        ct.store(table, index=(0,), tile=ct.full((TILE,), 7, dtype=table.dtype))
        ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)


@ct.kernel
def fill_if_free_and_give_always(table, lock, TILE: ConstInt):
    """A block that did not get the lock gives back that of another."""
    if ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() == 0:
        ct.store(table, index=(0,), tile=ct.full((TILE,), 7, dtype=table.dtype))
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)


@ct.kernel
def fill_within_four_tries(table, lock, TILE: ConstInt):
    taken = 0
    for attempt in range(4):
        if taken == 0:
            if ct.atomic_xchg(lock, (0,), 1, memory_order=ACQUIRE).item() == 0:
                taken = 1
    if taken == 1:
        ct.store(table, index=(0,), tile=ct.full((TILE,), 7, dtype=table.dtype))
        ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)


@ct.kernel
def fill_after_four_tries(table, lock, TILE: ConstInt):
    """Waits for the lock no longer than four tries, and goes on without it."""
    tries = 0
    while tries < 4:
        if ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() == 0:
            break
        tries = tries + 1
    ct.store(table, index=(0,), tile=ct.full((TILE,), 7, dtype=table.dtype))
    ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)


@ct.kernel
def fill_within_some_tries(table, lock, tries, TILE: ConstInt):
    taken = False
    for attempt in range(tries):
        if not taken:
            taken = ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() == 0
    if taken:
        ct.store(table, index=(0,), tile=ct.full((TILE,), 7, dtype=table.dtype))
        ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)


@ct.kernel
def fill_after_some_tries(table, lock, tries, TILE: ConstInt):
    """The last try counts as a lucky one."""
    taken = False
    for attempt in range(tries):
        if not taken:
            taken = ct.atomic_cas(lock, (0,), 0, 1, memory_order=ACQUIRE).item() == 0
            if attempt == tries - 1:
                taken = True
    if taken:
        ct.store(table, index=(0,), tile=ct.full((TILE,), 7, dtype=table.dtype))
        ct.atomic_xchg(lock, (0,), 0, memory_order=RELEASE)
