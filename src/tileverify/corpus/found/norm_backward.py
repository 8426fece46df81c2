"""The step backward through a root-mean-square norm, which may write `dx` over `dy`, as training libraries offer it.

`dy` is needed once more behind the store, for the gradient of the weight.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def norm_backward(x, dy, weight, scale, dx, parts, COLS: ConstInt):
    row = ct.bid(0)
    columns = ct.arange(COLS, dtype=ct.int32)
    x_tile = ct.gather(x, (row, columns))
    dy_tile = ct.gather(dy, (row, columns))
    inverse = ct.load(scale, index=(row,), shape=()).item()
    weighted = dy_tile * ct.gather(weight, columns)
    share = inverse * inverse * ct.sum(weighted * x_tile) / COLS
    ct.scatter(dx, (row, columns), inverse * (weighted - share * x_tile))
    ct.scatter(parts, (row, columns), dy_tile * x_tile * inverse)
