"""The products of a decoder's step for one sequence, as fast as memory gives the weights.

The activations are one row: x [1, K]; weights are [N, K], rows along K.  With K a multiple of 16 and tiles of 1,024
columns, a thread of the 128 of a block reads 16 bytes at a time, into registers and past the bulk copies that wait for
one another, and it meets the same columns of x and of every row.  Every block loads TILES tiles of weights, which no
kernel of a step writes, and waits only then for the kernel ahead.  Sums run in float32; those of 8 columns in a row,
which a thread has together, are taken first.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]

TOGETHER = 8
"""Columns in a row that a thread reads at once: 16 bytes."""


def after_the_one_ahead():
    """The next kernel may start; what comes then sees all that the kernel ahead wrote."""
    ct.grid_dependency_control_launch_dependents()
    ct.grid_dependency_control_wait()


def silu(x):
    return x / (1.0 + ct.exp(-x))


def places(tile, SIZE):
    """The numbers of the elements of a tile."""
    return tile * SIZE + ct.arange(SIZE, dtype=ct.int32)


def part_of(x, k, TILE_K):
    """Tile ``k`` of the row, f32[TILE_K]."""
    return ct.gather(x, (0, places(k, TILE_K))).astype(ct.float32)


def scales_of(scales, k, TILE_K):
    return ct.gather(scales, places(k, TILE_K)).astype(ct.float32)


def tiles_of(weights, rows, k, TILE_K, TILES):
    """Tiles [rows, TILE_K] of weights, the first of them with number ``k``."""
    tiles = ()
    for each in ct.static_iter(range(TILES)):
        tiles += (ct.gather(weights, (rows[:, None], places(k + each, TILE_K)[None, :])),)
    return tiles


def nothing(TILE_N, TILE_K):
    """Sums before the first tile."""
    return ct.zeros((TILE_N, TILE_K // TOGETHER), dtype=ct.float32)


def further(acc, part, tile, TILE_N, TILE_K):
    """Products of a part of the row with a tile of weights."""
    products = part[None, :] * tile.astype(ct.float32)
    return acc + ct.sum(products.reshape((TILE_N, TILE_K // TOGETHER, TOGETHER)), axis=2)


def normed(x, scales, eps, TILE_K, TILES):
    """Tiles of ``scales * x``, all there are, and what its norm divides by."""
    parts, squares = (), ct.zeros((TILE_K,), dtype=ct.float32)
    for each in ct.static_iter(range(TILES)):
        part = part_of(x, each, TILE_K)
        squares = squares + part * part
        parts += (part * scales_of(scales, each, TILE_K),)
    return parts, ct.rsqrt(ct.sum(squares) / x.shape[1] + eps)


def summed(tiles, parts, TILE_N, TILE_K, TILES):
    """f32[TILE_N]: products of whole rows."""
    acc = nothing(TILE_N, TILE_K)
    for each in ct.static_iter(range(TILES)):
        acc = further(acc, parts[each], tiles[each], TILE_N, TILE_K)
    return ct.sum(acc, axis=1)


def added(x, weights, residual, out, TILE_N, TILE_K, TILES):
    """What `row_add` does."""
    rows = places(ct.bid(0), TILE_N)
    tiles = tiles_of(weights, rows, 0, TILE_K, TILES)
    after_the_one_ahead()
    acc = nothing(TILE_N, TILE_K)
    for each in ct.static_iter(range(TILES)):
        acc = further(acc, part_of(x, each, TILE_K), tiles[each], TILE_N, TILE_K)
    for k in range(1, ct.cdiv(x.shape[1], TILES * TILE_K)):
        tiles = tiles_of(weights, rows, k * TILES, TILE_K, TILES)
        for each in ct.static_iter(range(TILES)):
            acc = further(acc, part_of(x, k * TILES + each, TILE_K), tiles[each], TILE_N, TILE_K)
    before = ct.gather(residual, (0, rows)).astype(ct.float32)
    ct.scatter(out, (0, rows), (before + ct.sum(acc, axis=1)).astype(out.dtype))


@ct.kernel(occupancy=8)
def row_add(x, weights, residual, out, TILE_N: ConstInt, TILE_K: ConstInt, TILES: ConstInt):
    """``x weightsᵀ + residual`` for x [1, K], weights [N, K], residual and out [1, N].

    Requires K >= 1.  Grid cdiv(N, TILE_N).
    """
    added(x, weights, residual, out, TILE_N, TILE_K, TILES)


@ct.kernel(occupancy=6)
def row_add_tall(x, weights, residual, out, TILE_N: ConstInt, TILE_K: ConstInt, TILES: ConstInt):
    """`row_add` with room for the registers of four rows."""
    added(x, weights, residual, out, TILE_N, TILE_K, TILES)


def streamed(x, weights, residual, out, TILE_N, TILE_K, TILES):
    """What `row_add_streamed` does."""
    rows = places(ct.bid(0), TILE_N)
    tiles = tiles_of(weights, rows, 0, TILE_K, TILES)
    after_the_one_ahead()
    acc = nothing(TILE_N, TILE_K)
    for k in range(ct.cdiv(x.shape[1], TILES * TILE_K)):
        following = tiles_of(weights, rows, (k + 1) * TILES, TILE_K, TILES)
        for each in ct.static_iter(range(TILES)):
            acc = further(acc, part_of(x, k * TILES + each, TILE_K), tiles[each], TILE_N, TILE_K)
        tiles = following
    before = ct.gather(residual, (0, rows)).astype(ct.float32)
    ct.scatter(out, (0, rows), (before + ct.sum(acc, axis=1)).astype(out.dtype))


@ct.kernel(occupancy=5)
def row_add_streamed(x, weights, residual, out, TILE_N: ConstInt, TILE_K: ConstInt, TILES: ConstInt):
    """`row_add` of long rows: the next tiles are on their way while these are summed up."""
    streamed(x, weights, residual, out, TILE_N, TILE_K, TILES)


@ct.kernel(occupancy=8)
def row_add_streamed_narrow(x, weights, residual, out, TILE_N: ConstInt, TILE_K: ConstInt, TILES: ConstInt):
    """`row_add_streamed` of more rows with fewer columns at once, for more blocks."""
    streamed(x, weights, residual, out, TILE_N, TILE_K, TILES)


@ct.kernel(occupancy=4)
def row_normed(x, scales, weights, out, eps, TILE_N: ConstInt, TILE_K: ConstInt, TILES: ConstInt):
    """``normed weightsᵀ`` for ``normed = scales * x / sqrt(mean(x²) + eps)``, which divides at the end.

    x [1, K], scales [K], weights [N, K], out [1, N].  Requires 1 <= K <= TILES * TILE_K: each block holds the row, and
    takes one group of TILE_N rows of weights after the other, the next of which is on its way.  Any grid (G, 1, 1).
    """
    tiles = tiles_of(weights, places(ct.bid(0), TILE_N), 0, TILE_K, TILES)
    after_the_one_ahead()
    parts, inverse = normed(x, scales, eps, TILE_K, TILES)
    for group in range(ct.bid(0), ct.cdiv(weights.shape[0], TILE_N), ct.num_blocks(0)):
        following = tiles_of(weights, places(group + ct.num_blocks(0), TILE_N), 0, TILE_K, TILES)
        sums = summed(tiles, parts, TILE_N, TILE_K, TILES)
        ct.scatter(out, (0, places(group, TILE_N)), (sums * inverse).astype(out.dtype))
        tiles = following


@ct.kernel(occupancy=4)
def row_normed_gated(x, scales, gates, weights, out, eps, TILE_N: ConstInt, TILE_K: ConstInt, TILES: ConstInt):
    """``silu(normed gatesᵀ) * (normed weightsᵀ)`` for ``normed`` as in `row_normed`.

    x [1, K], scales [K], gates and weights [N, K], out [1, N].  Requires 1 <= K <= TILES * TILE_K.  Any grid (G, 1, 1).
    """
    rows = places(ct.bid(0), TILE_N)
    gate_tiles = tiles_of(gates, rows, 0, TILE_K, TILES)
    tiles = tiles_of(weights, rows, 0, TILE_K, TILES)
    after_the_one_ahead()
    parts, inverse = normed(x, scales, eps, TILE_K, TILES)
    for group in range(ct.bid(0), ct.cdiv(weights.shape[0], TILE_N), ct.num_blocks(0)):
        rows = places(group + ct.num_blocks(0), TILE_N)
        following_gates = tiles_of(gates, rows, 0, TILE_K, TILES)
        following = tiles_of(weights, rows, 0, TILE_K, TILES)
        gate_sums = summed(gate_tiles, parts, TILE_N, TILE_K, TILES) * inverse
        sums = summed(tiles, parts, TILE_N, TILE_K, TILES) * inverse
        ct.scatter(out, (0, places(group, TILE_N)), (silu(gate_sums) * sums).astype(out.dtype))
        gate_tiles, tiles = following_gates, following
