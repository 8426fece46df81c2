"""Facts on index arrays, counted where the arrays lie: kernels that are verified like any other before they run.

Every kernel adds up the elements that keep the fact, so that a kernel that did not run says no.  ``kept`` has one
element, 0 before; an element counts if it is one of the array's.
"""

from __future__ import annotations

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def in_range(values, low: int, high: int, kept, TILE: ConstInt):
    """``low <= values[i] < high``"""
    places = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    value = ct.gather(values, (places,), padding_value=0)
    keeps = (places < values.shape[0]) & (value >= low) & (value < high)
    ct.atomic_add(kept, (0,), ct.sum(keeps.astype(ct.int32)))


@ct.kernel
def nondecreasing(values, kept, TILE: ConstInt):
    """``values[i] <= values[i + 1]``, and the last element."""
    places = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    value = ct.gather(values, (places,), padding_value=0)
    following = ct.gather(values, (places + 1,), padding_value=0)
    last = places == values.shape[0] - 1
    keeps = (places < values.shape[0]) & (last | (value <= following))
    ct.atomic_add(kept, (0,), ct.sum(keeps.astype(ct.int32)))


@ct.kernel
def first_of_its_kind(values, low: int, marks, kept, TILE: ConstInt):
    """No earlier mark at ``values[i] - low``; what has no place among the marks, which are 0 before, keeps nothing."""
    places = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    value = ct.gather(values, (places,), padding_value=0)
    inside = (places < values.shape[0]) & (value >= low) & (value - low < marks.shape[0])
    mark = ct.where(inside, value - low, -1)
    before = ct.where(inside, ct.atomic_add(marks, (mark,), 1), 1)
    keeps = before == 0
    ct.atomic_add(kept, (0,), ct.sum(keeps.astype(ct.int32)))
