"""The compiler is told that rows begin at multiples of 16, which rows of 24 elements do not."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_rows_of_24(out):
    first = ct.assume_divisible_by(ct.bid(0) * 24, 16)
    ct.scatter(out, (first + ct.arange(8, dtype=ct.int32),), 1)


@ct.kernel
def fill_rows_of_32(out):
    first = ct.assume_divisible_by(ct.bid(0) * 32, 16)
    ct.scatter(out, (first + ct.arange(8, dtype=ct.int32),), 1)
