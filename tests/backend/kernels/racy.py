"""Kernels with a fault each, and their faultless twins."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def everyone_writes(x, out, t: ConstInt):
    """Every block stores to tile 0."""
    ct.store(out, (0,), ct.load(x, (ct.bid(0),), (t,)))


@ct.kernel
def everyone_writes_all(out, t: ConstInt):
    """Every block stores to every tile, one after the other."""
    for tile in range(ct.num_tiles(out, axis=0, shape=(t,))):
        ct.store(out, (tile,), ct.full((t,), 1.0, ct.float32))


@ct.kernel
def own_tile(x, out, t: ConstInt):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (t,)))


@ct.kernel
def neighbour(x, t: ConstInt):
    """In place, but from the tile of the next block."""
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0) + 1,), (t,)) + 1.0)


@ct.kernel
def rows_without_second_axis(out, t: ConstInt):
    ct.store(out, (ct.bid(0), 0), ct.full((1, t), 1.0, ct.float32))


@ct.kernel
def scattered(idx, out, t: ConstInt):
    rows = ct.load(idx, (ct.bid(0),), (t,), padding_mode=ct.PaddingMode.ZERO)
    ct.scatter(out, (rows,), ct.full((t,), 1.0, ct.float32))


@ct.kernel
def counts_and_reads(x, counts, out, t: ConstInt):
    """Atomic additions beside a plain load of the counters."""
    values = ct.load(x, (ct.bid(0),), (t,))
    ct.atomic_add(counts, (values,), 1)
    ct.store(out, (ct.bid(0),), ct.load(counts, (0,), (t,)))


@ct.kernel
def counts(x, counts, t: ConstInt):
    ct.atomic_add(counts, (ct.load(x, (ct.bid(0),), (t,)),), 1)


@ct.kernel
def ticket(counter, out):
    """Each block takes a number and writes there: no two blocks get the same one."""
    number = ct.atomic_add(counter, (0,), 1)
    ct.scatter(out, (number,), 1.0)


@ct.kernel
def last_block(parts, counter, out):
    """Publish a part, count, and let the last one add up."""
    ct.store(parts, (ct.bid(0),), ct.full((1,), 1.0, ct.float32))
    before = ct.atomic_add(counter, (0,), 1)
    if before == ct.num_blocks(0) - 1:
        ct.store(out, (0,), ct.load(parts, (0,), (2,)))


@ct.kernel
def last_block_relaxed(parts, counter, out):
    """The same, but the count orders nothing."""
    ct.store(parts, (ct.bid(0),), ct.full((1,), 1.0, ct.float32))
    before = ct.atomic_add(counter, (0,), 1, memory_order=ct.MemoryOrder.RELAXED)
    if before == ct.num_blocks(0) - 1:
        ct.store(out, (0,), ct.load(parts, (0,), (2,)))


@ct.kernel
def from_list(xs, out, t: ConstInt):
    for i in range(len(xs)):
        tile = ct.gather(xs[i], (ct.arange(t, dtype=ct.int32),))
        ct.store(out, (i,), tile)


@ct.kernel
def unchecked(x, idx, out, t: ConstInt):
    rows = ct.load(idx, (ct.bid(0),), (t,))
    ct.store(out, (ct.bid(0),), ct.gather(x, (rows,), check_bounds=False))


@ct.kernel
def divides(out, n: int):
    ct.store(out, (ct.bid(0) // n,), ct.full((1,), 1.0, ct.float32))


@ct.kernel
def spins(flag, out):
    while ct.atomic_cas(flag, (0,), 1, 2) != 1:
        pass
    ct.store(out, (0,), ct.full((1,), 1.0, ct.float32))


@ct.kernel
def wide_grid(out, width: int):
    """The offset of the tile wraps for large products."""
    lanes = ct.bid(0) * width + ct.arange(16, dtype=ct.int32)
    ct.scatter(out, (lanes,), ct.full((16,), 1.0, ct.float32))


@ct.kernel
def wide_everyone_writes(x, out, rounds: ConstInt):
    """Long computations on a wide tile, none of which decides where it goes."""
    tile = ct.load(x, (ct.bid(0), 0), (128, 128))
    for _ in range(rounds):
        tile = ct.exp(tile) * tile + 1.0
    for k in range(4):
        tile = tile + ct.sum(ct.load(x, (ct.bid(0), k), (128, 128)), axis=1, keepdims=True) * tile
        for _ in range(rounds):
            tile = ct.exp(tile) * tile + 1.0
    ct.store(out, (0, 0), tile)


@ct.kernel
def wide_gather(idx, x, out, rounds: ConstInt):
    """Addresses depend on contents, but not on what is computed with them."""
    rows = ct.load(idx, (ct.bid(0),), (128,))
    tile = ct.load(x, (ct.bid(0), 0), (128, 128))
    for _ in range(rounds):
        tile = ct.exp(tile) * tile + 1.0
    ct.scatter(out, (rows[:, None], ct.arange(128, dtype=ct.int32)[None, :]), tile)


@ct.kernel
def wide_steered(x, out, rounds: ConstInt):
    """The place that is stored to comes of the computation."""
    tile = ct.load(x, (ct.bid(0), 0), (128, 128))
    for _ in range(rounds):
        tile = tile + 1
    place = ct.sum(ct.sum(tile, axis=1), axis=0)
    if place == 128 * 128 * rounds:
        ct.store(out, (0, 0), tile)
    else:
        ct.store(out, (ct.bid(0), 0), tile)


@ct.kernel
def through_memory(idx, out, t: ConstInt):
    """What is stored comes back as an address."""
    rows = ct.load(idx, (ct.bid(0),), (t,))
    ct.store(idx, (ct.bid(0),), rows * 0)
    again = ct.load(idx, (ct.bid(0),), (t,))
    ct.scatter(out, (again,), ct.full((t,), 1.0, ct.float32))
