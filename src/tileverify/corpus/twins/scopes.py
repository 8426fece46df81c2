"""All blocks meet on one element; every second one uses another memory scope than the others."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def total_device_and_system(x, out, TILE: ConstInt):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO))
    if i % 2 == 0:
        ct.atomic_add(out, (0,), part, memory_order=ct.MemoryOrder.RELAXED, memory_scope=ct.MemoryScope.DEVICE)
    else:
        ct.atomic_add(out, (0,), part, memory_order=ct.MemoryOrder.RELAXED, memory_scope=ct.MemoryScope.SYS)


@ct.kernel
def last_of_device_and_block(out):
    i = ct.bid(0)
    if i % 2 == 0:
        ct.atomic_xchg(out, (0,), i, memory_order=ct.MemoryOrder.RELAXED, memory_scope=ct.MemoryScope.DEVICE)
    else:
        ct.atomic_xchg(out, (0,), i, memory_order=ct.MemoryOrder.RELAXED, memory_scope=ct.MemoryScope.BLOCK)


@ct.kernel
def own_totals_in_block_scope(x, out, TILE: ConstInt):
    i = ct.bid(0)
    lanes = i * TILE + ct.arange(TILE, dtype=ct.int32)
    places = ct.full((TILE,), i, dtype=ct.int32)
    ct.atomic_add(out, (places,), ct.gather(x, (lanes,)), memory_scope=ct.MemoryScope.BLOCK)
