"""Block 0 produces data and sets a flag; all other blocks wait for the flag and read the data."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
DEVICE, SYSTEM = ct.MemoryScope.DEVICE, ct.MemoryScope.SYS
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def hand_over(x, data, flag, out, TILE: ConstInt):
    if ct.bid(0) == 0:
        ct.store(data, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))
        ct.store(flag, index=(0,), tile=1, memory_order=RELEASE, memory_scope=DEVICE)
    else:
        while ct.load(flag, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() == 0:
            pass
        ct.store(out, index=(ct.bid(0) - 1,), tile=ct.load(data, index=(0,), shape=(TILE,)))


@ct.kernel
def hand_over_across_system(x, data, flag, out, TILE: ConstInt):
    if ct.bid(0) == 0:
        ct.store(data, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))
        ct.store(flag, index=(0,), tile=1, memory_order=RELEASE, memory_scope=SYSTEM)
    else:
        while ct.load(flag, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() == 0:
            pass
        ct.store(out, index=(ct.bid(0) - 1,), tile=ct.load(data, index=(0,), shape=(TILE,)))


@ct.kernel
def hand_over_relaxed_store(x, data, flag, out, TILE: ConstInt):
    if ct.bid(0) == 0:
        ct.store(data, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))
        ct.store(flag, index=(0,), tile=1, memory_order=RELAXED, memory_scope=DEVICE)
    else:
        while ct.load(flag, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() == 0:
            pass
        ct.store(out, index=(ct.bid(0) - 1,), tile=ct.load(data, index=(0,), shape=(TILE,)))


@ct.kernel
def hand_over_relaxed_load(x, data, flag, out, TILE: ConstInt):
    if ct.bid(0) == 0:
        ct.store(data, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))
        ct.store(flag, index=(0,), tile=1, memory_order=RELEASE, memory_scope=DEVICE)
    else:
        while ct.load(flag, index=(0,), shape=(), memory_order=RELAXED, memory_scope=DEVICE).item() == 0:
            pass
        ct.store(out, index=(ct.bid(0) - 1,), tile=ct.load(data, index=(0,), shape=(TILE,)))


@ct.kernel
def hand_over_weak_flag(x, data, flag, out, TILE: ConstInt):
    if ct.bid(0) == 0:
        ct.store(data, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))
        ct.store(flag, index=(0,), tile=1)
    else:
        while ct.load(flag, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() == 0:
            pass
        ct.store(out, index=(ct.bid(0) - 1,), tile=ct.load(data, index=(0,), shape=(TILE,)))


@ct.kernel
def hand_over_too_early(x, data, flag, out, TILE: ConstInt):
    if ct.bid(0) == 0:
        ct.store(flag, index=(0,), tile=1, memory_order=RELEASE, memory_scope=DEVICE)
        ct.store(data, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))
    else:
        while ct.load(flag, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() == 0:
            pass
        ct.store(out, index=(ct.bid(0) - 1,), tile=ct.load(data, index=(0,), shape=(TILE,)))


@ct.kernel
def hand_over_in_two_steps(x, first, second, flag, out, TILE: ConstInt):
    if ct.bid(0) == 0:
        ct.store(first, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))
        ct.store(flag, index=(0,), tile=1, memory_order=RELEASE, memory_scope=DEVICE)
        ct.store(second, index=(0,), tile=ct.load(x, index=(1,), shape=(TILE,)))
        ct.store(flag, index=(0,), tile=2, memory_order=RELEASE, memory_scope=DEVICE)
    else:
        while ct.load(flag, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() == 0:
            pass
        part = ct.load(first, index=(0,), shape=(TILE,))
        while ct.load(flag, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() != 2:
            pass
        ct.store(out, index=(ct.bid(0) - 1,), tile=part + ct.load(second, index=(0,), shape=(TILE,)))
