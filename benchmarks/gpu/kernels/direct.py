"""Functions of rows and sums whose threads load and store themselves, 16 bytes at a time, and whole tiles unchecked.

What tileiras 13.4 makes of a tile for sm_90, as its machine code shows:

* By default a tile is stored by TMA: laid out in shared memory, and copied from there in boxes, by four more warps.
  For functions that move rows once that costs more than it brings (``allow_tma=False``).
* A load that has to look for the array's end is a branch.  What converts 16 bits to 32 goes into the branch and waits
  there for the load, so that the loads of a thread come one after the other.  Where rows fill their tile nothing has to
  be looked for (``check_bounds=False``, which the proof has to show); these take a path of their own.

``*_once``: a block for each tile of ROWS rows, COLUMNS the next power of two of their length.  ``*_three``: a block
for each row, in three tiles of COLUMNS.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]

LOG2_E = 1.4426950408889634


@ct.kernel
def add_direct(x, y, out, TILE: ConstInt):
    i = ct.bid(0)
    total = ct.load(x, (i,), (TILE,), allow_tma=False) + ct.load(y, (i,), (TILE,), allow_tma=False)
    ct.store(out, (i,), total, allow_tma=False)


# ------------------------------------------------------------------------------------------------ tiles of rows
def fills(x, ROWS, COLUMNS):
    """Whether tiles are whole."""
    return x.shape[1] == COLUMNS and x.shape[0] % ROWS == 0


def row_tile(x, i, j, ROWS, COLUMNS, CHECKED, padding):
    if CHECKED:  # tileiras 13.4 takes no padding where there is nothing to look for
        tile = ct.load(x, (i, j), (ROWS, COLUMNS), padding_mode=padding, allow_tma=False)
    else:
        tile = ct.load(x, (i, j), (ROWS, COLUMNS), check_bounds=False, allow_tma=False)
    return ct.astype(tile, ct.float32)


def of_all_rows(weight, j, COLUMNS, CHECKED):
    if CHECKED:
        tile = ct.load(weight, (j,), (COLUMNS,), padding_mode=ct.PaddingMode.ZERO, allow_tma=False)
    else:
        tile = ct.load(weight, (j,), (COLUMNS,), check_bounds=False, allow_tma=False)
    return ct.astype(tile, ct.float32)[None, :]


def put(out, i, j, tile, CHECKED):
    ct.store(out, (i, j), ct.astype(tile, out.dtype), check_bounds=CHECKED, allow_tma=False)


def total(tile):
    return ct.sum(tile, axis=1, keepdims=True)


def powers(tile, largest):
    return ct.exp2((tile - largest) * LOG2_E, flush_to_zero=True)


# ------------------------------------------------------------------------------------------------------ softmax
def softmax_of_tile(x, out, i, ROWS, COLUMNS, CHECKED):
    tile = row_tile(x, i, 0, ROWS, COLUMNS, CHECKED, ct.PaddingMode.NEG_INF)
    tile = powers(tile, ct.max(tile, axis=1, keepdims=True))
    put(out, i, 0, tile * (1.0 / total(tile)), CHECKED)


@ct.kernel
def softmax_once(x, out, ROWS: ConstInt, COLUMNS: ConstInt):
    if fills(x, ROWS, COLUMNS):
        softmax_of_tile(x, out, ct.bid(0), ROWS, COLUMNS, False)
    else:
        softmax_of_tile(x, out, ct.bid(0), ROWS, COLUMNS, True)


def softmax_of_three(x, out, i, COLUMNS, CHECKED):
    one = row_tile(x, i, 0, 1, COLUMNS, CHECKED, ct.PaddingMode.NEG_INF)
    two = row_tile(x, i, 1, 1, COLUMNS, CHECKED, ct.PaddingMode.NEG_INF)
    three = row_tile(x, i, 2, 1, COLUMNS, CHECKED, ct.PaddingMode.NEG_INF)
    largest = ct.max(ct.maximum(ct.maximum(one, two), three), axis=1, keepdims=True)
    one, two, three = powers(one, largest), powers(two, largest), powers(three, largest)
    share = 1.0 / total(one + two + three)
    put(out, i, 0, one * share, CHECKED)
    put(out, i, 1, two * share, CHECKED)
    put(out, i, 2, three * share, CHECKED)


@ct.kernel
def softmax_three(x, out, ROWS: ConstInt, COLUMNS: ConstInt):
    if x.shape[1] == 3 * COLUMNS:
        softmax_of_three(x, out, ct.bid(0), COLUMNS, False)
    else:
        softmax_of_three(x, out, ct.bid(0), COLUMNS, True)


# ----------------------------------------------------------------------------------------------------- rms norm
def rms_norm_of_tile(x, factors, out, i, share, eps, ROWS, COLUMNS, CHECKED):
    tile = row_tile(x, i, 0, ROWS, COLUMNS, CHECKED, ct.PaddingMode.ZERO)
    scale = ct.rsqrt(total(tile * tile) * share + eps, flush_to_zero=True)
    put(out, i, 0, tile * scale * factors, CHECKED)


@ct.kernel
def rms_norm_once(x, weight, out, eps: float, ROWS: ConstInt, COLUMNS: ConstInt):
    """out = x / sqrt(mean(x²) + eps) * weight"""
    i, share = ct.bid(0), 1.0 / x.shape[1]
    if fills(x, ROWS, COLUMNS):
        rms_norm_of_tile(x, of_all_rows(weight, 0, COLUMNS, False), out, i, share, eps, ROWS, COLUMNS, False)
    else:
        rms_norm_of_tile(x, of_all_rows(weight, 0, COLUMNS, True), out, i, share, eps, ROWS, COLUMNS, True)


def rms_norm_of_three(x, weight, out, eps, i, COLUMNS, CHECKED):
    one = row_tile(x, i, 0, 1, COLUMNS, CHECKED, ct.PaddingMode.ZERO)
    two = row_tile(x, i, 1, 1, COLUMNS, CHECKED, ct.PaddingMode.ZERO)
    three = row_tile(x, i, 2, 1, COLUMNS, CHECKED, ct.PaddingMode.ZERO)
    squares = one * one + two * two + three * three
    scale = ct.rsqrt(total(squares) * (1.0 / x.shape[1]) + eps, flush_to_zero=True)
    put(out, i, 0, one * scale * of_all_rows(weight, 0, COLUMNS, CHECKED), CHECKED)
    put(out, i, 1, two * scale * of_all_rows(weight, 1, COLUMNS, CHECKED), CHECKED)
    put(out, i, 2, three * scale * of_all_rows(weight, 2, COLUMNS, CHECKED), CHECKED)


@ct.kernel
def rms_norm_three(x, weight, out, eps: float, ROWS: ConstInt, COLUMNS: ConstInt):
    if x.shape[1] == 3 * COLUMNS:
        rms_norm_of_three(x, weight, out, eps, ct.bid(0), COLUMNS, False)
    else:
        rms_norm_of_three(x, weight, out, eps, ct.bid(0), COLUMNS, True)


# --------------------------------------------------------------------------------------------------- layer norm
def centred(tile, mean, first, columns, COLUMNS, CHECKED):
    """Distances from the mean, 0 beyond the row."""
    if not CHECKED:
        return tile - mean
    return ct.where(first + ct.arange(COLUMNS, dtype=ct.int32)[None, :] < columns, tile - mean, 0.0)


def layer_norm_of_tile(x, factors, added, out, i, share, eps, ROWS, COLUMNS, CHECKED):
    tile = row_tile(x, i, 0, ROWS, COLUMNS, CHECKED, ct.PaddingMode.ZERO)
    tile = centred(tile, total(tile) * share, 0, x.shape[1], COLUMNS, CHECKED)
    scale = ct.rsqrt(total(tile * tile) * share + eps, flush_to_zero=True)
    put(out, i, 0, tile * scale * factors + added, CHECKED)


@ct.kernel
def layer_norm_once(x, weight, bias, out, eps: float, ROWS: ConstInt, COLUMNS: ConstInt):
    """out = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias"""
    i, share = ct.bid(0), 1.0 / x.shape[1]
    if fills(x, ROWS, COLUMNS):
        factors, added = of_all_rows(weight, 0, COLUMNS, False), of_all_rows(bias, 0, COLUMNS, False)
        layer_norm_of_tile(x, factors, added, out, i, share, eps, ROWS, COLUMNS, False)
    else:
        factors, added = of_all_rows(weight, 0, COLUMNS, True), of_all_rows(bias, 0, COLUMNS, True)
        layer_norm_of_tile(x, factors, added, out, i, share, eps, ROWS, COLUMNS, True)


def scaled(tile, scale, weight, bias, j, COLUMNS, CHECKED):
    return tile * scale * of_all_rows(weight, j, COLUMNS, CHECKED) + of_all_rows(bias, j, COLUMNS, CHECKED)


def layer_norm_of_three(x, weight, bias, out, eps, i, COLUMNS, CHECKED):
    columns, share = x.shape[1], 1.0 / x.shape[1]
    one = row_tile(x, i, 0, 1, COLUMNS, CHECKED, ct.PaddingMode.ZERO)
    two = row_tile(x, i, 1, 1, COLUMNS, CHECKED, ct.PaddingMode.ZERO)
    three = row_tile(x, i, 2, 1, COLUMNS, CHECKED, ct.PaddingMode.ZERO)
    mean = total(one + two + three) * share
    one = centred(one, mean, 0, columns, COLUMNS, CHECKED)
    two = centred(two, mean, COLUMNS, columns, COLUMNS, CHECKED)
    three = centred(three, mean, 2 * COLUMNS, columns, COLUMNS, CHECKED)
    squares = one * one + two * two + three * three
    scale = ct.rsqrt(total(squares) * share + eps, flush_to_zero=True)
    put(out, i, 0, scaled(one, scale, weight, bias, 0, COLUMNS, CHECKED), CHECKED)
    put(out, i, 1, scaled(two, scale, weight, bias, 1, COLUMNS, CHECKED), CHECKED)
    put(out, i, 2, scaled(three, scale, weight, bias, 2, COLUMNS, CHECKED), CHECKED)


@ct.kernel
def layer_norm_three(x, weight, bias, out, eps: float, ROWS: ConstInt, COLUMNS: ConstInt):
    if x.shape[1] == 3 * COLUMNS:
        layer_norm_of_three(x, weight, bias, out, eps, ct.bid(0), COLUMNS, False)
    else:
        layer_norm_of_three(x, weight, bias, out, eps, ct.bid(0), COLUMNS, True)
