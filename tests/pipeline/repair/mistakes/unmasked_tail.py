"""Scales a vector, and says that no check of its end is needed."""

import cuda.tile as ct


@ct.kernel
def scale(x, out, factor: float, TILE: ct.Constant[int]):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    tile = ct.gather(x, lanes, check_bounds=False)
    ct.scatter(out, lanes, tile * factor, check_bounds=False)
