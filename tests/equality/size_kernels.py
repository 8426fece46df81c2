"""Kernels that are ``2 * x`` but where several sizes, or a size and a block, are large: none tells by itself."""

import cuda.tile as ct

import tileverify

ARGUMENTS = {"x": "f32[M, N]", "out": "f32[M, N]"}
GRID = ["M", "cdiv(N, 128)"]


def _row(x):
    return ct.load(x, (ct.bid(0), ct.bid(1)), (1, 128), padding_mode=ct.PaddingMode.ZERO)


def _put(out, row):
    ct.store(out, (ct.bid(0), ct.bid(1)), row)


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def nothing_beyond_two_sizes(x, out):
    if x.shape[0] <= 70 or x.shape[1] <= 90:
        _put(out, 2.0 * _row(x))


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def by_the_quotients_of_two_sizes(x, out):
    _put(out, 2.0 * _row(x) + (x.shape[0] // 71) * (x.shape[1] // 91))


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def in_late_blocks_of_wide_rows(x, out):
    _put(out, ct.where((ct.bid(0) > 70) & (x.shape[1] > 90), 0.0, 2.0 * _row(x)))


@tileverify.launch(args=ARGUMENTS, grid=GRID, requires=["M <= 50"])
@ct.kernel
def where_one_of_them_is_limited(x, out):
    _put(out, 2.0 * _row(x) + (x.shape[0] // 41) * (x.shape[1] // 91))


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def nothing_beyond_sizes_that_are_too_large(x, out):
    if x.shape[0] <= 70000 or x.shape[1] <= 90000:
        _put(out, 2.0 * _row(x))


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def chosen_by_a_block_that_is_too_late(x, out):
    _put(out, ct.where(ct.bid(0) > 1000000, 0.0, 2.0 * _row(x)))


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def changed_in_a_loop_that_is_never_entered(x, out):
    row = 2.0 * _row(x)
    for _ in range(x.shape[0] // 1000000):
        row = row * 3.0
    _put(out, row)


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def by_a_remainder(x, out):
    row = _row(x)
    _put(out, ct.where(ct.bid(0) % 2 == 0, 2.0 * row, row + row))
