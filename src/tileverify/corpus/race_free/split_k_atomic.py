"""Matrix product whose inner dimension is split over the third grid axis; the parts are added atomically."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def split_k(A, B, C, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    m = ct.bid(0)
    n = ct.bid(1)
    acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for k in range(ct.bid(2), ct.num_tiles(A, axis=1, shape=(TILE_M, TILE_K)), ct.num_blocks(2)):
        a = ct.load(A, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, n), shape=(TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a, b, acc)
    rows = m * TILE_M + ct.arange(TILE_M, dtype=ct.int32)
    columns = n * TILE_N + ct.arange(TILE_N, dtype=ct.int32)
    ct.atomic_add(C, (rows[:, None], columns[None, :]), acc, memory_order=ct.MemoryOrder.RELAXED)
