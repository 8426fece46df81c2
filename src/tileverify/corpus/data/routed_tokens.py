"""The last step of routing, or of a radix sort: each block has a chunk of keys and gives their elements places."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def scatter_by_rank(keys, ranks, base, out, CHUNK: ConstInt, WIDTH: ConstInt):
    chunk = ct.bid(0)
    i = chunk * CHUNK + ct.arange(CHUNK, dtype=ct.int32)
    key = ct.gather(keys, i, padding_value=0)
    start = ct.gather(base, chunk * WIDTH + key, padding_value=0)
    ct.scatter(out, start + ct.gather(ranks, i, padding_value=0), i, mask=i < keys.shape[0])


@ct.kernel
def scatter_inside(keys, ranks, base, out, CHUNK: ConstInt, WIDTH: ConstInt):
    chunk = ct.bid(0)
    i = chunk * CHUNK + ct.arange(CHUNK, dtype=ct.int32)
    key = ct.gather(keys, i, padding_value=0)
    start = ct.gather(base, chunk * WIDTH + key, padding_value=0)
    rank = ct.gather(ranks, i, padding_value=0)
    ct.scatter(out, start + rank, i, mask=i < keys.shape[0], check_bounds=False)


@ct.kernel
def scatter_without_rank(keys, base, out, CHUNK: ConstInt, WIDTH: ConstInt):
    chunk = ct.bid(0)
    i = chunk * CHUNK + ct.arange(CHUNK, dtype=ct.int32)
    key = ct.gather(keys, i, padding_value=0)
    ct.scatter(out, ct.gather(base, chunk * WIDTH + key, padding_value=0), i, mask=i < keys.shape[0])


@ct.kernel
def scatter_from_first_chunk(keys, ranks, base, out, CHUNK: ConstInt, WIDTH: ConstInt):
    i = ct.bid(0) * CHUNK + ct.arange(CHUNK, dtype=ct.int32)
    start = ct.gather(base, ct.gather(keys, i, padding_value=0), padding_value=0)
    ct.scatter(out, start + ct.gather(ranks, i, padding_value=0), i, mask=i < keys.shape[0])
