"""Prefix sums, histograms and reductions of whole arrays, in stages that give the same result each time."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
ConstBool = ct.Constant[bool]
ZERO, LOWEST = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF


@ct.kernel
def block_sums(x, sums, TILE: ConstInt):
    """The sum of each tile: x [N], sums [cdiv(N, TILE)].  Grid cdiv(N, TILE)."""
    i = ct.bid(0)
    tile = ct.load(x, (i,), (TILE,), padding_mode=ZERO).astype(sums.dtype)
    ct.store(sums, (i,), ct.sum(tile, axis=0, keepdims=True))


@ct.kernel
def scan_sums(sums, starts, TILE: ConstInt):
    """``starts[i]`` is the sum of what stands before ``sums[i]``: sums [P], starts [P + 1].  Grid 1."""
    # So that the proof of one launch serves all sizes: a launch of one block alone tells nothing of others.
    if ct.bid(0) == 0:
        before = ct.zeros((1,), dtype=starts.dtype)
        for t in range(ct.cdiv(starts.shape[0], TILE)):
            lanes = t * TILE + ct.arange(TILE, dtype=ct.int32)
            tile = ct.gather(sums, (lanes - 1,)).astype(starts.dtype)
            ct.store(starts, (t,), before + ct.cumsum(tile, axis=0))
            before = before + ct.sum(tile, axis=0, keepdims=True)


@ct.kernel
def scan_blocks(x, starts, out, TILE: ConstInt, EXCLUSIVE: ConstBool):
    """Prefix sums of each tile from its start on, without the element itself if EXCLUSIVE.

    x and out [N], starts [P] with P >= cdiv(N, TILE), as `scan_sums` gives them.  Grid cdiv(N, TILE).
    """
    i = ct.bid(0)
    tile = ct.load(x, (i,), (TILE,), padding_mode=ZERO).astype(out.dtype)
    prefix = ct.load(starts, (i,), (1,)) + ct.cumsum(tile, axis=0)
    if EXCLUSIVE:
        prefix = prefix - tile
    ct.store(out, (i,), prefix.astype(out.dtype))


@ct.kernel
def histogram(values, bins, TILE: ConstInt):
    """Adds to ``bins[v]`` how often v occurs; values that are no bin are left out.

    values i32[N], bins i32[C].  Grid cdiv(N, TILE).
    """
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    bin_of = ct.gather(values, (lanes,), padding_value=-1)
    ct.atomic_add(bins, (bin_of,), 1, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def array_sum(x, out, TILE: ConstInt):
    """``out[i]`` is the sum of the tiles i, i + P, ... of x, in this order: x [N], out f32[P].  Grid P.

    Once over the array with some hundred blocks, once over what they gave with one: the sum of the array.
    """
    acc = ct.zeros((TILE,), dtype=ct.float32)
    for t in range(ct.bid(0), ct.cdiv(x.shape[0], TILE), ct.num_blocks(0)):
        acc = acc + ct.load(x, (t,), (TILE,), padding_mode=ZERO).astype(ct.float32)
    ct.store(out, (ct.bid(0),), ct.sum(acc, axis=0, keepdims=True).astype(out.dtype))


@ct.kernel
def array_maximum(x, out, TILE: ConstInt):
    """The same with the maximum, which is minus infinity of nothing: x [N], out f32[P].  Grid P."""
    acc = ct.full((TILE,), float("-inf"), dtype=ct.float32)
    for t in range(ct.bid(0), ct.cdiv(x.shape[0], TILE), ct.num_blocks(0)):
        acc = ct.maximum(acc, ct.load(x, (t,), (TILE,), padding_mode=LOWEST).astype(ct.float32))
    ct.store(out, (ct.bid(0),), ct.max(acc, axis=0, keepdims=True).astype(out.dtype))
