"""Gradients of padded sequences: rows behind the sequence are part of the output."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def gradient_of_rows(x, grad, T: int, ROWS: ConstInt, D: ConstInt):
    rows = ct.bid(0) * ROWS + ct.arange(ROWS, dtype=ct.int32).reshape((ROWS, 1))
    cols = ct.arange(D, dtype=ct.int32).reshape((1, D))
    live = rows < T
    tile = ct.gather(x, (rows, cols), mask=live, padding_value=0.0)
    ct.scatter(grad, (rows, cols), 2 * tile, mask=live)


@ct.kernel
def gradient_of_all(x, grad, T: int, ROWS: ConstInt, D: ConstInt):
    rows = ct.bid(0) * ROWS + ct.arange(ROWS, dtype=ct.int32).reshape((ROWS, 1))
    cols = ct.arange(D, dtype=ct.int32).reshape((1, D))
    tile = ct.gather(x, (rows, cols), mask=rows < T, padding_value=0.0)
    ct.scatter(grad, (rows, cols), 2 * tile)
