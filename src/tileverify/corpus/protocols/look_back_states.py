"""A running sum with states: 1 when a block's own sum is there, 2 when the sum up to it is; all waits are atomics."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def look_back_by_state(x, sums, prefixes, states, TILE: ConstInt):
    i = ct.bid(0)
    own = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    ct.store(sums, index=(i,), tile=own)
    ct.atomic_xchg(states, (i,), 1, memory_order=RELEASE)
    before = own - own
    j = i - 1
    while j >= 0:
        state = ct.atomic_or(states, (j,), 0, memory_order=ACQUIRE).item()
        while state == 0:
            state = ct.atomic_or(states, (j,), 0, memory_order=ACQUIRE).item()
        if state == 2:
            before = before + ct.load(prefixes, index=(j,), shape=())
            j = -1
        else:
            before = before + ct.load(sums, index=(j,), shape=())
            j = j - 1
    ct.store(prefixes, index=(i,), tile=before + own)
    ct.atomic_xchg(states, (i,), 2, memory_order=RELEASE)


@ct.kernel
def look_back_by_state_too_early(x, sums, prefixes, states, TILE: ConstInt):
    """State 2 is shown before the sum is there."""
    i = ct.bid(0)
    own = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    ct.store(sums, index=(i,), tile=own)
    ct.atomic_xchg(states, (i,), 1, memory_order=RELEASE)
    before = own - own
    j = i - 1
    while j >= 0:
        state = ct.atomic_or(states, (j,), 0, memory_order=ACQUIRE).item()
        while state == 0:
            state = ct.atomic_or(states, (j,), 0, memory_order=ACQUIRE).item()
        if state == 2:
            before = before + ct.load(prefixes, index=(j,), shape=())
            j = -1
        else:
            before = before + ct.load(sums, index=(j,), shape=())
            j = j - 1
    ct.atomic_xchg(states, (i,), 2, memory_order=RELEASE)
    ct.store(prefixes, index=(i,), tile=before + own)


@ct.kernel
def look_back_by_any_state(x, sums, prefixes, states, TILE: ConstInt):
    """Takes state 1 for state 2."""
    i = ct.bid(0)
    own = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    ct.store(sums, index=(i,), tile=own)
    ct.atomic_xchg(states, (i,), 1, memory_order=RELEASE)
    if i > 0:
        while ct.atomic_or(states, (i - 1,), 0, memory_order=ACQUIRE).item() < 1:
            pass
        own = own + ct.load(prefixes, index=(i - 1,), shape=())
    ct.store(prefixes, index=(i,), tile=own)
    ct.atomic_xchg(states, (i,), 2, memory_order=RELEASE)
