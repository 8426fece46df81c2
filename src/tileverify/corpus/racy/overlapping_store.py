"""Stores through a strided view whose tiles are longer than the step between them."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_windows(out, WINDOW: ConstInt, STEP: ConstInt):
    windows = out.tiled_view((WINDOW,), traversal_steps=(STEP,))
    windows.store((ct.bid(0),), ct.full((WINDOW,), ct.bid(0), dtype=out.dtype))
