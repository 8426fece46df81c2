"""A grouped product as in mixtures of experts: rows in sorted order, written back to where the tokens were."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def scale_by_expert(x, tokens, experts, weights, out, TILE_T: ConstInt, TILE_D: ConstInt):
    i = ct.bid(0)
    rows = ct.load(tokens, index=(i,), shape=(TILE_T,))
    expert = ct.load(experts, index=(i,), shape=()).item()
    columns = ct.arange(TILE_D, dtype=ct.int32)
    weight = ct.load(weights, index=(expert, 0), shape=(1, TILE_D))
    ct.scatter(out, (rows[:, None], columns[None, :]), weight * ct.gather(x, (rows[:, None], columns[None, :])))
