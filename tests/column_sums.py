"""A kernel that is proved and that the assembler gets wrong: threads that hold one element add to it, unordered."""

from __future__ import annotations

from typing import Final

ADD_COLUMN_SUMS: Final = """@ct.kernel
def add_column_sums(x, out, M: ct.Constant[int], N: ct.Constant[int]):
    j = ct.bid(0)
    sums = ct.sum(ct.load(x, index=(0, j), shape=(M, N)), axis=0)
    ct.store(out, index=(j,), tile=ct.load(out, index=(j,), shape=(N,)) + sums)
"""
ADD_COLUMN_SUMS_REVERSED: Final = """@ct.kernel
def turn_round(x, out, M: ct.Constant[int], N: ct.Constant[int]):
    j = ct.bid(0)
    sums = ct.sum(ct.load(x, index=(0, j), shape=(M, N)), axis=0)
    places = j * N + (N - 1 - ct.arange(N, dtype=ct.int32))
    ct.store(out, index=(j,), tile=ct.gather(out, places) + sums)
"""
