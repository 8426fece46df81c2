"""Functions of the rows of a matrix: ROWS of them a tile, COLUMNS the next power of two of their length.

A block takes every tile that is a multiple of the grid away from its first, so that the next rows are fetched while it
computes; with as many blocks as tiles it takes one.  Sums are of binary32.  Where a row is shorter than its tile, the
tile is padded with what does not change the result.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]

LOG2_E = 1.4426950408889634


@ct.kernel
def softmax(x, out, ROWS: ConstInt, COLUMNS: ConstInt):
    for i in range(ct.bid(0), ct.cdiv(x.shape[0], ROWS), ct.num_blocks(0)):
        tile = ct.load(x, (i, 0), (ROWS, COLUMNS), padding_mode=ct.PaddingMode.NEG_INF)
        tile = ct.astype(tile, ct.float32)
        largest = ct.max(tile, axis=1, keepdims=True)
        powers = ct.exp2((tile - largest) * LOG2_E, flush_to_zero=True)
        ct.store(out, (i, 0), ct.astype(powers * (1.0 / ct.sum(powers, axis=1, keepdims=True)), out.dtype))


@ct.kernel
def rms_norm(x, weight, out, eps: float, ROWS: ConstInt, COLUMNS: ConstInt):
    """out = x / sqrt(mean(x²) + eps) * weight"""
    factors = ct.astype(ct.load(weight, (0,), (COLUMNS,)), ct.float32)[None, :]
    for i in range(ct.bid(0), ct.cdiv(x.shape[0], ROWS), ct.num_blocks(0)):
        tile = ct.astype(ct.load(x, (i, 0), (ROWS, COLUMNS), padding_mode=ct.PaddingMode.ZERO), ct.float32)
        scale = ct.rsqrt(ct.sum(tile * tile, axis=1, keepdims=True) / x.shape[1] + eps)
        ct.store(out, (i, 0), ct.astype(tile * scale * factors, out.dtype))


@ct.kernel
def layer_norm(x, weight, bias, out, eps: float, ROWS: ConstInt, COLUMNS: ConstInt):
    """out = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias"""
    columns = x.shape[1]
    inside = ct.arange(COLUMNS, dtype=ct.int32)[None, :] < columns
    factors = ct.astype(ct.load(weight, (0,), (COLUMNS,)), ct.float32)[None, :]
    added = ct.astype(ct.load(bias, (0,), (COLUMNS,)), ct.float32)[None, :]
    for i in range(ct.bid(0), ct.cdiv(x.shape[0], ROWS), ct.num_blocks(0)):
        tile = ct.astype(ct.load(x, (i, 0), (ROWS, COLUMNS), padding_mode=ct.PaddingMode.ZERO), ct.float32)
        centred = ct.where(inside, tile - ct.sum(tile, axis=1, keepdims=True) / columns, 0.0)
        scale = ct.rsqrt(ct.sum(centred * centred, axis=1, keepdims=True) / columns + eps)
        ct.store(out, (i, 0), ct.astype(centred * scale * factors + added, out.dtype))
