"""A tree of counters: the second block of a pair sums up the pair, the last pair sums up all."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


@ct.kernel
def sum_by_pairs(x, parts, pairs, leaves, root, out, TILE: ConstInt, PAIRS: ConstInt):
    i = ct.bid(0)
    pair = i // 2
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    if ct.atomic_add(leaves, (pair,), 1).item() == 1:
        ct.store(pairs, index=(pair,), tile=ct.sum(ct.load(parts, index=(pair,), shape=(2,))))
        if ct.atomic_add(root, (0,), 1).item() == pairs.shape[0] - 1:
            all_pairs = ct.load(pairs, index=(0,), shape=(PAIRS,), padding_mode=ct.PaddingMode.ZERO)
            ct.store(out, index=(0,), tile=ct.sum(all_pairs))


@ct.kernel
def sum_by_pairs_relaxed_root(x, parts, pairs, leaves, root, out, TILE: ConstInt, PAIRS: ConstInt):
    i = ct.bid(0)
    pair = i // 2
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    if ct.atomic_add(leaves, (pair,), 1).item() == 1:
        ct.store(pairs, index=(pair,), tile=ct.sum(ct.load(parts, index=(pair,), shape=(2,))))
        if ct.atomic_add(root, (0,), 1, memory_order=RELAXED).item() == pairs.shape[0] - 1:
            all_pairs = ct.load(pairs, index=(0,), shape=(PAIRS,), padding_mode=ct.PaddingMode.ZERO)
            ct.store(out, index=(0,), tile=ct.sum(all_pairs))


@ct.kernel
def sum_by_first_of_pair(x, parts, pairs, leaves, root, out, TILE: ConstInt, PAIRS: ConstInt):
    i = ct.bid(0)
    pair = i // 2
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    if ct.atomic_add(leaves, (pair,), 1).item() == 0:
        ct.store(pairs, index=(pair,), tile=ct.sum(ct.load(parts, index=(pair,), shape=(2,))))
        if ct.atomic_add(root, (0,), 1).item() == pairs.shape[0] - 1:
            all_pairs = ct.load(pairs, index=(0,), shape=(PAIRS,), padding_mode=ct.PaddingMode.ZERO)
            ct.store(out, index=(0,), tile=ct.sum(all_pairs))


@ct.kernel
def sum_parts_by_tree(x, parts, leaves, root, out, TILE: ConstInt, PARTS: ConstInt):
    """The root reads what blocks released that it never met: through the second block of their pair."""
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    if ct.atomic_add(leaves, (i // 2,), 1).item() == 1:
        if ct.atomic_add(root, (0,), 1).item() == leaves.shape[0] - 1:
            all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
            ct.store(out, index=(0,), tile=ct.sum(all_parts))


@ct.kernel
def sum_parts_by_tree_releasing(x, parts, leaves, root, out, TILE: ConstInt, PARTS: ConstInt):
    """The leaves release only: the second block of a pair has nothing of the first to pass on."""
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,))))
    if ct.atomic_add(leaves, (i // 2,), 1, memory_order=RELEASE).item() == 1:
        if ct.atomic_add(root, (0,), 1).item() == leaves.shape[0] - 1:
            all_parts = ct.load(parts, index=(0,), shape=(PARTS,), padding_mode=ct.PaddingMode.ZERO)
            ct.store(out, index=(0,), tile=ct.sum(all_parts))
