"""Asserts that its tile exists and uses it."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def double_asserted(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.assert_(i < ct.num_tiles(x, axis=0, shape=(TILE,)))  # noqa: PT009
    ct.store(out, index=(i,), tile=2.0 * ct.load(x, index=(i,), shape=(TILE,)))
