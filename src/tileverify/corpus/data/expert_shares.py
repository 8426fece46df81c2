"""Rows of three experts, one behind the other; each block finds its expert's first row by adding up the counts."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_shares(counts, out, TILE: ConstInt):
    e, i = ct.bid(0), ct.bid(1)
    start = 0
    for before in ct.static_iter(range(3)):
        count = ct.load(counts, index=(before,), shape=()).item()
        if before < e:
            start = start + count
    own = ct.load(counts, index=(e,), shape=()).item()
    lanes = i * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (start + lanes,), e, mask=lanes < own, check_bounds=False)
