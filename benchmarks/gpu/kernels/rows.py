"""Functions of the rows of a matrix: ROWS of them a block, COLUMNS the next power of two of their length.

Sums are of binary32.  Where a row is shorter than its tile, the tile is padded with what does not change the result.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def softmax(x, out, ROWS: ConstInt, COLUMNS: ConstInt):
    i = ct.bid(0)
    tile = ct.load(x, (i, 0), (ROWS, COLUMNS), padding_mode=ct.PaddingMode.NEG_INF)
    tile = ct.astype(tile, ct.float32)
    powers = ct.exp(tile - ct.max(tile, axis=1, keepdims=True))
    ct.store(out, (i, 0), ct.astype(powers / ct.sum(powers, axis=1, keepdims=True), out.dtype))


@ct.kernel
def rms_norm(x, weight, out, eps: float, ROWS: ConstInt, COLUMNS: ConstInt):
    """out = x / sqrt(mean(x²) + eps) * weight"""
    i = ct.bid(0)
    tile = ct.astype(ct.load(x, (i, 0), (ROWS, COLUMNS), padding_mode=ct.PaddingMode.ZERO), ct.float32)
    scale = ct.rsqrt(ct.sum(tile * tile, axis=1, keepdims=True) / x.shape[1] + eps)
    factors = ct.astype(ct.load(weight, (0,), (COLUMNS,)), ct.float32)
    ct.store(out, (i, 0), ct.astype(tile * scale * factors[None, :], out.dtype))


@ct.kernel
def layer_norm(x, weight, bias, out, eps: float, ROWS: ConstInt, COLUMNS: ConstInt):
    """out = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias"""
    i = ct.bid(0)
    columns = x.shape[1]
    tile = ct.astype(ct.load(x, (i, 0), (ROWS, COLUMNS), padding_mode=ct.PaddingMode.ZERO), ct.float32)
    mean = ct.sum(tile, axis=1, keepdims=True) / columns
    inside = ct.arange(COLUMNS, dtype=ct.int32)[None, :] < columns
    centred = ct.where(inside, tile - mean, 0.0)
    scale = ct.rsqrt(ct.sum(centred * centred, axis=1, keepdims=True) / columns + eps)
    factors = ct.astype(ct.load(weight, (0,), (COLUMNS,)), ct.float32)
    added = ct.astype(ct.load(bias, (0,), (COLUMNS,)), ct.float32)
    ct.store(out, (i, 0), ct.astype(centred * scale * factors[None, :] + added[None, :], out.dtype))
