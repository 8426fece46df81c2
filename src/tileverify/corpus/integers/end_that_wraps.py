"""Writes at a position if eight elements from there end inside: adds to the position, or subtracts from the size."""

import cuda.tile as ct


@ct.kernel
def write_if_end_inside(out, start):
    row = ct.bid(0)
    if start >= 0:
        if start + 8 <= out.shape[1]:
            ct.store(out, index=(row, start), tile=ct.full((1, 1), row, dtype=out.dtype))


@ct.kernel
def write_if_start_inside(out, start):
    row = ct.bid(0)
    if start >= 0:
        if start <= out.shape[1] - 8:
            ct.store(out, index=(row, start), tile=ct.full((1, 1), row, dtype=out.dtype))
