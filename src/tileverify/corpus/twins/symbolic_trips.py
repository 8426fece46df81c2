"""Every block fills as many tiles in a row as an argument says, or one more."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_chunk(out, count, TILE: ConstInt):
    for k in range(count):
        ct.store(out, index=(ct.bid(0) * count + k,), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))


@ct.kernel
def fill_chunk_and_next(out, count, TILE: ConstInt):
    for k in range(count + 1):
        ct.store(out, index=(ct.bid(0) * count + k,), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))
