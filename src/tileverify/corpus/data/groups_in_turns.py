"""Persistent blocks take tiles of groups of rows in turns, or of a group that begins too early."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add_bias_by_group(x, sizes, biases, chosen, y, GROUPS: ConstInt, SLOTS: ConstInt, TM: ConstInt, TN: ConstInt):
    columns = ct.num_tiles(x, axis=1, shape=(1, TN))
    bias = ct.load(biases, (chosen, 0), (1, TN))
    for slot in range(SLOTS):
        tile = ct.bid(0) + slot * ct.num_blocks(0)
        first = 0
        before = 0
        local = 0
        found = 0
        for group in range(GROUPS):
            size = ct.load(sizes, (group,), shape=())
            tiles = ct.cdiv(size, TM) * columns
            if tile < before + tiles:
                if found == 0:
                    found = size
                    local = tile - before
            if tile >= before + tiles:
                first = first + size
            before = before + tiles
        if found > 0:
            row = (local // columns) * TM + ct.arange(TM, dtype=ct.int32)
            col = (local % columns) * TN + ct.arange(TN, dtype=ct.int32)
            at = ct.where(row < found, first + row, x.shape[0])
            values = ct.gather(x, (at[:, None], col[None, :]), padding_value=0.0)
            ct.scatter(y, (at[:, None], col[None, :]), values + bias)


@ct.kernel
def add_bias_to_first_group(x, sizes, biases, chosen, y, GROUPS: ConstInt, SLOTS: ConstInt, TM: ConstInt, TN: ConstInt):
    columns = ct.num_tiles(x, axis=1, shape=(1, TN))
    bias = ct.load(biases, (chosen, 0), (1, TN))
    for slot in range(SLOTS):
        tile = ct.bid(0) + slot * ct.num_blocks(0)
        first = 0
        before = 0
        local = 0
        found = 0
        for group in range(GROUPS):
            size = ct.load(sizes, (group,), shape=())
            tiles = ct.cdiv(size, TM) * columns
            if tile < before + tiles:
                if found == 0:
                    found = size
                    local = tile - before
            if tile >= before + tiles + columns:
                first = first + size
            before = before + tiles
        if found > 0:
            row = (local // columns) * TM + ct.arange(TM, dtype=ct.int32)
            col = (local % columns) * TN + ct.arange(TN, dtype=ct.int32)
            at = ct.where(row < found, first + row, x.shape[0])
            values = ct.gather(x, (at[:, None], col[None, :]), padding_value=0.0)
            ct.scatter(y, (at[:, None], col[None, :]), values + bias)
