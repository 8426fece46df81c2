"""Matrix product by as many blocks as the device runs at once; each walks over the tiles of C in grid strides."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def persistent_matmul(A, B, C, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    tiles_m = ct.cdiv(A.shape[0], TILE_M)
    tiles_n = ct.cdiv(B.shape[1], TILE_N)
    for t in range(ct.bid(0), tiles_m * tiles_n, ct.num_blocks(0)):
        m = t // tiles_n
        n = t % tiles_n
        acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
        for k in range(ct.num_tiles(A, axis=1, shape=(TILE_M, TILE_K))):
            a = ct.load(A, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
            b = ct.load(B, index=(k, n), shape=(TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
            acc = ct.mma(a, b, acc)
        ct.store(C, index=(m, n), tile=acc.astype(C.dtype))
