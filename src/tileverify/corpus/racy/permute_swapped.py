"""Head permutation with two swapped store indices, after the bug in section 3.5 of NVIDIA's cuTile Rust paper.

The paper's authors saw 17 to 35 % of the elements differ from run to run on a GPU.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def permute_swapped(src, dst, HEADS: ConstInt, TILE_M: ConstInt, TILE_D: ConstInt):
    b = ct.bid(0) // HEADS
    from_head = ct.bid(0) % HEADS
    to_head = ct.bid(1)
    for m in range(ct.num_tiles(src, axis=2, shape=(1, 1, TILE_M, TILE_D))):
        tile = ct.load(src, index=(b, from_head, m, 0), shape=(1, 1, TILE_M, TILE_D))
        ct.store(dst, index=(b, m, to_head, 0), tile=tile)
