"""Reads the column that a label names; one number stands for rows without a label."""

import cuda.tile as ct


@ct.kernel
def pick_labelled(x, labels, out, ignored):
    i = ct.bid(0)
    label = ct.load(labels, index=(i,), shape=()).item()
    if label == ignored:
        ct.scatter(out, i, ct.astype(0.0, out.dtype))
        return
    ct.scatter(out, i, ct.gather(x, (i, label), check_bounds=False))
