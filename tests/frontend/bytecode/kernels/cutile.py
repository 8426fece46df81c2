"""cuTile Python kernels that reach every op the frontend can emit, with the signatures to export them.

Each kernel exercises one family of ops and computes nothing useful.
"""

# Kernels are written as their users write them.
# ruff: noqa: N803, PT009, SIM108

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, ConstantConstraint, ListConstraint, ScalarConstraint

F16, F32, F64, I32, I64, I8 = ct.float16, ct.float32, ct.float64, ct.int32, ct.int64, ct.int8


@ct.kernel
def vector_add(a, b, c, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (T,)) + ct.load(b, (i,), (T,)))


@ct.kernel
def matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((TM, TN), 0, ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (k, j), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


@ct.kernel
def grouped_matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int], GROUP: ct.Constant[int]):
    block = ct.bid(0)
    rows, columns = ct.cdiv(a.shape[0], TM), ct.cdiv(b.shape[1], TN)
    per_group = GROUP * columns
    first = block // per_group * GROUP
    size = min(rows - first, GROUP)
    i = first + block % per_group % size
    j = block % per_group // size
    acc = ct.full((TM, TN), 0, ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        acc = ct.mma(ct.load(a, (i, k), (TM, TK)), ct.load(b, (k, j), (TK, TN)), acc)
    ct.store(c, (i, j), ct.astype(acc, c.dtype))


@ct.kernel
def softmax(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, T), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(row - ct.max(row, 1, keepdims=True))
    ct.store(y, (i, 0), e / ct.sum(e, 1, keepdims=True))


@ct.kernel
def elementary(x, y):
    i = ct.bid(0)
    v = ct.load(x, (i,), (64,))
    v = ct.sin(v) + ct.cos(v) * ct.tan(v) - ct.sinh(v) / ct.cosh(v)
    v = ct.tanh(v) + ct.exp2(v) + ct.log(v) + ct.log2(v) + ct.sqrt(v) + ct.rsqrt(v)
    v = ct.floor(v) + ct.ceil(v) + ct.abs(v) + ct.pow(v, v) + ct.mod(v, 3.0) + ct.negative(v)
    v = ct.add(v, v, rounding_mode=ct.RoundingMode.RZ, flush_to_zero=True)
    v = ct.maximum(v, 0.5, propagate_nan=True) + ct.minimum(v, 2.0, flush_to_zero=True)
    ct.store(y, (i,), ct.where(ct.isnan(v), 0.0, v))


@ct.kernel
def newer_elementary(x, y):
    i = ct.bid(0)
    v = ct.load(x, (i,), (64,))
    v = ct.atan2(v, v) + ct.tanh(v, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(y, (i,), v)


@ct.kernel
def integers(x, y, n):
    i = ct.bid(0)
    v = ct.load(x, (i,), (64,))
    v = (v // n) * (v % 7) - (v << 2) + (v >> 1)
    v = (v & n) | (v ^ 255) | ~v
    v = ct.maximum(v, n) + ct.minimum(v, 3) + ct.abs(v) - ct.cdiv(v, 5) + (-v)
    v = ct.where((v < n) & (v != 2) | (v >= 10), v, ct.num_blocks(0))
    ct.store(y, (i,), v)


@ct.kernel
def casts(x, y):
    i = ct.bid(0)
    v = ct.load(x, (i,), (32,))
    narrow = v.astype(ct.int8).astype(ct.int64) + v.astype(ct.int16).astype(ct.int64)
    wide = v.astype(ct.float16).astype(ct.float64) + v.astype(ct.bfloat16).astype(ct.float64)
    odd = v.astype(ct.tfloat32).astype(ct.float32) + v.astype(ct.float8_e4m3fn).astype(ct.float32)
    flag = v.astype(ct.bool_).astype(ct.float32) + ct.bitcast(v, ct.int32).astype(ct.float32)
    ct.store(y, (i,), narrow.astype(ct.float32) + wide.astype(ct.float32) + odd + flag)


@ct.kernel
def shapes(x, y):
    v = ct.load(x, (ct.bid(0), 0), (8, 16))
    v = ct.transpose(ct.permute(v, (1, 0))) + ct.reshape(ct.reshape(v, (128,)), (8, 16))
    both = ct.cat((v, v), 0)
    part = ct.extract(both, (1, 0), (8, 16))
    ct.store(y, (ct.bid(0), 0), part + ct.broadcast_to(ct.arange(16, dtype=ct.float32), (8, 16)))


@ct.kernel
def inserting(x, y):
    v = ct.load(x, (ct.bid(0), 0), (8, 16))
    ct.store(y, (ct.bid(0), 0), ct.insert(v, (0, 1), ct.full((4, 8), 1.0, ct.float32)))


@ct.kernel
def packing(x, y):
    v = ct.load(x, (ct.bid(0),), (32,))
    ct.store(y, (ct.bid(0),), ct.unpack_from_bytes(ct.pack_to_bytes(v), ct.float32))


@ct.kernel
def reductions(x, y, k):
    i = ct.bid(0)
    v = ct.load(x, (i, 0), (4, 32))
    total = ct.sum(v, 1) + ct.prod(v, 1) + ct.max(v, 1) + ct.min(v, 1)
    where = ct.argmax(v, 1) + ct.argmin(v, 1)
    running = ct.cumsum(v, 1) + ct.cumprod(v, 1, reverse=True)
    joined = ct.reduce(v, 1, lambda p, q: p * 2.0 + q, 0.0)
    ct.store(y, (i, 0), running + ct.reshape(total + joined, (4, 1)))
    ct.store(k, (i,), where)


@ct.kernel
def double_maximum(x, y):
    v = ct.load(x, (ct.bid(0), 0), (4, 32))
    ct.store(y, (ct.bid(0),), ct.max(v, 1))


@ct.kernel
def scatter_gather(x, index, y, n):
    lane = ct.arange(32, dtype=ct.int32) + ct.bid(0) * 32
    k = ct.gather(index, lane, padding_value=-1)
    v = ct.gather(x, (k, n), mask=lane < n, padding_value=2.5)
    ct.scatter(y, (k, lane), v, mask=k >= 0)
    ct.scatter(y, (lane, 0), ct.gather(x, (lane, 0), check_bounds=False), check_bounds=False, latency=3)


@ct.kernel
def atomics(counter, total, x):
    lane = ct.arange(32, dtype=ct.int32)
    v = ct.load(x, (ct.bid(0),), (32,))
    old = ct.atomic_add(counter, lane, 1)
    ct.atomic_max(counter, old, 3, memory_order=ct.MemoryOrder.RELAXED)
    ct.atomic_min(counter, lane, 3)
    ct.atomic_and(counter, lane, 7)
    ct.atomic_or(counter, lane, 8)
    ct.atomic_xor(counter, lane, 1, memory_scope=ct.MemoryScope.SYS)
    ct.atomic_add(total, lane, v, memory_order=ct.MemoryOrder.RELEASE)
    while ct.atomic_cas(counter, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    ct.scatter(total, 0, ct.gather(total, 0) + 1.0)
    ct.atomic_xchg(counter, 0, 0, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def control(x, y, n):
    i = ct.bid(0)
    if i >= n:
        return
    total = ct.full((16,), 0, ct.float32)
    for k in range(i, n, 2):
        if k == 5:
            continue
        v = ct.load(x, (k,), (16,))
        for q in range(3):
            total = total + v * q
        if k > 100:
            break
    left = n
    while left > 0:
        if left % 3 == 0:
            left = left - 2
        else:
            left = left // 2
        total = total * 0.5
    if n == 3:
        ct.store(y, (i,), total)
    elif n == 4:
        ct.store(y, (i,), -total)


@ct.kernel
def persistent(x, y, tiles):
    for i in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(y, (i,), ct.load(x, (i,), (64,)) * 2.0)


@ct.kernel
def transposed_views(x, y, T: ct.Constant[int]):
    v = ct.load(x, (ct.bid(0), ct.bid(1)), (T, T), order="F", latency=4, allow_tma=False)
    ct.store(y, (ct.bid(1), ct.bid(0)), v, order=(1, 0))


@ct.kernel
def slices(x, y, start, stop):
    part = x.slice(0, start, stop)
    v = ct.load(part, (ct.bid(0), 0), (4, 8))
    ct.store(y, (ct.bid(0), 0), v + part.shape[0])


@ct.kernel
def tiled_views(x, y):
    view = x.tiled_view((4, 8), padding_mode=ct.PaddingMode.ZERO)
    out = y.tiled_view((4, 8))
    out.store((ct.bid(0), 0), view.load((ct.bid(0), view.num_tiles(1) - 1)))


@ct.kernel
def overlapping_views(x, y):
    view = x.tiled_view((4, 8), traversal_steps=(2, 8), padding_mode=ct.PaddingMode.NAN)
    out = y.tiled_view((4, 8))
    v = view.load((ct.bid(0), 0))
    out.atomic_store_add((ct.bid(0), 0), v)
    rows = ct.arange(4, dtype=ct.int32) * 2
    w = ct.load_advanced_indexing(x, (rows, ct.Slice(8, 8)), padding_mode=ct.PaddingMode.ZERO)
    ct.store_advanced_indexing(y, (rows, ct.Slice(0, 8)), w)


@ct.kernel
def printing(x, n):
    v = ct.load(x, (ct.bid(0),), (8,))
    ct.printf("block %d: %f\n", n, v)
    ct.print("n", n)
    ct.assert_(n > 0, "n must be positive")
    ct.assert_(v > 0)


@ct.kernel
def dependent_launch(x, y):
    ct.grid_dependency_control_wait()
    v = ct.load(x, (ct.bid(0),), (8,))
    ct.grid_dependency_control_launch_dependents()
    ct.store(y, (ct.bid(0),), v)


@ct.kernel
def lists(xs, y, n):
    for k in range(len(xs)):
        v = ct.load(xs[k], (ct.bid(0),), (16,))
        ct.store(y, (k * n + ct.bid(0),), v)


def squared(v):
    return v * v


def shifted(v, by):
    return ct.exp(squared(v + by))


@ct.kernel
def helpers(x, y):
    v = ct.load(x, (ct.bid(0),), (16,))
    ct.store(y, (ct.bid(0),), shifted(v, 1.0))


@ct.kernel
def batched_product(a, b, c):
    x, y = ct.load(a, (ct.bid(0), 0, 0), (2, 16, 32)), ct.load(b, (ct.bid(0), 0, 0), (2, 32, 16))
    ct.store(c, (ct.bid(0), 0, 0), ct.mma(x, y, ct.zeros((2, 16, 16), ct.float32)))


@ct.kernel
def integer_product(a, b, c):
    x, y = ct.load(a, (0, 0), (16, 32)), ct.load(b, (0, 0), (32, 16))
    ct.store(c, (0, 0), ct.mma(x, y, ct.zeros((16, 16), ct.int32)))


@ct.kernel
def scaled_product(a, sa, b, sb, c):
    x, y = ct.load(a, (0, 0), (128, 64)), ct.load(b, (0, 0), (64, 128))
    p, q = ct.load(sa, (0, 0), (128, 2)), ct.load(sb, (0, 0), (2, 128))
    ct.store(c, (0, 0), ct.mma_scaled(x, p, y, q, ct.zeros((128, 128), ct.float32)))


@ct.kernel
def fast_product(a, b, c):
    x, y = ct.load(a, (0, 0), (64, 64)), ct.load(b, (0, 0), (64, 64))
    ct.store(c, (0, 0), ct.mma(x, y, ct.zeros((64, 64), ct.float32), use_fast_acc=True))


@ct.kernel(num_ctas=2, occupancy=ct.ByTarget(sm_100=4, default=2))
def hinted(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (128,)))


def array(ndim, dtype=F32, *, aligned=False, index=I32, **more):
    """A contiguous array; ``aligned`` adds the divisibility facts that the JIT derives from a usual tensor."""
    strides = [16] * (ndim - 1) + [1]
    facts = {"stride_divisible_by": strides, "shape_divisible_by": 16, "base_addr_divisible_by": 16} if aligned else {}
    return ArrayConstraint(
        dtype,
        ndim,
        index_dtype=index,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=[None] * (ndim - 1) + [1],
        **facts | more,
    )


def fixed(value):
    return ConstantConstraint(value)


NUMBER, VECTOR, MATRIX = ScalarConstraint(I32), array(1), array(2)
COUNTERS = array(1, I32)

# kernel -> (parameters, first bytecode version that can express it)
EXPORTS = {
    "vector_add": (vector_add, [VECTOR, VECTOR, VECTOR, fixed(128)], (13, 1)),
    "vector_add_aligned": (vector_add, [array(1, aligned=True)] * 3 + [fixed(64)], (13, 1)),
    "vector_add_wide": (vector_add, [array(1, F64, index=I64)] * 3 + [fixed(32)], (13, 1)),
    "matmul": (matmul, [array(2, F16)] * 3 + [fixed(64), fixed(64), fixed(32)], (13, 1)),
    "matmul_aligned": (matmul, [array(2, F16, aligned=True)] * 3 + [fixed(128), fixed(64), fixed(32)], (13, 1)),
    "grouped_matmul": (grouped_matmul, [array(2, F16)] * 3 + [fixed(n) for n in (64, 64, 32, 8)], (13, 1)),
    "softmax": (softmax, [MATRIX, MATRIX, fixed(256)], (13, 1)),
    "elementary": (elementary, [VECTOR, VECTOR], (13, 1)),
    "newer_elementary": (newer_elementary, [VECTOR, VECTOR], (13, 2)),
    "integers": (integers, [COUNTERS, COUNTERS, NUMBER], (13, 1)),
    "casts": (casts, [VECTOR, VECTOR], (13, 1)),
    "shapes": (shapes, [MATRIX, MATRIX], (13, 1)),
    "inserting": (inserting, [MATRIX, MATRIX], (13, 4)),
    "packing": (packing, [VECTOR, VECTOR], (13, 3)),
    "reductions": (reductions, [MATRIX, MATRIX, COUNTERS], (13, 1)),
    "double_maximum": (double_maximum, [array(2, F64), array(1, F64)], (13, 1)),
    "scatter_gather": (scatter_gather, [MATRIX, COUNTERS, MATRIX, NUMBER], (13, 1)),
    "atomics": (atomics, [COUNTERS, VECTOR, VECTOR], (13, 1)),
    "control": (control, [VECTOR, VECTOR, NUMBER], (13, 1)),
    "persistent": (persistent, [VECTOR, VECTOR, NUMBER], (13, 1)),
    "transposed_views": (transposed_views, [MATRIX, MATRIX, fixed(16)], (13, 1)),
    "slices": (slices, [MATRIX, MATRIX, NUMBER, NUMBER], (13, 1)),
    "tiled_views": (tiled_views, [MATRIX, MATRIX], (13, 1)),
    "overlapping_views": (overlapping_views, [MATRIX, MATRIX], (13, 3)),
    "printing": (printing, [VECTOR, NUMBER], (13, 1)),
    "dependent_launch": (dependent_launch, [VECTOR, VECTOR], (13, 4)),
    "lists": (lists, [ListConstraint(VECTOR, alias_groups=(), elements_may_alias=True), VECTOR, NUMBER], (13, 1)),
    "helpers": (helpers, [VECTOR, VECTOR], (13, 1)),
    "batched_product": (batched_product, [array(3, F16), array(3, F16), array(3)], (13, 1)),
    "integer_product": (integer_product, [array(2, I8), array(2, I8), array(2, I32)], (13, 1)),
    "scaled_product": (
        scaled_product,
        [
            array(2, ct.float8_e4m3fn),
            array(2, ct.float8_e8m0fnu),
            array(2, ct.float8_e4m3fn),
            array(2, ct.float8_e8m0fnu),
            MATRIX,
        ],
        (13, 3),
    ),
    "fast_product": (fast_product, [array(2, ct.float8_e4m3fn)] * 2 + [MATRIX], (13, 3)),
    "hinted": (hinted, [VECTOR, VECTOR], (13, 1)),
}
