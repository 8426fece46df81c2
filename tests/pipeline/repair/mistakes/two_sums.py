"""The step backward through a layer norm: all rows add to the gradients of weight and bias."""

import cuda.tile as ct


@ct.kernel
def layer_norm_backward(dy, x_hat, dw, db, TILE: ct.Constant[int]):
    row = ct.bid(0)
    col = ct.bid(1)
    g = ct.load(dy, index=(row, col), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO)
    h = ct.load(x_hat, index=(row, col), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO)
    old_dw = ct.load(dw, index=(0, col), shape=(1, TILE))
    ct.store(dw, index=(0, col), tile=old_dw + g * h)
    old_db = ct.load(db, index=(0, col), shape=(1, TILE))
    ct.store(db, index=(0, col), tile=old_db + g)
