"""Sums that may be started before the kernel ahead of them has ended: one that waits for it, and one that does not."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add_behind(x, y, out, TILE: ConstInt):
    ct.grid_dependency_control_launch_dependents()
    ct.grid_dependency_control_wait()
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, (i,), (TILE,)) + ct.load(y, (i,), (TILE,)))


@ct.kernel
def add_beside(x, y, out, TILE: ConstInt):
    ct.grid_dependency_control_launch_dependents()
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, (i,), (TILE,)) + ct.load(y, (i,), (TILE,)))
