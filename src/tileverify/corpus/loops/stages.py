"""Loops whose blocks own a few tiles and come back to each of them: rings, swapped buffers, a cursor."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def ring_of_three(out, rounds, TILE: ConstInt):
    stage = 0
    for k in range(rounds):
        ct.store(out, index=(ct.bid(0) * 3 + stage,), tile=ct.full((TILE,), k, dtype=out.dtype))
        stage = (stage + 1) % 3


@ct.kernel
def ring_with_a_slip(out, rounds, TILE: ConstInt):
    stage = 0
    for k in range(rounds):
        ct.store(out, index=(ct.bid(0) * 3 + stage,), tile=ct.full((TILE,), k, dtype=out.dtype))
        stage += 1
        if stage > 3:
            stage = 0


@ct.kernel
def swapped_buffers(out, rounds, TILE: ConstInt):
    front = ct.bid(0) * 2
    back = front + 1
    for k in range(rounds):
        ct.store(out, index=(front,), tile=ct.full((TILE,), k, dtype=out.dtype))
        front, back = back, front


@ct.kernel
def cursor(out, rounds, columns, TILE: ConstInt):
    column = 0
    for k in range(rounds):
        ct.store(out, index=(ct.bid(0), column), tile=ct.full((1, TILE), k, dtype=out.dtype))
        column += 1
        if column == columns:
            column = 0


@ct.kernel
def cursor_with_a_slip(out, rounds, columns, TILE: ConstInt):
    column = 0
    for k in range(rounds):
        ct.store(out, index=(ct.bid(0), column), tile=ct.full((1, TILE), k, dtype=out.dtype))
        if column == columns:
            column = 0
        else:
            column += 1
