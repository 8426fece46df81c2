"""One matrix product for each batch, the batch on the third grid axis."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def batched_matmul(A, B, C, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    m = ct.bid(0)
    n = ct.bid(1)
    batch = ct.bid(2)
    acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=2, shape=(1, TILE_M, TILE_K))):
        a = ct.load(A, index=(batch, m, k), shape=(1, TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(batch, k, n), shape=(1, TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a.reshape((TILE_M, TILE_K)), b.reshape((TILE_K, TILE_N)), acc)
    ct.store(C, index=(batch, m, n), tile=acc.astype(C.dtype).reshape((1, TILE_M, TILE_N)))
