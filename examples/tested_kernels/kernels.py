"""Two sums: one of rows, which is right, and one of everything, in which blocks write over each other."""

import cuda.tile as ct


@ct.kernel
def sum_rows(x, sums, TILE: ct.Constant[int]):
    """sums[i] = x[i, 0] + x[i, 1] + ...; one block for each row."""
    row = ct.bid(0)
    total = ct.zeros((1,), ct.float32)
    for tile in range(ct.cdiv(x.shape[1], TILE)):
        part = ct.load(x, (row, tile), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
        total = total + ct.sum(part, axis=1)
    ct.store(sums, (row,), total)


@ct.kernel
def sum_all(x, total, TILE: ct.Constant[int]):
    """total[0] += the sum of x; every block reads and writes it, none waits for another."""
    part = ct.sum(ct.load(x, (ct.bid(0),), (TILE,), padding_mode=ct.PaddingMode.ZERO), axis=0, keepdims=True)
    ct.store(total, (0,), ct.load(total, (0,), (1,)) + part)
