"""Blocks that take the tiles of all segments in turn: a running count says where the tiles of each segment begin."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_tiles_in_turn(offsets, out, segments, TILE: ConstInt):
    tile = ct.bid(0)
    before = 0
    for e in range(segments):
        start = ct.load(offsets, index=(e,), shape=()).item()
        end = ct.load(offsets, index=(e + 1,), shape=()).item()
        tiles = ct.cdiv(end - start, TILE)
        while tile >= before and tile < before + tiles:
            ct.store(out, index=(start // TILE + tile - before,), tile=ct.full((TILE,), e, dtype=out.dtype))
            tile += ct.num_blocks(0)
        before += tiles


@ct.kernel
def fill_tiles_in_pairs(offsets, out, segments, TILE: ConstInt):
    # The number of the block is no longer the rest of its tiles' numbers.
    tile = ct.bid(0) // 2
    before = 0
    for e in range(segments):
        start = ct.load(offsets, index=(e,), shape=()).item()
        end = ct.load(offsets, index=(e + 1,), shape=()).item()
        tiles = ct.cdiv(end - start, TILE)
        while tile >= before and tile < before + tiles:
            ct.store(out, index=(start // TILE + tile - before,), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))
            tile += ct.num_blocks(0)
        before += tiles


@ct.kernel
def fill_tiles_of_own_count(offsets, out, segments, TILE: ConstInt):
    # Each block counts from its own number on, so that tiles of one segment have other numbers in each block.
    tile = ct.bid(0)
    before = ct.bid(0)
    for e in range(segments):
        start = ct.load(offsets, index=(e,), shape=()).item()
        end = ct.load(offsets, index=(e + 1,), shape=()).item()
        tiles = ct.cdiv(end - start, TILE)
        while tile >= before and tile < before + tiles:
            ct.store(out, index=(start // TILE + tile - before,), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))
            tile += ct.num_blocks(0)
        before += tiles
