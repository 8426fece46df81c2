"""Matrix product with the grouped block order that keeps tiles of B in the L2 cache."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


def swizzle(M, N, TILE_M, TILE_N, GROUP_M):
    """Walks the tiles of C in groups of GROUP_M rows, down a column of the group before the next one."""
    i = ct.bid(0)
    tiles_m = ct.cdiv(M, TILE_M)
    tiles_n = ct.cdiv(N, TILE_N)
    tiles_in_group = GROUP_M * tiles_n
    group = i // tiles_in_group
    first_m = group * GROUP_M
    rows = min(tiles_m - first_m, GROUP_M)
    return first_m + (i % rows), (i % tiles_in_group) // rows


@ct.kernel
def matmul_swizzled(A, B, C, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt, GROUP_M: ConstInt):
    m, n = swizzle(A.shape[0], B.shape[1], TILE_M, TILE_N, GROUP_M)
    acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TILE_M, TILE_K))):
        a = ct.load(A, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, n), shape=(TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(m, n), tile=acc.astype(C.dtype))
