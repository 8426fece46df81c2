"""Blocks draw tiles from a counter: by one atomic addition, or by reading and then adding."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
DEVICE = ct.MemoryScope.DEVICE
RELAXED = ct.MemoryOrder.RELAXED


@ct.kernel
def fill_by_ticket(queue, out, TILE: ConstInt):
    t = ct.atomic_add(queue, (0,), 1, memory_order=RELAXED).item()
    ct.store(out, index=(t,), tile=ct.full((TILE,), t, dtype=out.dtype))


@ct.kernel
def fill_by_queue(queue, out, TILE: ConstInt):
    tiles = ct.num_tiles(out, axis=0, shape=(TILE,))
    t = ct.atomic_add(queue, (0,), 1, memory_order=RELAXED).item()
    while t < tiles:
        ct.store(out, index=(t,), tile=ct.full((TILE,), t, dtype=out.dtype))
        t = ct.atomic_add(queue, (0,), 1, memory_order=RELAXED).item()


@ct.kernel
def fill_by_half_ticket(queue, out, TILE: ConstInt):
    t = ct.atomic_add(queue, (0,), 1, memory_order=RELAXED).item()
    ct.store(out, index=(t // 2,), tile=ct.full((TILE,), t, dtype=out.dtype))


@ct.kernel
def fill_by_read_ticket(queue, out, TILE: ConstInt):
    read = ct.load(queue, index=(0,), shape=(), memory_order=RELAXED, memory_scope=DEVICE).item()
    ct.atomic_add(queue, (0,), 1, memory_order=RELAXED)
    ct.store(out, index=(read,), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))


@ct.kernel
def fill_by_two_counters(queue, out, TILE: ConstInt):
    side = ct.bid(0) % 2
    t = ct.atomic_add(queue, (side,), 1, memory_order=RELAXED).item()
    ct.store(out, index=(2 * t + side,), tile=ct.full((TILE,), t, dtype=out.dtype))


@ct.kernel
def fill_by_unrelated_counters(queue, out, TILE: ConstInt):
    t = ct.atomic_add(queue, (ct.bid(0) % 2,), 1, memory_order=RELAXED).item()
    ct.store(out, index=(t,), tile=ct.full((TILE,), t, dtype=out.dtype))
