"""A tile is loaded with its axes turned; `index` and `shape` go by the turned axes, not by those of the array.

Written as if they did not, the number of the tile runs along the wrong axis.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def turn_keys(keys, out, ROWS: ConstInt, WIDTH: ConstInt):
    i = ct.bid(0)
    tile = ct.load(keys, index=(i, 0), shape=(ROWS, WIDTH), order=(1, 0))
    ct.store(out, index=(0, i), tile=tile.reshape((WIDTH, ROWS)))


@ct.kernel
def turn_keys_by_turned_index(keys, out, ROWS: ConstInt, WIDTH: ConstInt):
    i = ct.bid(0)
    tile = ct.load(keys, index=(0, i), shape=(WIDTH, ROWS), order=(1, 0))
    ct.store(out, index=(0, i), tile=tile)
