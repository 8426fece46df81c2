"""A kernel whose variants are compared."""

import cuda.tile as ct


@ct.kernel
def scaled(x, out, s, n: int, tile: ct.Constant[int], wrong: ct.Constant[int]):
    """``wrong`` 1: off by little; 2: the last tile is left out."""
    i = ct.bid(0)
    t = ct.load(x, (i,), (tile,), padding_mode=ct.PaddingMode.ZERO) * s
    if wrong == 1:
        t = t * 1.0001
    if wrong == 2 and i == ct.num_blocks(0) - 1:
        t = t * 0.0
    ct.store(out, (i,), t)
