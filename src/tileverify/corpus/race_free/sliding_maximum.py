"""Maximum over overlapping windows: a strided view whose tiles overlap is read, never written."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def sliding_maximum(x, out, WINDOW: ConstInt, STEP: ConstInt):
    i = ct.bid(0)
    windows = x.tiled_view((WINDOW,), traversal_steps=(STEP,), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(out, index=(i,), tile=ct.max(windows.load((i,)), axis=0, keepdims=True))
