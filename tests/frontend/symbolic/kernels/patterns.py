"""Kernels that use one lowering pattern each."""

import cuda.tile as ct

Const = ct.Constant[int]


@ct.kernel
def copy(x, out, tile: Const):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (tile,)))


@ct.kernel
def transposed(x, out, tile: Const):
    i, j = ct.bid(0), ct.bid(1)
    v = ct.load(x, (i, j), (tile, tile))
    ct.store(out, (j, i), ct.transpose(v))


@ct.kernel
def persistent(x, out, tile: Const):
    count = ct.cdiv(x.shape[0], tile)
    for t in range(ct.bid(0), count, ct.num_blocks(0)):
        ct.store(out, (t,), ct.load(x, (t,), (tile,)) * 2)


@ct.kernel
def grouped_product(a, b, c, tm: Const, tn: Const, tk: Const, group: Const):
    rows, columns = ct.cdiv(a.shape[0], tm), ct.cdiv(b.shape[1], tn)
    block = ct.bid(0)
    first = block // (group * columns) * group
    size = min(rows - first, group)
    row = first + block % size
    column = block % (group * columns) // size
    total = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.load(a, (row, k), (tm, tk), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (k, column), (tk, tn), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(x, y, total)
    ct.store(c, (row, column), ct.astype(total, c.dtype))


@ct.kernel
def gathered(x, idx, out, tile: Const):
    i = ct.bid(0) * tile + ct.arange(tile, dtype=ct.int32)
    j = ct.gather(idx, (i,), padding_value=0)
    ct.scatter(out, (i,), ct.gather(x, (j,), padding_value=0))


@ct.kernel
def gathered_rows(x, out, tile: Const):
    i = ct.arange(tile, dtype=ct.int32)
    ct.scatter(out, (ct.bid(0), i), ct.gather(x, (ct.bid(0), i), padding_value=0))


@ct.kernel
def left_by_break(x, out, n, tile: Const):
    position = 0
    for k in range(10):
        v = ct.load(x, (k,), (tile,))
        if k == n:
            break
        ct.store(out, (position,), v)
        position += 2


@ct.kernel
def counted_while(x, out, n):
    i = 0
    while i < n:
        ct.store(out, (i,), ct.load(x, (i,), (16,)))
        i += 1


@ct.kernel
def early_return(x, out, n):
    b = ct.bid(0)
    if b >= n:
        return
    ct.store(out, (b,), ct.load(x, (b,), (16,)))


@ct.kernel
def in_place(x, n):
    for k in range(n):
        ct.store(x, (k,), ct.load(x, (k,), (16,)) + 1)
        ct.store(x, (k + 1,), ct.load(x, (k,), (16,)) + 1)


@ct.kernel
def nested(x, out, n, m):
    for i in range(n):
        for j in range(m):
            ct.store(out, (i * 4 + j,), ct.load(x, (j,), (16,)))
    ct.store(out, (0,), ct.load(out, (1,), (16,)))


@ct.kernel
def from_list(xs, out):
    for i in range(len(xs)):
        v = ct.load(xs[i], (ct.bid(0), 0), (16, 16))
        ct.store(out, (ct.bid(0), i), v)


@ct.kernel
def work_queue(counter, out):
    t = ct.atomic_add(counter, (0,), 1)
    ct.store(out, (t,), ct.full((16,), 1.0, ct.float32))


@ct.kernel
def python_division(x, out, n):
    b = ct.bid(0)
    ct.store(out, (b // n,), ct.load(x, ((b - n) % 7,), (16,)))


@ct.kernel
def found_group(sizes, out):
    start, found, at = 0, 0, 0
    for g in range(4):
        size = ct.load(sizes, (g,), (1,)).item()
        if start <= ct.bid(0) and ct.bid(0) < start + size:
            found = g
            at = start
        start = start + size
    ct.store(out, (found, ct.bid(0) - at), ct.full((1, 1), 1.0, ct.float32))


@ct.kernel
def multiples(sizes, out):
    start = 0
    for g in range(sizes.shape[0]):
        start = start + ct.cdiv(ct.load(sizes, (g,), (1,)).item(), 64) * 64
        ct.store(out, (start // 64,), ct.full((64,), 1.0, ct.float32))
