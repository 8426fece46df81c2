"""Recurrences over the steps of a row, by blocks that take one row after the other.

The compiler lets the stores of one row run side by side, as no two of them have the same step, and orders rows by the
token that the loop over the steps hands on: all of its stores, and what came before.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def running_states(x, out, TILE: ConstInt):
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        state = ct.zeros((1, 1, TILE), dtype=ct.float32)
        for step in range(x.shape[1]):
            state = 0.5 * state + ct.load(x, index=(row, step, 0), shape=(1, 1, TILE))
            ct.store(out, index=(row, step, 0), tile=state)


@ct.kernel
def running_states_in_one_row(x, out, TILE: ConstInt):
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        state = ct.zeros((1, 1, TILE), dtype=ct.float32)
        for step in range(x.shape[1]):
            state = 0.5 * state + ct.load(x, index=(row, step, 0), shape=(1, 1, TILE))
            ct.store(out, index=(0, step, 0), tile=state)
