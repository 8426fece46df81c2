"""Parts of one sum are added in turn: a block waits for its number, adds with plain accesses and passes the turn on."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
DEVICE = ct.MemoryScope.DEVICE
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def add_in_turn(x, turn, total, TILE: ConstInt):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.load(turn, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() != i:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.store(turn, index=(0,), tile=i + 1, memory_order=RELEASE, memory_scope=DEVICE)


@ct.kernel
def add_in_turn_relaxed_wait(x, turn, total, TILE: ConstInt):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.load(turn, index=(0,), shape=(), memory_order=RELAXED, memory_scope=DEVICE).item() != i:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.store(turn, index=(0,), tile=i + 1, memory_order=RELEASE, memory_scope=DEVICE)


@ct.kernel
def add_in_turn_relaxed_pass(x, turn, total, TILE: ConstInt):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.load(turn, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() != i:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.store(turn, index=(0,), tile=i + 1, memory_order=RELAXED, memory_scope=DEVICE)


@ct.kernel
def add_rows_in_turn(x, turns, totals, TILE: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    part = ct.sum(ct.load(x, index=(i, j), shape=(1, TILE)))
    while ct.load(turns, index=(i,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() != j:
        pass
    before = ct.load(totals, index=(i,), shape=()).item()
    ct.store(totals, index=(i,), tile=before + part)
    ct.store(turns, index=(i,), tile=j + 1, memory_order=RELEASE, memory_scope=DEVICE)


@ct.kernel
def add_rows_to_one_total(x, turns, totals, TILE: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    part = ct.sum(ct.load(x, index=(i, j), shape=(1, TILE)))
    while ct.load(turns, index=(i,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() != j:
        pass
    before = ct.load(totals, index=(0,), shape=()).item()
    ct.store(totals, index=(0,), tile=before + part)
    ct.store(turns, index=(i,), tile=j + 1, memory_order=RELEASE, memory_scope=DEVICE)


@ct.kernel
def add_from_turn_on(x, turn, total, TILE: ConstInt):
    """Waits for its number or any above, and counts from the last block to the first."""
    i = ct.bid(0)
    mine = ct.num_blocks(0) - 1 - i
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.load(turn, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() < mine:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_max(turn, (0,), mine + 1, memory_order=RELEASE)


@ct.kernel
def add_from_turn_before_on(x, turn, total, TILE: ConstInt):
    """One turn too early: two blocks add at once."""
    i = ct.bid(0)
    mine = ct.num_blocks(0) - 1 - i
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.load(turn, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() < mine - 1:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.atomic_max(turn, (0,), mine + 1, memory_order=RELEASE)
