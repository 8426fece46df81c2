"""What moves numbers: rows that an array names, stacks, transposes, heads, conversions; and sums along an axis."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill(out, value: float, TILE: ConstInt):
    """``out = value``

    out (N).  Grid: cdiv(N, TILE).
    """
    ct.store(out, (ct.bid(0),), ct.full((TILE,), value, dtype=ct.float32).astype(out.dtype))


@ct.kernel
def cast(x, out, TILE: ConstInt):
    """``out = x``, in the element type of ``out``.

    x, out (N).  Grid: cdiv(N, TILE).
    """
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (TILE,), padding_mode=ct.PaddingMode.ZERO).astype(out.dtype))


@ct.kernel
def embedding(table, ids, out, TILE_N: ConstInt):
    """``out[t] = table[ids[t]]``

    table (V, N); ids (T), in [0, V); out (T, N).  Grid: cdiv(N, TILE_N), T.
    """
    j, t = ct.bid(0), ct.bid(1)
    row = ct.load(ids, (t,), (1,)).item()
    tile = ct.load(table, (row, j), (1, TILE_N), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (t, j), tile.astype(out.dtype))


@ct.kernel
def gather_rows(x, rows, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """``out[t] = x[rows[t]]``, and zeros where ``x`` has no such row, as for a negative number.

    x (M, N); rows (T); out (T, N).  Grid: cdiv(N, TILE_N), cdiv(T, TILE_M).
    """
    j, t = ct.bid(0), ct.bid(1)
    row = ct.load(rows, (t,), (TILE_M,), padding_mode=ct.PaddingMode.ZERO)[:, None]
    columns = j * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
    ct.store(out, (t, j), ct.gather(x, (row, columns), padding_value=0).astype(out.dtype))


@ct.kernel
def to_stack(x, stack, layer: int, TILE: ConstInt):
    """``stack[layer] = x``

    x (N); stack (L, N); 0 <= layer < L.  Grid: cdiv(N, TILE).
    """
    i = ct.bid(0)
    tile = ct.load(x, (i,), (TILE,), padding_mode=ct.PaddingMode.ZERO).reshape((1, TILE))
    ct.store(stack, (layer, i), tile.astype(stack.dtype))


@ct.kernel
def from_stack(stack, out, layer: int, TILE: ConstInt):
    """``out = stack[layer]``

    stack (L, N); out (N); 0 <= layer < L.  Grid: cdiv(N, TILE).
    """
    i = ct.bid(0)
    tile = ct.load(stack, (layer, i), (1, TILE), padding_mode=ct.PaddingMode.ZERO).reshape((TILE,))
    ct.store(out, (i,), tile.astype(out.dtype))


@ct.kernel
def transpose(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """``out[n, m] = x[m, n]``

    x (M, N); out (N, M).  Grid: cdiv(N, TILE_N), cdiv(M, TILE_M).
    """
    n, m = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (m, n), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (n, m), ct.transpose(tile).astype(out.dtype))


@ct.kernel
def swap_heads(x, out, TILE_R: ConstInt, TILE_H: ConstInt, TILE_D: ConstInt):
    """``out[b, h, r] = x[b, r, h]``: splits rows into heads, or puts heads together again where r counts heads.

    x (B, R, H, D); out (B, H, R, D).  Grid: cdiv(H, TILE_H), cdiv(R, TILE_R), B.
    """
    h, r, b = ct.bid(0), ct.bid(1), ct.bid(2)
    for d in range(ct.num_tiles(x, axis=3, shape=(1, TILE_R, TILE_H, TILE_D))):
        tile = ct.load(x, (b, r, h, d), (1, TILE_R, TILE_H, TILE_D), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, (b, h, r, d), ct.permute(tile, (0, 2, 1, 3)).astype(out.dtype))


@ct.kernel(occupancy=4)
def row_sums(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """``out = sum of x`` for each row.

    x (M, N); out (M).  Grid: cdiv(M, TILE_M).
    """
    i = ct.bid(0)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(TILE_M, TILE_N))):
        total += ct.load(x, (i, j), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    ct.store(out, (i,), ct.sum(total, axis=1).astype(out.dtype), allow_tma=False)


@ct.kernel(occupancy=4)
def row_means(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """``out = mean of x`` for each row; no number where rows are empty.

    x (M, N); out (M).  Grid: cdiv(M, TILE_M).
    """
    i = ct.bid(0)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(TILE_M, TILE_N))):
        total += ct.load(x, (i, j), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    ct.store(out, (i,), (ct.sum(total, axis=1) / x.shape[1]).astype(out.dtype), allow_tma=False)


@ct.kernel(occupancy=4)
def row_maxima(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """``out = maximum of x`` for each row; minus infinity where rows are empty.

    x (M, N); out (M).  Grid: cdiv(M, TILE_M).
    """
    i = ct.bid(0)
    highest = ct.full((TILE_M, TILE_N), -float("inf"), dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(TILE_M, TILE_N))):
        tile = ct.load(x, (i, j), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
        highest = ct.maximum(highest, tile)
    ct.store(out, (i,), ct.max(highest, axis=1).astype(out.dtype), allow_tma=False)


@ct.kernel(occupancy=4)
def column_sums(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """``out = sum of x`` for each column, always in the same order.

    x (M, N); out (N).  Grid: cdiv(N, TILE_N).
    """
    j = ct.bid(0)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for i in range(ct.num_tiles(x, axis=0, shape=(TILE_M, TILE_N))):
        total += ct.load(x, (i, j), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    ct.store(out, (j,), ct.sum(total, axis=0).astype(out.dtype))


@ct.kernel(occupancy=4)
def column_sum_partials(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """Group g of rows: ``out[g] = sum of x`` over every G-th tile of rows from the g-th on.

    Where there are many rows, this keeps the whole device busy; `column_sums` then adds up the groups.

    x (M, N); out (G, N).  Grid: cdiv(N, TILE_N), G.
    """
    j, group = ct.bid(0), ct.bid(1)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for i in range(group, ct.num_tiles(x, axis=0, shape=(TILE_M, TILE_N)), ct.num_blocks(1)):
        total += ct.load(x, (i, j), (TILE_M, TILE_N), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    ct.store(out, (group, j), ct.sum(total, axis=0, keepdims=True).astype(out.dtype))
