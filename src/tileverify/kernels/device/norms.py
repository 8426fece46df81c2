"""Normalisation of rows, forward and backward: root mean square, layer normalisation, and heads of queries and keys.

Rows of any length are walked in tiles of columns; kernels whose names end in ``_short`` or ``_row`` keep a whole row in
a tile, those in ``_three`` in three, and read it once.  Gradients of weights come from two launches, without atomics
and so with the same result in every run: one here adds up groups of rows, and `column_sums` of `moving` the groups.

What reads rows once is as fast as memory only if threads load and store themselves: what tileiras 13.4 makes of a store
by TMA waits for shared memory (``allow_tma=False``).  A load that looks for the end of an array is a branch, in which
16-bit numbers are also converted, so that one load waits for the other; where rows fill their tile, nothing is looked
for (``check_bounds=False``, which the proof has to show).

Statistics are taken in float32, whatever the element types are.  Four blocks are to share a multiprocessor: where the
compiler chooses, a block that adds up rows takes all registers.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


def whole(x, TILE_M, COLUMNS):
    """Whether tiles that hold rows of so many columns are filled by them."""
    return x.shape[1] == COLUMNS and x.shape[0] % TILE_M == 0


def tile_of(x, place, shape):
    """In float32, 0 beyond the end."""
    return ct.load(x, place, shape, padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)


def column_of(x, i, TILE_M):
    """Numbers of rows, beside their tiles."""
    return ct.load(x, (i,), (TILE_M,), padding_mode=ct.PaddingMode.ZERO).reshape((TILE_M, 1))


def row_tile(x, i, j, TILE_M, TILE_N, CHECKED):
    """A tile of rows, in float32."""
    if CHECKED:  # tileiras takes no padding where there is no border
        tile = ct.load(x, (i, j), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.ZERO, allow_tma=False)
    else:
        tile = ct.load(x, (i, j), (TILE_M, TILE_N), check_bounds=False, allow_tma=False)
    return tile.astype(ct.float32)


def of_columns(weight, j, TILE_N, CHECKED):
    """Weights of the columns of a tile, in float32."""
    if CHECKED:
        tile = ct.load(weight, (j,), (TILE_N,), padding_mode=ct.PaddingMode.ZERO, allow_tma=False)
    else:
        tile = ct.load(weight, (j,), (TILE_N,), check_bounds=False, allow_tma=False)
    return tile.astype(ct.float32)


def centred(tile, mean, j, columns, TILE_N, CHECKED):
    """Distances from the mean, 0 beyond the row."""
    if not CHECKED:
        return tile - mean
    return ct.where(j * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :] < columns, tile - mean, 0.0)


def total(tile):
    return ct.sum(tile, axis=1, keepdims=True)


def put(out, i, j, tile, CHECKED):
    ct.store(out, (i, j), tile.astype(out.dtype), check_bounds=CHECKED, allow_tma=False)


def put_for_rows(out, i, values, TILE_M, CHECKED):
    ct.store(out, (i,), values.reshape((TILE_M,)), check_bounds=CHECKED, allow_tma=False)


def fitting(function, COLUMNS, x, others, TILE_M, TILE_N):
    """``function`` of rows that fit so many columns, without a look for borders where they fill them."""
    if whole(x, TILE_M, COLUMNS):
        function(x, *others, TILE_M, TILE_N, False)
    else:
        function(x, *others, TILE_M, TILE_N, True)


# ----------------------------------------------------------------------------------- rows that one tile holds
def rms_norm_in_tile(x, weight, out, rstd, eps, TILE_M, TILE_N, CHECKED):
    i = ct.bid(0)
    tile = row_tile(x, i, 0, TILE_M, TILE_N, CHECKED)
    w = of_columns(weight, 0, TILE_N, CHECKED)
    scale = ct.rsqrt(total(tile * tile) * (1.0 / x.shape[1]) + eps)
    put_for_rows(rstd, i, scale, TILE_M, CHECKED)
    put(out, i, 0, tile * scale * w, CHECKED)


def layer_norm_in_tile(x, weight, bias, out, mean, rstd, eps, TILE_M, TILE_N, CHECKED):
    i, n = ct.bid(0), x.shape[1]
    share = 1.0 / n
    tile = row_tile(x, i, 0, TILE_M, TILE_N, CHECKED)
    w, b = of_columns(weight, 0, TILE_N, CHECKED), of_columns(bias, 0, TILE_N, CHECKED)
    mu = total(tile) * share
    distance = centred(tile, mu, 0, n, TILE_N, CHECKED)
    scale = ct.rsqrt(total(distance * distance) * share + eps)
    put_for_rows(mean, i, mu, TILE_M, CHECKED)
    put_for_rows(rstd, i, scale, TILE_M, CHECKED)
    put(out, i, 0, distance * scale * w + b, CHECKED)


# ------------------------------------------------------------------------------- rows that three tiles hold
def rms_norm_in_three(x, weight, out, rstd, eps, TILE_M, TILE_N, CHECKED):
    i = ct.bid(0)
    one, two = row_tile(x, i, 0, TILE_M, TILE_N, CHECKED), row_tile(x, i, 1, TILE_M, TILE_N, CHECKED)
    three = row_tile(x, i, 2, TILE_M, TILE_N, CHECKED)
    squares = one * one + two * two + three * three
    scale = ct.rsqrt(total(squares) * (1.0 / x.shape[1]) + eps)
    put_for_rows(rstd, i, scale, TILE_M, CHECKED)
    put(out, i, 0, one * scale * of_columns(weight, 0, TILE_N, CHECKED), CHECKED)
    put(out, i, 1, two * scale * of_columns(weight, 1, TILE_N, CHECKED), CHECKED)
    put(out, i, 2, three * scale * of_columns(weight, 2, TILE_N, CHECKED), CHECKED)


def layer_norm_in_three(x, weight, bias, out, mean, rstd, eps, TILE_M, TILE_N, CHECKED):
    i, n = ct.bid(0), x.shape[1]
    share = 1.0 / n
    one, two = row_tile(x, i, 0, TILE_M, TILE_N, CHECKED), row_tile(x, i, 1, TILE_M, TILE_N, CHECKED)
    three = row_tile(x, i, 2, TILE_M, TILE_N, CHECKED)
    mu = total(one + two + three) * share
    one = centred(one, mu, 0, n, TILE_N, CHECKED)
    two = centred(two, mu, 1, n, TILE_N, CHECKED)
    three = centred(three, mu, 2, n, TILE_N, CHECKED)
    scale = ct.rsqrt(total(one * one + two * two + three * three) * share + eps)
    put_for_rows(mean, i, mu, TILE_M, CHECKED)
    put_for_rows(rstd, i, scale, TILE_M, CHECKED)
    put_weighted(out, i, 0, one * scale, weight, bias, TILE_N, CHECKED)
    put_weighted(out, i, 1, two * scale, weight, bias, TILE_N, CHECKED)
    put_weighted(out, i, 2, three * scale, weight, bias, TILE_N, CHECKED)


def put_weighted(out, i, j, tile, weight, bias, TILE_N, CHECKED):
    put(out, i, j, tile * of_columns(weight, j, TILE_N, CHECKED) + of_columns(bias, j, TILE_N, CHECKED), CHECKED)


# --------------------------------------------------------------------------------------------------- kernels
@ct.kernel(occupancy=4)
def rms_norm(x, weight, out, rstd, eps: float, TILE_M: ConstInt, TILE_N: ConstInt):
    """``out = x * rstd * weight`` with ``rstd = 1 / sqrt(mean(x^2) + eps)`` for each row.

    x, out (M, N); weight (N); rstd (M).  Grid: cdiv(M, TILE_M).
    """
    i = ct.bid(0)
    n = x.shape[1]
    tiles = ct.num_tiles(x, axis=1, shape=(TILE_M, TILE_N))
    squares = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for j in range(tiles):
        tile = tile_of(x, (i, j), (TILE_M, TILE_N))
        squares += tile * tile
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / n + eps)
    ct.store(rstd, (i,), scale.reshape((TILE_M,)))
    for j in range(tiles):
        tile, w = tile_of(x, (i, j), (TILE_M, TILE_N)), tile_of(weight, (j,), (TILE_N,))
        ct.store(out, (i, j), (tile * scale * w).astype(out.dtype))


@ct.kernel(occupancy=8, num_worker_warps=4)
def rms_norm_short(x, weight, out, rstd, eps: float, TILE_M: ConstInt, TILE_N: ConstInt):
    """`rms_norm` of rows that fit a tile: ``N <= TILE_N``.

    x, out (M, N); weight (N); rstd (M).  Grid: cdiv(M, TILE_M).
    """
    fitting(rms_norm_in_tile, TILE_N, x, (weight, out, rstd, eps), TILE_M, TILE_N)


@ct.kernel(occupancy=3, num_worker_warps=8)
def rms_norm_row(x, weight, out, rstd, eps: float, TILE_M: ConstInt, TILE_N: ConstInt):
    """`rms_norm` of rows that fit a tile, with the registers for long ones: ``N <= TILE_N``.

    x, out (M, N); weight (N); rstd (M).  Grid: cdiv(M, TILE_M).
    """
    fitting(rms_norm_in_tile, TILE_N, x, (weight, out, rstd, eps), TILE_M, TILE_N)


@ct.kernel(occupancy=3, num_worker_warps=8)
def rms_norm_three(x, weight, out, rstd, eps: float, TILE_M: ConstInt, TILE_N: ConstInt):
    """`rms_norm` of rows that fit three tiles, and no two: ``2 * TILE_N < N <= 3 * TILE_N``.

    x, out (M, N); weight (N); rstd (M).  Grid: cdiv(M, TILE_M).
    """
    fitting(rms_norm_in_three, 3 * TILE_N, x, (weight, out, rstd, eps), TILE_M, TILE_N)


@ct.kernel(occupancy=4)
def rms_norm_backward(dout, x, weight, rstd, dx, TILE_M: ConstInt, TILE_N: ConstInt):
    """``dx = rstd * (g - y * mean(g * y))`` with ``g = dout * weight`` and ``y = x * rstd``.

    dout, x, dx (M, N); weight (N); rstd (M), as `rms_norm` wrote it.  Grid: cdiv(M, TILE_M).
    """
    i = ct.bid(0)
    n = x.shape[1]
    tiles = ct.num_tiles(x, axis=1, shape=(TILE_M, TILE_N))
    scale = column_of(rstd, i, TILE_M)
    products = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for j in range(tiles):
        w = tile_of(weight, (j,), (TILE_N,))
        g = tile_of(dout, (i, j), (TILE_M, TILE_N)) * w
        y = tile_of(x, (i, j), (TILE_M, TILE_N)) * scale
        products += g * y
    mean = ct.sum(products, axis=1, keepdims=True) / n
    for j in range(tiles):
        w = tile_of(weight, (j,), (TILE_N,))
        g = tile_of(dout, (i, j), (TILE_M, TILE_N)) * w
        y = tile_of(x, (i, j), (TILE_M, TILE_N)) * scale
        ct.store(dx, (i, j), ((g - y * mean) * scale).astype(dx.dtype))


@ct.kernel(occupancy=4)
def rms_norm_weight_partials(dout, x, rstd, dweight, TILE_M: ConstInt, TILE_N: ConstInt):
    """Group g of rows: ``dweight[g] = sum of dout * x * rstd`` over every G-th tile of rows from the g-th on.

    dout, x (M, N); rstd (M); dweight (G, N), whose columns are then to be added up.  Grid: cdiv(N, TILE_N), G.
    """
    j, group = ct.bid(0), ct.bid(1)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for i in range(group, ct.num_tiles(x, axis=0, shape=(TILE_M, TILE_N)), ct.num_blocks(1)):
        scale = column_of(rstd, i, TILE_M)
        g, tile = tile_of(dout, (i, j), (TILE_M, TILE_N)), tile_of(x, (i, j), (TILE_M, TILE_N))
        total += g * tile * scale
    ct.store(dweight, (group, j), ct.sum(total, axis=0, keepdims=True))


@ct.kernel(occupancy=4)
def add_rms_norm(x, residual, weight, total, out, eps: float, TILE_M: ConstInt, TILE_N: ConstInt):
    """``total = x + residual``, and `rms_norm` of what is stored there.

    x, residual, total, out (M, N); weight (N).  Grid: cdiv(M, TILE_M).
    """
    i = ct.bid(0)
    n = x.shape[1]
    tiles = ct.num_tiles(x, axis=1, shape=(TILE_M, TILE_N))
    squares = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for j in range(tiles):
        a, b = tile_of(x, (i, j), (TILE_M, TILE_N)), tile_of(residual, (i, j), (TILE_M, TILE_N))
        added = (a + b).astype(total.dtype)
        ct.store(total, (i, j), added)
        tile = added.astype(ct.float32)
        squares += tile * tile
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / n + eps)
    # Added up again: to read the sums back, the block would have to wait until they are written.
    for j in range(tiles):
        a, b = tile_of(x, (i, j), (TILE_M, TILE_N)), tile_of(residual, (i, j), (TILE_M, TILE_N))
        tile = (a + b).astype(total.dtype).astype(ct.float32)
        w = tile_of(weight, (j,), (TILE_N,))
        ct.store(out, (i, j), (tile * scale * w).astype(out.dtype))


@ct.kernel(occupancy=4)
def add_rms_norm_short(x, residual, weight, total, out, eps: float, TILE_M: ConstInt, TILE_N: ConstInt):
    """`add_rms_norm` of rows that fit a tile: ``N <= TILE_N``.

    x, residual, total, out (M, N); weight (N).  Grid: any number of blocks; block b takes every grid.x-th tile of rows.
    """
    n = x.shape[1]
    w = tile_of(weight, (0,), (TILE_N,))
    for i in range(ct.bid(0), ct.num_tiles(x, axis=0, shape=(TILE_M, TILE_N)), ct.num_blocks(0)):
        a, b = tile_of(x, (i, 0), (TILE_M, TILE_N)), tile_of(residual, (i, 0), (TILE_M, TILE_N))
        added = (a + b).astype(total.dtype)
        ct.store(total, (i, 0), added)
        tile = added.astype(ct.float32)
        scale = ct.rsqrt(ct.sum(tile * tile, axis=1, keepdims=True) / n + eps)
        ct.store(out, (i, 0), (tile * scale * w).astype(out.dtype))


@ct.kernel(occupancy=4)
def layer_norm(x, weight, bias, out, mean, rstd, eps: float, TILE_M: ConstInt, TILE_N: ConstInt):
    """``out = (x - mean) * rstd * weight + bias`` with ``rstd = 1 / sqrt(var(x) + eps)`` for each row.

    x, out (M, N); weight, bias (N); mean, rstd (M).  Grid: cdiv(M, TILE_M).
    """
    i = ct.bid(0)
    n = x.shape[1]
    tiles = ct.num_tiles(x, axis=1, shape=(TILE_M, TILE_N))
    mu, spread = ct.zeros((TILE_M, 1), dtype=ct.float32), ct.zeros((TILE_M, 1), dtype=ct.float32)
    # Mean and squared distances of one tile after the other, merged: a plain sum of squares would cancel.
    for j in range(tiles):
        before = j * TILE_N
        count = min(TILE_N, n - before)
        tile = tile_of(x, (i, j), (TILE_M, TILE_N))
        own = ct.sum(tile, axis=1, keepdims=True) / count
        inside = ct.arange(TILE_N, dtype=ct.int32)[None, :] < count
        distance = ct.where(inside, tile - own, 0.0)
        step = own - mu
        share = ct.astype(count, ct.float32) / (before + count)
        spread += ct.sum(distance * distance, axis=1, keepdims=True) + step * step * share * before
        mu += step * share
    scale = ct.rsqrt(spread / n + eps)
    ct.store(mean, (i,), mu.reshape((TILE_M,)))
    ct.store(rstd, (i,), scale.reshape((TILE_M,)))
    for j in range(tiles):
        tile, w = tile_of(x, (i, j), (TILE_M, TILE_N)), tile_of(weight, (j,), (TILE_N,))
        b = tile_of(bias, (j,), (TILE_N,))
        ct.store(out, (i, j), ((tile - mu) * scale * w + b).astype(out.dtype))


@ct.kernel(occupancy=8, num_worker_warps=4)
def layer_norm_short(x, weight, bias, out, mean, rstd, eps: float, TILE_M: ConstInt, TILE_N: ConstInt):
    """`layer_norm` of rows that fit a tile: ``N <= TILE_N``.

    x, out (M, N); weight, bias (N); mean, rstd (M).  Grid: cdiv(M, TILE_M).
    """
    fitting(layer_norm_in_tile, TILE_N, x, (weight, bias, out, mean, rstd, eps), TILE_M, TILE_N)


@ct.kernel(occupancy=3, num_worker_warps=8)
def layer_norm_row(x, weight, bias, out, mean, rstd, eps: float, TILE_M: ConstInt, TILE_N: ConstInt):
    """`layer_norm` of rows that fit a tile, with the registers for long ones: ``N <= TILE_N``.

    x, out (M, N); weight, bias (N); mean, rstd (M).  Grid: cdiv(M, TILE_M).
    """
    fitting(layer_norm_in_tile, TILE_N, x, (weight, bias, out, mean, rstd, eps), TILE_M, TILE_N)


@ct.kernel(occupancy=3, num_worker_warps=8)
def layer_norm_three(x, weight, bias, out, mean, rstd, eps: float, TILE_M: ConstInt, TILE_N: ConstInt):
    """`layer_norm` of rows that fit three tiles, and no two: ``2 * TILE_N < N <= 3 * TILE_N``.

    x, out (M, N); weight, bias (N); mean, rstd (M).  Grid: cdiv(M, TILE_M).
    """
    fitting(layer_norm_in_three, 3 * TILE_N, x, (weight, bias, out, mean, rstd, eps), TILE_M, TILE_N)


@ct.kernel(occupancy=4)
def layer_norm_backward(dout, x, weight, mean, rstd, dx, TILE_M: ConstInt, TILE_N: ConstInt):
    """``dx = rstd * (g - mean(g) - y * mean(g * y))`` with ``g = dout * weight`` and ``y = (x - mean) * rstd``.

    dout, x, dx (M, N); weight (N); mean, rstd (M), as `layer_norm` wrote them.  Grid: cdiv(M, TILE_M).
    """
    i = ct.bid(0)
    n = x.shape[1]
    tiles = ct.num_tiles(x, axis=1, shape=(TILE_M, TILE_N))
    mu, scale = column_of(mean, i, TILE_M), column_of(rstd, i, TILE_M)
    gradients, products = ct.zeros((TILE_M, TILE_N), dtype=ct.float32), ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for j in range(tiles):
        w = tile_of(weight, (j,), (TILE_N,))
        g = tile_of(dout, (i, j), (TILE_M, TILE_N)) * w
        tile = tile_of(x, (i, j), (TILE_M, TILE_N))
        gradients += g
        products += g * ((tile - mu) * scale)  # g is 0 beyond the row
    first = ct.sum(gradients, axis=1, keepdims=True) / n
    second = ct.sum(products, axis=1, keepdims=True) / n
    for j in range(tiles):
        w = tile_of(weight, (j,), (TILE_N,))
        g = tile_of(dout, (i, j), (TILE_M, TILE_N)) * w
        tile = tile_of(x, (i, j), (TILE_M, TILE_N))
        result = (g - first - (tile - mu) * scale * second) * scale
        ct.store(dx, (i, j), result.astype(dx.dtype))


@ct.kernel(occupancy=4)
def layer_norm_weight_partials(dout, x, mean, rstd, dweight, dbias, TILE_M: ConstInt, TILE_N: ConstInt):
    """Group g of rows: ``dweight[g] = sum of dout * y``, ``dbias[g] = sum of dout`` over every G-th tile of rows.

    dout, x (M, N); mean, rstd (M); dweight, dbias (G, N), whose columns are then to be added up.
    Grid: cdiv(N, TILE_N), G.
    """
    j, group = ct.bid(0), ct.bid(1)
    products, gradients = ct.zeros((TILE_M, TILE_N), dtype=ct.float32), ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for i in range(group, ct.num_tiles(x, axis=0, shape=(TILE_M, TILE_N)), ct.num_blocks(1)):
        mu, scale = column_of(mean, i, TILE_M), column_of(rstd, i, TILE_M)
        g, tile = tile_of(dout, (i, j), (TILE_M, TILE_N)), tile_of(x, (i, j), (TILE_M, TILE_N))
        gradients += g
        products += g * ((tile - mu) * scale)
    ct.store(dweight, (group, j), ct.sum(products, axis=0, keepdims=True))
    ct.store(dbias, (group, j), ct.sum(gradients, axis=0, keepdims=True))


@ct.kernel(occupancy=4)
def qk_norm(q, k, q_weight, k_weight, q_out, k_out, eps: float, TILE_H: ConstInt, TILE_D: ConstInt):
    """Root-mean-square norm of every head of queries and keys; a head fits a tile: ``D <= TILE_D``.

    q, q_out (T, HQ, D); k, k_out (T, HK, D); q_weight, k_weight (D).  Grid: T.
    """
    t = ct.bid(0)
    n = q.shape[2]
    w = tile_of(q_weight, (0,), (TILE_D,))
    for h in range(ct.num_tiles(q, axis=1, shape=(1, TILE_H, TILE_D))):
        tile = tile_of(q, (t, h, 0), (1, TILE_H, TILE_D))
        scale = ct.rsqrt(ct.sum(tile * tile, axis=2, keepdims=True) / n + eps)
        ct.store(q_out, (t, h, 0), (tile * scale * w).astype(q_out.dtype))
    w = tile_of(k_weight, (0,), (TILE_D,))
    for h in range(ct.num_tiles(k, axis=1, shape=(1, TILE_H, TILE_D))):
        tile = tile_of(k, (t, h, 0), (1, TILE_H, TILE_D))
        scale = ct.rsqrt(ct.sum(tile * tile, axis=2, keepdims=True) / n + eps)
        ct.store(k_out, (t, h, 0), (tile * scale * w).astype(k_out.dtype))
