"""Causal attention with an online softmax; groups of query heads share one head of keys and values."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def flash_attention(Q, K, V, Out, scale, TILE_M: ConstInt, TILE_N: ConstInt, TILE_D: ConstInt, GROUP: ConstInt):
    i = ct.bid(0)
    heads = Q.shape[1]
    b = ct.bid(1) // heads
    h = ct.bid(1) % heads
    rows = i * TILE_M + ct.arange(TILE_M, dtype=ct.int32)[:, None]
    highest = ct.full((TILE_M, 1), -1.0e30, dtype=ct.float32)
    weight = ct.zeros((TILE_M, 1), dtype=ct.float32)
    acc = ct.zeros((TILE_M, TILE_D), dtype=ct.float32)
    q = ct.load(Q, index=(b, h, i, 0), shape=(1, 1, TILE_M, TILE_D)).reshape((TILE_M, TILE_D))

    keys = min((i + 1) * TILE_M, K.shape[2])
    for j in range(ct.cdiv(keys, TILE_N)):
        k = ct.load(K, index=(b, h // GROUP, 0, j), shape=(1, 1, TILE_D, TILE_N), order=(0, 1, 3, 2))
        scores = ct.mma(q, k.reshape((TILE_D, TILE_N)), ct.zeros((TILE_M, TILE_N), dtype=ct.float32)) * scale
        columns = j * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
        scores = ct.where(columns <= rows, scores, -1.0e30)
        now_highest = ct.maximum(highest, ct.max(scores, axis=1, keepdims=True))
        p = ct.exp(scores - now_highest)
        fade = ct.exp(highest - now_highest)
        weight = weight * fade + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(V, index=(b, h // GROUP, j, 0), shape=(1, 1, TILE_N, TILE_D), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(p.astype(V.dtype), v.reshape((TILE_N, TILE_D)), acc * fade)
        highest = now_highest

    result = (acc / weight).reshape((1, 1, TILE_M, TILE_D))
    ct.store(Out, index=(b, h, i, 0), tile=result.astype(Out.dtype))
