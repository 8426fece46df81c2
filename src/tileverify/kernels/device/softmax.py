"""Softmax, its logarithm and cross entropy over rows, forward and backward.

Rows of any length are walked in tiles of columns: once for their largest number and the sum of exponentials, both kept
for each column of the tile and rescaled as larger numbers come (online), and once for what is written.  `softmax_short`
and `softmax_row` keep a whole row in a tile, `softmax_three` in three; `norms` says why they load and store as they do.

Four blocks are to share a multiprocessor: where the compiler chooses, a block that adds up rows takes all registers.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]

LOWEST = -1.0e30
"""Below every number that comes in, and finite: a difference of two infinities is no number."""


def exp(x):
    """To a few units in the last place of float32, for which the device has an instruction."""
    return ct.exp2(x * 1.4426950408889634, flush_to_zero=True)


def take_in(highest, total, tile):
    """The running maxima and sums of exponentials, for each column, after one more tile."""
    now_highest = ct.maximum(highest, tile)
    lower = exp(ct.minimum(highest, tile) - now_highest)  # whichever it is, the other's exponential is 1
    return now_highest, ct.where(tile > highest, total * lower + 1.0, total + lower)


def of_rows(highest, total):
    """The maxima and sums of the rows, from those of their columns."""
    peak = ct.max(highest, axis=1, keepdims=True)
    return peak, ct.sum(total * exp(highest - peak), axis=1, keepdims=True)


def tile_of(x, place, shape):
    """In float32, 0 beyond the end."""
    return ct.load(x, place, shape, padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)


def column_of(x, i, TILE_M):
    """Numbers of rows, beside their tiles."""
    return ct.load(x, (i,), (TILE_M,), padding_mode=ct.PaddingMode.ZERO).reshape((TILE_M, 1))


def logits_of(x, i, j, TILE_M, TILE_N):
    """A tile of what exponentials are taken of, in float32: they are 0 beyond the row."""
    return ct.load(x, (i, j), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)


def along_rows(x, out, TILE_M, TILE_N, of_weight, function):
    """``out = function(x, max(x), of_weight(sum(exp(x - max(x)))))`` for each row."""
    i = ct.bid(0)
    tiles = ct.num_tiles(x, axis=1, shape=(TILE_M, TILE_N))
    highest = ct.full((TILE_M, TILE_N), LOWEST, dtype=ct.float32)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for j in range(tiles):
        highest, total = take_in(highest, total, logits_of(x, i, j, TILE_M, TILE_N))
    peak, weight = of_rows(highest, total)
    share = of_weight(weight)
    for j in range(tiles):
        ct.store(out, (i, j), function(logits_of(x, i, j, TILE_M, TILE_N), peak, share).astype(out.dtype))


def whole(x, TILE_M, COLUMNS):
    """Whether tiles that hold rows of so many columns are filled by them."""
    return x.shape[1] == COLUMNS and x.shape[0] % TILE_M == 0


def row_tile(x, i, j, TILE_M, TILE_N, CHECKED):
    """A tile of rows, in float32."""
    if CHECKED:  # tileiras takes no padding where there is no border
        tile = ct.load(x, (i, j), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.NEG_INF, allow_tma=False)
    else:
        tile = ct.load(x, (i, j), (TILE_M, TILE_N), check_bounds=False, allow_tma=False)
    return tile.astype(ct.float32)


def put(out, i, j, tile, CHECKED):
    ct.store(out, (i, j), tile.astype(out.dtype), check_bounds=CHECKED, allow_tma=False)


def in_tile(x, out, TILE_M, TILE_N, CHECKED):
    i = ct.bid(0)
    tile = row_tile(x, i, 0, TILE_M, TILE_N, CHECKED)
    shifted = exp(tile - ct.maximum(ct.max(tile, axis=1, keepdims=True), LOWEST))
    put(out, i, 0, shifted * (1.0 / ct.sum(shifted, axis=1, keepdims=True)), CHECKED)


def fitting(function, COLUMNS, x, out, TILE_M, TILE_N):
    """``function`` of rows that fit so many columns, without a look for borders where they fill them."""
    if whole(x, TILE_M, COLUMNS):
        function(x, out, TILE_M, TILE_N, False)
    else:
        function(x, out, TILE_M, TILE_N, True)


def in_three_tiles(x, out, TILE_M, TILE_N, CHECKED):
    i = ct.bid(0)
    one, two = row_tile(x, i, 0, TILE_M, TILE_N, CHECKED), row_tile(x, i, 1, TILE_M, TILE_N, CHECKED)
    three = row_tile(x, i, 2, TILE_M, TILE_N, CHECKED)
    highest = ct.max(ct.maximum(ct.maximum(one, two), three), axis=1, keepdims=True)
    peak = ct.maximum(highest, LOWEST)
    one, two, three = exp(one - peak), exp(two - peak), exp(three - peak)
    share = 1.0 / ct.sum(one + two + three, axis=1, keepdims=True)
    put(out, i, 0, one * share, CHECKED)
    put(out, i, 1, two * share, CHECKED)
    put(out, i, 2, three * share, CHECKED)


@ct.kernel(occupancy=8, num_worker_warps=4)
def softmax_short(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """``out = exp(x - max(x)) / sum(exp(x - max(x)))`` for rows that fit a tile: ``N <= TILE_N``.

    x, out (M, N).  Grid: cdiv(M, TILE_M).
    """
    fitting(in_tile, TILE_N, x, out, TILE_M, TILE_N)


@ct.kernel(occupancy=3, num_worker_warps=8)
def softmax_row(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """`softmax_short` with the registers for long rows.

    x, out (M, N).  Grid: cdiv(M, TILE_M).
    """
    fitting(in_tile, TILE_N, x, out, TILE_M, TILE_N)


@ct.kernel(occupancy=3, num_worker_warps=8)
def softmax_three(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """`softmax_short` of rows that fit three tiles, and no two: ``2 * TILE_N < N <= 3 * TILE_N``.

    x, out (M, N).  Grid: cdiv(M, TILE_M).
    """
    fitting(in_three_tiles, 3 * TILE_N, x, out, TILE_M, TILE_N)


@ct.kernel(occupancy=4)
def softmax(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """``out = exp(x - max(x)) / sum(exp(x - max(x)))`` for rows of any length.

    x, out (M, N).  Grid: cdiv(M, TILE_M).
    """
    along_rows(x, out, TILE_M, TILE_N, lambda weight: 1.0 / weight, lambda t, peak, share: exp(t - peak) * share)


@ct.kernel(occupancy=4)
def softmax_backward(dout, out, dx, TILE_M: ConstInt, TILE_N: ConstInt):
    """``dx = out * (dout - sum(out * dout))``

    dout, out, dx (M, N); out as `softmax` wrote it.  Grid: cdiv(M, TILE_M).
    """
    i = ct.bid(0)
    tiles = ct.num_tiles(out, axis=1, shape=(TILE_M, TILE_N))
    products = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for j in range(tiles):
        y, d = tile_of(out, (i, j), (TILE_M, TILE_N)), tile_of(dout, (i, j), (TILE_M, TILE_N))
        products += y * d
    inner = ct.sum(products, axis=1, keepdims=True)
    for j in range(tiles):
        y, d = tile_of(out, (i, j), (TILE_M, TILE_N)), tile_of(dout, (i, j), (TILE_M, TILE_N))
        ct.store(dx, (i, j), (y * (d - inner)).astype(dx.dtype))


@ct.kernel(occupancy=4)
def log_softmax(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """``out = x - max(x) - log(sum(exp(x - max(x))))``

    x, out (M, N).  Grid: cdiv(M, TILE_M).
    """
    along_rows(x, out, TILE_M, TILE_N, ct.log, lambda t, peak, shift: t - peak - shift)


@ct.kernel(occupancy=4)
def log_softmax_backward(dout, out, dx, TILE_M: ConstInt, TILE_N: ConstInt):
    """``dx = dout - exp(out) * sum(dout)``

    dout, out, dx (M, N); out as `log_softmax` wrote it.  Grid: cdiv(M, TILE_M).
    """
    i = ct.bid(0)
    tiles = ct.num_tiles(out, axis=1, shape=(TILE_M, TILE_N))
    gradients = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for j in range(tiles):
        gradients += tile_of(dout, (i, j), (TILE_M, TILE_N))
    total = ct.sum(gradients, axis=1, keepdims=True)
    for j in range(tiles):
        y, d = tile_of(out, (i, j), (TILE_M, TILE_N)), tile_of(dout, (i, j), (TILE_M, TILE_N))
        ct.store(dx, (i, j), (d - exp(y) * total).astype(dx.dtype))


@ct.kernel(occupancy=4)
def cross_entropy(logits, labels, loss, lse, TILE_M: ConstInt, TILE_N: ConstInt):
    """``lse = log(sum(exp(logits)))`` and ``loss = lse - logits[label]`` for each row; 0 where the label is negative.

    logits (M, V); labels (M), below V; loss, lse (M).  Grid: cdiv(M, TILE_M).
    """
    i = ct.bid(0)
    highest = ct.full((TILE_M, TILE_N), LOWEST, dtype=ct.float32)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for j in range(ct.num_tiles(logits, axis=1, shape=(TILE_M, TILE_N))):
        highest, total = take_in(highest, total, logits_of(logits, i, j, TILE_M, TILE_N))
    peak, weight = of_rows(highest, total)
    result = (peak + ct.log(weight)).reshape((TILE_M,))
    label = ct.load(labels, (i,), (TILE_M,), padding_mode=ct.PaddingMode.ZERO)
    rows = i * TILE_M + ct.arange(TILE_M, dtype=ct.int32)
    wanted = ct.gather(logits, (rows, label), padding_value=0).astype(ct.float32)
    ct.store(lse, (i,), result)
    ct.store(loss, (i,), ct.where(label >= 0, result - wanted, 0.0))


@ct.kernel
def cross_entropy_backward(dloss, logits, labels, lse, dlogits, TILE_M: ConstInt, TILE_N: ConstInt):
    """``dlogits = dloss * (exp(logits - lse) - (column == label))``, 0 where the label is negative.

    dloss, lse (M), lse as `cross_entropy` wrote it; logits, dlogits (M, V); labels (M).
    Grid: cdiv(V, TILE_N), cdiv(M, TILE_M).
    """
    j, i = ct.bid(0), ct.bid(1)
    label, shift, d = column_of(labels, i, TILE_M), column_of(lse, i, TILE_M), column_of(dloss, i, TILE_M)
    tile = tile_of(logits, (i, j), (TILE_M, TILE_N))
    columns = j * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
    result = exp(tile - shift) - ct.where(columns == label, 1.0, 0.0)
    ct.store(dlogits, (i, j), ct.where(label >= 0, d * result, 0.0).astype(dlogits.dtype))
