"""All blocks wait for each other more than once: by one counter that goes on, or by one that begins again."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def rotate_in_place(moved, arrived, TILE: ConstInt):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < n:
        pass
    next_tile = ct.load(moved, index=((i + 1) % n,), shape=(TILE,))
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < 2 * n:
        pass
    ct.store(moved, index=(i,), tile=next_tile)


@ct.kernel
def rotate_in_place_by_one_target(moved, arrived, TILE: ConstInt):
    """Nobody waits the second time."""
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < n:
        pass
    next_tile = ct.load(moved, index=((i + 1) % n,), shape=(TILE,))
    ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
    while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < n:
        pass
    ct.store(moved, index=(i,), tile=next_tile)


@ct.kernel
def rotate_rounds(moved, arrived, TILE: ConstInt, ROUNDS: ConstInt):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    for round in range(ROUNDS):
        next_tile = ct.load(moved, index=((i + 1) % n,), shape=(TILE,))
        ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
        while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < (2 * round + 1) * n:
            pass
        ct.store(moved, index=(i,), tile=next_tile)
        ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
        while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < (2 * round + 2) * n:
            pass


@ct.kernel
def rotate_rounds_waiting_once(moved, arrived, TILE: ConstInt, ROUNDS: ConstInt):
    """A block may read for the next round what its neighbour has not stored yet."""
    i = ct.bid(0)
    n = ct.num_blocks(0)
    for round in range(ROUNDS):
        next_tile = ct.load(moved, index=((i + 1) % n,), shape=(TILE,))
        ct.atomic_add(arrived, (0,), 1, memory_order=RELEASE)
        while ct.atomic_add(arrived, (0,), 0, memory_order=ACQUIRE).item() < (round + 1) * n:
            pass
        ct.store(moved, index=(i,), tile=next_tile)


@ct.kernel
def rotate_by_generation(x, moved, arrived, generation, TILE: ConstInt):
    """The last block to come clears the count, and lets the others go."""
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    if ct.atomic_add(arrived, (0,), 1).item() == n - 1:
        ct.atomic_xchg(arrived, (0,), 0, memory_order=RELAXED)
        ct.atomic_add(generation, (0,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_add(generation, (0,), 0, memory_order=ACQUIRE).item() < 1:
            pass
    next_tile = ct.load(moved, index=((i + 1) % n,), shape=(TILE,))
    if ct.atomic_add(arrived, (0,), 1).item() == n - 1:
        ct.atomic_xchg(arrived, (0,), 0, memory_order=RELAXED)
        ct.atomic_add(generation, (0,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_add(generation, (0,), 0, memory_order=ACQUIRE).item() < 2:
            pass
    ct.store(moved, index=(i,), tile=next_tile)


@ct.kernel
def rotate_by_one_generation(x, moved, arrived, generation, TILE: ConstInt):
    """The first generation lets the others go the second time, too."""
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    if ct.atomic_add(arrived, (0,), 1).item() == n - 1:
        ct.atomic_xchg(arrived, (0,), 0, memory_order=RELAXED)
        ct.atomic_add(generation, (0,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_add(generation, (0,), 0, memory_order=ACQUIRE).item() == 0:
            pass
    next_tile = ct.load(moved, index=((i + 1) % n,), shape=(TILE,))
    if ct.atomic_add(arrived, (0,), 1).item() == n - 1:
        ct.atomic_xchg(arrived, (0,), 0, memory_order=RELAXED)
        ct.atomic_add(generation, (0,), 1, memory_order=RELEASE)
    else:
        while ct.atomic_add(generation, (0,), 0, memory_order=ACQUIRE).item() == 0:
            pass
    ct.store(moved, index=(i,), tile=next_tile)
