"""Mixtures of experts: which experts a token goes to, in which rows they find it, and the way back.

The rows of one expert lie together, from an offset that is a multiple of the height of a product's tile, so that every
tile has one expert; see `grouped_products`.  Results do not depend on the order in which blocks run.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]
ConstBool = ct.Constant[bool]
ZERO, LOWEST = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF
NEGATIVE_INFINITY = float("-inf")
NO_PLACE = 2**31 - 1


@ct.kernel
def route(
    logits, experts, weights, TILE_T: ConstInt, TILE_E: ConstInt, TILE_K: ConstInt, RENORMALIZE: ConstBool
):  # fmt: skip
    """The K experts of each token with the largest logits in falling order, and their shares in the softmax.

    With RENORMALIZE the shares of the chosen ones add up to 1.  logits [T, E], experts i32[T, K], weights f32[T, K].
    Requires K <= E <= TILE_E and 1 <= K <= TILE_K.  Grid cdiv(T, TILE_T).
    """
    i = ct.bid(0)
    scores = ct.load(logits, (i, 0), (TILE_T, TILE_E), padding_mode=LOWEST).astype(ct.float32)
    own = ct.arange(TILE_E, dtype=ct.int32)[None, :]
    lanes = ct.arange(TILE_K, dtype=ct.int32)[None, :]
    powers = ct.exp(scores - ct.max(scores, axis=1, keepdims=True))
    total = ct.sum(powers, axis=1, keepdims=True)
    free = ct.broadcast_to(own < logits.shape[1], (TILE_T, TILE_E))
    chosen = ct.zeros((TILE_T, TILE_K), dtype=ct.int32)
    shares = ct.zeros((TILE_T, TILE_K), dtype=ct.float32)
    for r in range(experts.shape[1]):
        highest = ct.max(ct.where(free, scores, NEGATIVE_INFINITY), axis=1, keepdims=True)
        expert = ct.min(ct.where(free & (scores == highest), own, NO_PLACE), axis=1, keepdims=True)
        share = ct.sum(ct.where(own == expert, powers, 0.0), axis=1, keepdims=True)
        chosen = ct.where(lanes == r, expert, chosen)
        shares = ct.where(lanes == r, share, shares)
        free = free & (own != expert)
    if RENORMALIZE:
        total = ct.sum(shares, axis=1, keepdims=True)
    ct.store(experts, (i, 0), chosen)
    ct.store(weights, (i, 0), shares / total)


@ct.kernel
def expert_counts(experts, counts, TILE: ConstInt):
    """How many items each expert has: experts i32[N], counts i32[E].  Grid E."""
    e = ct.bid(0)
    count = ct.zeros((TILE,), dtype=ct.int32)
    for t in range(ct.cdiv(experts.shape[0], TILE)):
        lanes = t * TILE + ct.arange(TILE, dtype=ct.int32)
        count = count + (ct.gather(experts, (lanes,), padding_value=-1) == e).astype(ct.int32)
    ct.store(counts, (e,), ct.sum(count, axis=0, keepdims=True))


@ct.kernel
def expert_offsets(counts, offsets, TILE: ConstInt, ALIGN: ConstInt):
    """Where the rows of each expert begin, if each count is rounded up to a multiple of ALIGN, and where they all end.

    counts i32[E], offsets i32[E + 1].  Grid 1.
    """
    # So that the proof of one launch serves all sizes: a launch of one block alone tells nothing of others.
    if ct.bid(0) == 0:
        before = ct.zeros((1,), dtype=ct.int32)
        for t in range(ct.cdiv(offsets.shape[0], TILE)):
            lanes = t * TILE + ct.arange(TILE, dtype=ct.int32)
            rows = (ct.gather(counts, (lanes - 1,)) + (ALIGN - 1)) // ALIGN * ALIGN
            ct.store(offsets, (t,), before + ct.cumsum(rows, axis=0))
            before = before + ct.sum(rows, axis=0, keepdims=True)


@ct.kernel
def tile_experts(offsets, experts, TILE_P: ConstInt, TILE_E: ConstInt, ALIGN: ConstInt):
    """The expert of each tile of ALIGN rows, -1 behind the last: offsets i32[E + 1], experts i32[P].

    Grid cdiv(P, TILE_P).
    """
    i = ct.bid(0)
    row = (i * TILE_P + ct.arange(TILE_P, dtype=ct.int32)) * ALIGN
    ended = ct.zeros((TILE_P,), dtype=ct.int32)
    for t in range(ct.cdiv(offsets.shape[0], TILE_E)):
        lanes = t * TILE_E + ct.arange(TILE_E, dtype=ct.int32)
        end = ct.gather(offsets, (lanes + 1,), padding_value=NO_PLACE)
        ended = ended + ct.sum((end[None, :] <= row[:, None]).astype(ct.int32), axis=1)
    ct.store(experts, (i,), ct.where(ended < offsets.shape[0] - 1, ended, -1))


@ct.kernel
def expert_places(experts, offsets, places, TILE: ConstInt):
    """The row of each item: items of one expert from its offset on, in their order.

    experts i32[N], offsets i32[E + 1] or longer, places i32[N]; items of no expert are left as they are.  Grid E.
    """
    e = ct.bid(0)
    next_row = ct.load(offsets, (e,), (1,))
    for t in range(ct.cdiv(experts.shape[0], TILE)):
        lanes = t * TILE + ct.arange(TILE, dtype=ct.int32)
        own = ct.gather(experts, (lanes,), padding_value=-1) == e
        counted = own.astype(ct.int32)
        ct.scatter(places, (lanes,), next_row + ct.cumsum(counted, axis=0) - counted, mask=own)
        next_row = next_row + ct.sum(counted, axis=0, keepdims=True)


@ct.kernel
def dispatch(x, places, out, TILE_D: ConstInt):
    """Copies each token to the K rows of its experts: x [T, D], places i32[T * K], out [R, D].

    Places that are no row are left out.  Needs places of which no two are one row.  Grid (T, cdiv(D, TILE_D), K).
    """
    t, j = ct.bid(0), ct.bid(1)
    row = ct.load(places, (t * ct.num_blocks(2) + ct.bid(2),), ()).item()
    if row >= 0 and row < out.shape[0]:
        ct.store(out, (row, j), ct.load(x, (t, j), (1, TILE_D), padding_mode=ZERO))


@ct.kernel
def combine(rows, places, weights, out, TILE_D: ConstInt):
    """The weighted sum of each token's rows: rows [R, D], places i32[T, K], weights f32[T, K], out [T, D].

    Places that are no row add nothing.  Grid (T, cdiv(D, TILE_D)).
    """
    t, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((1, TILE_D), dtype=ct.float32)
    for r in range(places.shape[1]):
        row = ct.load(places, (t, r), (1, 1)).item()
        if row >= 0 and row < rows.shape[0]:
            tile = ct.load(rows, (row, j), (1, TILE_D), padding_mode=ZERO).astype(ct.float32)
            acc = acc + tile * ct.load(weights, (t, r), (1, 1))
    ct.store(out, (t, j), acc.astype(out.dtype))
