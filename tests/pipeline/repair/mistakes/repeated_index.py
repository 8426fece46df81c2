"""Writes a row of a table for each token, at the position that the token names."""

import cuda.tile as ct


@ct.kernel
def put(positions, values, table, TILE: ct.Constant[int]):
    p = ct.load(positions, index=(ct.bid(0),), shape=(TILE,))
    v = ct.load(values, index=(ct.bid(0),), shape=(TILE,))
    ct.scatter(table, p, v)
