"""Tokens of a decoder's step: the row of each, and on to the next position; and copies of rows, where a cache grows.

Token numbers and positions come from arrays, and are held inside tables whatever they are.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]

ZERO = ct.PaddingMode.ZERO


def after_the_one_ahead():
    """The next kernel may start; what comes then sees all that the kernel ahead wrote."""
    ct.grid_dependency_control_launch_dependents()
    ct.grid_dependency_control_wait()


def inside(position, size):
    return min(max(position, 0), size - 1)


@ct.kernel
def token_rows(table, ids, out, TILE_N: ConstInt):
    """``out[t] = table[ids[t]]``, the first or last row for a number that is none.

    table [V, N] with V >= 1, ids [T], out [T, N].  Grid (cdiv(N, TILE_N), T).
    """
    j, t = ct.bid(0), ct.bid(1)
    after_the_one_ahead()
    row = inside(ct.load(ids, (t,), (1,)).item(), table.shape[0])
    ct.store(out, (t, j), ct.load(table, (row, j), (1, TILE_N), padding_mode=ZERO).astype(out.dtype))


@ct.kernel
def step_on(chosen, drawn, ids, positions, uniforms, history):
    """To the next position: what was ``chosen`` is there, in ``ids`` and in the history, and may be followed.

    chosen, ids and positions i32[B]; drawn f32[B, S]: for each position the number that decides what follows it, which
    goes to uniforms f32[B]; history i32[B, S].  Positions are held below S.  Requires S >= 1.  Grid B.
    """
    b = ct.bid(0)
    after_the_one_ahead()
    token = ct.load(chosen, (b,), (1,))
    at = min(max(ct.load(positions, (b,), (1,)).item(), -1), history.shape[1] - 2) + 1
    ct.store(ids, (b,), token)
    ct.store(history, (b, at), token.reshape((1, 1)))
    ct.store(uniforms, (b,), ct.load(drawn, (b, at), (1, 1)).reshape((1,)))
    ct.store(positions, (b,), ct.full((1,), at, dtype=ct.int32))


@ct.kernel
def copy_rows(x, out, TILE_N: ConstInt):
    """``out = x``, both [R, N], where rows of either may lie apart, as where a cache grows.

    Grid (cdiv(N, TILE_N), R).
    """
    j, r = ct.bid(0), ct.bid(1)
    ct.store(out, (r, j), ct.load(x, (r, j), (1, TILE_N), padding_mode=ZERO).astype(out.dtype))
