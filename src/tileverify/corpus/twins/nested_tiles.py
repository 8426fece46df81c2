"""Fills a slab of 16 elements a block and then goes over it in tiles that are shorter or longer than the slab."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def refine(out, SLAB: ConstInt, TILE: ConstInt):
    i = ct.bid(0)
    per_slab = ct.cdiv(SLAB, TILE)
    ct.store(out, index=(i,), tile=ct.full((SLAB,), i, dtype=out.dtype))
    for k in range(per_slab):
        ct.store(out, index=(i * per_slab + k,), tile=ct.full((TILE,), k, dtype=out.dtype))
