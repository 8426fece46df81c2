"""Clears every other half tile: a strided view with gaps between its tiles is written."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def clear_even_halves(x, TILE: ConstInt, STEP: ConstInt):
    halves = x.tiled_view((TILE,), traversal_steps=(STEP,))
    halves.store((ct.bid(0),), ct.zeros((TILE,), dtype=x.dtype))
