"""Block 0 writes the header, every other block its own line: two stores in branches that exclude each other."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def header_and_lines(out, value, TILE_N: ConstInt):
    i = ct.bid(0)
    if i == 0:
        ct.store(out, index=(0, 0), tile=ct.full((1, TILE_N), value, dtype=out.dtype))
    else:
        ct.store(out, index=(i, 0), tile=ct.zeros((1, TILE_N), dtype=out.dtype))
