"""A product that walks along K in tiles: the last one may reach beyond the matrices."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def product_unpadded(A, B, C, TILE: ConstInt, TILE_K: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TILE, TILE), dtype=ct.float32)
    for k in range(ct.cdiv(A.shape[1], TILE_K)):
        a = ct.load(A, index=(i, k), shape=(TILE, TILE_K))
        b = ct.load(B, index=(k, j), shape=(TILE_K, TILE))
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc)


@ct.kernel
def product_padded(A, B, C, TILE: ConstInt, TILE_K: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TILE, TILE), dtype=ct.float32)
    for k in range(ct.cdiv(A.shape[1], TILE_K)):
        a = ct.load(A, index=(i, k), shape=(TILE, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, j), shape=(TILE_K, TILE), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc)


@ct.kernel
def product_padded_on_one_side(A, B, C, TILE: ConstInt, TILE_K: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TILE, TILE), dtype=ct.float32)
    for k in range(ct.cdiv(A.shape[1], TILE_K)):
        a = ct.load(A, index=(i, k), shape=(TILE, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, j), shape=(TILE_K, TILE))
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc)
