"""Products of many matrices in one launch: a list of them, or one weight for each run of rows (experts)."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def matmul_list(a, b, out, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``a[i] b[i]`` for lists of arrays [M, K], [K, N] and [M, N], each i with sizes of its own.

    Requires a grid (any number, any number, length of the lists): blocks walk over the tiles of their product in grid
    strides.  Nothing that one array of a product has beyond another is used.
    """
    i = ct.bid(2)
    own_a, own_b, own_out = a[i], b[i], out[i]
    tiles_m = ct.cdiv(min(own_a.shape[0], own_out.shape[0]), TILE_M)
    tiles_n = ct.cdiv(min(own_b.shape[1], own_out.shape[1]), TILE_N)
    tiles_k = ct.cdiv(min(own_a.shape[1], own_b.shape[0]), TILE_K)
    for m in range(ct.bid(0), tiles_m, ct.num_blocks(0)):
        for n in range(ct.bid(1), tiles_n, ct.num_blocks(1)):
            acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
            for k in range(tiles_k):
                tile_a = ct.load(own_a, (m, k), (TILE_M, TILE_K), padding_mode=ZERO)
                tile_b = ct.load(own_b, (k, n), (TILE_K, TILE_N), padding_mode=ZERO)
                acc = ct.mma(tile_a, tile_b, acc)
            ct.store(own_out, (m, n), acc.astype(own_out.dtype))


@ct.kernel
def matmul_experts(x, weights, experts, out, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``x wᵀ`` for rows in tiles of TILE_M, each of one expert.

    x [R, K], weights [E, N, K], experts i32[cdiv(R, TILE_M)], out [R, N].  A tile whose expert is not in 0 to E - 1
    is left as it is.  Grid (cdiv(R, TILE_M), cdiv(N, TILE_N)).
    """
    m, n = ct.bid(0), ct.bid(1)
    expert = ct.load(experts, (m,), ()).item()
    if expert >= 0 and expert < weights.shape[0]:
        acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
        for k in range(ct.num_tiles(x, axis=1, shape=(TILE_M, TILE_K))):
            tile_x = ct.load(x, (m, k), (TILE_M, TILE_K), padding_mode=ZERO)
            tile_w = ct.load(weights, (expert, k, n), (1, TILE_K, TILE_N), order=(0, 2, 1), padding_mode=ZERO)
            acc = ct.mma(tile_x, tile_w.reshape((TILE_K, TILE_N)), acc)
        ct.store(out, (m, n), acc.astype(out.dtype))


@ct.kernel
def matmul_segments(x, weights, offsets, out, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``x wᵀ`` for rows in segments, rows ``offsets[e]`` to ``offsets[e + 1] - 1`` for expert e.

    x [R, K], weights [E, N, K], offsets i32[E + 1], out [R, N].  Needs offsets that do not fall and lie in 0 to R.
    Requires R * K < 2**31 and R * N < 2**31, as a slice's first element is counted in 32 bits.
    Grid (cdiv(R, TILE_M), cdiv(N, TILE_N), E).
    """
    m, n, expert = ct.bid(0), ct.bid(1), ct.bid(2)
    start = ct.load(offsets, (expert,), ()).item()
    stop = ct.load(offsets, (expert + 1,), ()).item()
    if m * TILE_M < stop - start:
        own_x = x.slice(axis=0, start=start, stop=stop)
        own_out = out.slice(axis=0, start=start, stop=stop)
        acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
        for k in range(ct.num_tiles(x, axis=1, shape=(TILE_M, TILE_K))):
            tile_x = ct.load(own_x, (m, k), (TILE_M, TILE_K), padding_mode=ZERO)
            tile_w = ct.load(weights, (expert, k, n), (1, TILE_K, TILE_N), order=(0, 2, 1), padding_mode=ZERO)
            acc = ct.mma(tile_x, tile_w.reshape((TILE_K, TILE_N)), acc)
        ct.store(own_out, (m, n), acc.astype(out.dtype))
