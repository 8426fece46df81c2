"""Numbers that are drawn several at a time: two, a fixed share, or as many as a block needs."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def fill_by_twos(queue, out, TILE: ConstInt):
    tiles = ct.num_tiles(out, axis=0, shape=(TILE,))
    t = ct.atomic_add(queue, (0,), 2, memory_order=RELAXED).item()
    while t < tiles:
        ct.store(out, index=(t,), tile=ct.full((TILE,), t, dtype=out.dtype))
        if t + 1 < tiles:
            ct.store(out, index=(t + 1,), tile=ct.full((TILE,), t + 1, dtype=out.dtype))
        t = ct.atomic_add(queue, (0,), 2, memory_order=RELAXED).item()


@ct.kernel
def fill_three_of_two(queue, out, TILE: ConstInt):
    tiles = ct.num_tiles(out, axis=0, shape=(TILE,))
    t = ct.atomic_add(queue, (0,), 2, memory_order=RELAXED).item()
    while t < tiles:
        for j in range(3):
            if t + j < tiles:
                ct.store(out, index=(t + j,), tile=ct.full((TILE,), t, dtype=out.dtype))
        t = ct.atomic_add(queue, (0,), 2, memory_order=RELAXED).item()


@ct.kernel
def fill_share(queue, out, TILE: ConstInt):
    tiles = ct.num_tiles(out, axis=0, shape=(TILE,))
    first = ct.atomic_add(queue, (0,), 4, memory_order=RELAXED).item()
    for j in range(4):
        if first + j < tiles:
            ct.store(out, index=(first + j,), tile=ct.full((TILE,), first + j, dtype=out.dtype))


@ct.kernel
def append_entries(lengths, end, out):
    """Each block reserves as many entries as it has, and fills them."""
    n = ct.load(lengths, index=(ct.bid(0),), shape=()).item()
    first = ct.atomic_add(end, (0,), n, memory_order=RELAXED).item()
    for j in range(n):
        if first + j < out.shape[0]:
            ct.store(out, index=(first + j,), tile=first + j)


@ct.kernel
def append_one_entry_more(lengths, end, out):
    n = ct.load(lengths, index=(ct.bid(0),), shape=()).item()
    first = ct.atomic_add(end, (0,), n - 1, memory_order=RELAXED).item()
    for j in range(n):
        if first + j < out.shape[0]:
            ct.store(out, index=(first + j,), tile=first)
