"""A loop with an end that no closed form tells shuffles the tiles of an array; a launch of numbers is enumerated."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


def shuffled(place, tiles, factor):
    rest = 7
    while rest > 1:
        place = (place * factor + 3) % tiles
        rest = rest // 2
    return place


@ct.kernel
def shuffle_tiles(x, out, TILES: ConstInt, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, (shuffled(i, TILES, 5),), ct.load(x, (i,), (TILE,)))


@ct.kernel
def shuffle_onto_few_tiles(x, out, TILES: ConstInt, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, (shuffled(i, TILES, 4),), ct.load(x, (i,), (TILE,)))


@ct.kernel
def shuffle_by_table(x, places, out, TILES: ConstInt, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, (shuffled(ct.load(places, (i,), (1,)).item(), TILES, 5),), ct.load(x, (i,), (TILE,)))
