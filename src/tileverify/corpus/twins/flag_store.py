"""All blocks set one flag, with relaxed stores of one value or with weak stores."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def set_flag(x, found, TILE: ConstInt):
    if ct.max(ct.load(x, index=(ct.bid(0),), shape=(TILE,))) > 0:
        ct.store(found, index=(0,), tile=7, memory_order=ct.MemoryOrder.RELAXED, memory_scope=ct.MemoryScope.DEVICE)


@ct.kernel
def set_flag_weakly(found):
    ct.store(found, index=(0,), tile=ct.bid(0))
