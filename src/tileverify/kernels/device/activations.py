"""Element by element: activations, gated activations with their gradients, and dropout.

Arrays are flat (N): a contiguous array of any rank is one, seen as such.  What is gated comes as two arrays or, packed,
as the two halves of every row of one.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


def sigmoid(x):
    """To a few units in the last place of float32, for which the device has instructions."""
    power = ct.exp2(x * -1.4426950408889634, flush_to_zero=True)
    return ct.truediv(1.0, 1.0 + power, rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True)


def gelu_and_slope(x):
    """The tanh form: ``x * s`` with ``s = sigmoid(2 * u)`` and ``u = sqrt(2 / pi) * (x + 0.044715 * x^3)``."""
    square = x * x
    s = sigmoid(1.5957691216057308 * x * (1.0 + 0.044715 * square))
    slope = s + x * s * (1.0 - s) * 1.5957691216057308 * (1.0 + 0.134145 * square)
    return x * s, slope


def random_words(index, stream, seed):
    """Philox 2x32 with 7 rounds: the first word for the counter ``(index, stream)`` and the key ``seed``."""
    low = index
    high = stream
    key = seed
    for _ in ct.static_iter(range(7)):
        product = low.astype(ct.uint64) * ct.full((), 0xD256D193, dtype=ct.uint64)
        low = (product >> 32).astype(ct.uint32) ^ key ^ high
        high = product.astype(ct.uint32)
        key = key + ct.full((), 0x9E3779B9, dtype=ct.uint32)
    return low


def tile_of(x, place, shape):
    """In float32, 0 beyond the end."""
    return ct.load(x, place, shape, padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)


def elementwise(function, out, TILE, *arrays):
    """``out = function(*arrays)``: a tile of each in every block."""
    i = ct.bid(0)
    tiles = ()
    for each in ct.static_iter(arrays):
        tiles += (tile_of(each, (i,), (TILE,)),)
    ct.store(out, (i,), function(*tiles).astype(out.dtype))


def gate_gradient(d, g, s):
    """Of ``silu(g)`` with ``s = sigmoid(g)``, times ``d``."""
    return d * s * (1.0 + g * (1.0 - s))


@ct.kernel
def silu(x, out, TILE: ConstInt):
    """``out = x * sigmoid(x)``

    x, out (N).  Grid: cdiv(N, TILE).
    """
    elementwise(lambda t: t * sigmoid(t), out, TILE, x)


@ct.kernel
def silu_backward(dout, x, dx, TILE: ConstInt):
    """``dx = dout * s * (1 + x * (1 - s))`` with ``s = sigmoid(x)``

    dout, x, dx (N).  Grid: cdiv(N, TILE).
    """
    elementwise(lambda d, t: gate_gradient(d, t, sigmoid(t)), dx, TILE, dout, x)


@ct.kernel
def gelu(x, out, TILE: ConstInt):
    """``out = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))``

    x, out (N).  Grid: cdiv(N, TILE).
    """
    elementwise(lambda t: gelu_and_slope(t)[0], out, TILE, x)


@ct.kernel
def gelu_backward(dout, x, dx, TILE: ConstInt):
    """``dx = dout * gelu'(x)``

    dout, x, dx (N).  Grid: cdiv(N, TILE).
    """
    elementwise(lambda d, t: d * gelu_and_slope(t)[1], dx, TILE, dout, x)


@ct.kernel
def relu(x, out, TILE: ConstInt):
    """``out = max(x, 0)``

    x, out (N).  Grid: cdiv(N, TILE).
    """
    i = ct.bid(0)
    tile = ct.load(x, (i,), (TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (i,), ct.maximum(tile, 0).astype(out.dtype))


@ct.kernel
def relu_backward(dout, x, dx, TILE: ConstInt):
    """``dx = dout * (x > 0)``

    dout, x, dx (N).  Grid: cdiv(N, TILE).
    """
    elementwise(lambda d, t: ct.where(t > 0.0, d, 0.0), dx, TILE, dout, x)


@ct.kernel
def add(x, y, out, TILE: ConstInt):
    """``out = x + y``

    x, y, out (N).  Grid: cdiv(N, TILE).
    """
    elementwise(lambda a, b: a + b, out, TILE, x, y)


@ct.kernel
def silu_mul(gate, up, out, TILE: ConstInt):
    """``out = silu(gate) * up``

    gate, up, out (N).  Grid: cdiv(N, TILE).
    """
    elementwise(lambda g, u: g * sigmoid(g) * u, out, TILE, gate, up)


@ct.kernel
def silu_mul_packed(gate_up, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """`silu_mul` of ``gate_up[:, 0]`` and ``gate_up[:, 1]``, as one product with both weights makes them.

    gate_up (M, 2, N); out (M, N).  Grid: cdiv(N, TILE_N), cdiv(M, TILE_M).
    """
    j, i = ct.bid(0), ct.bid(1)
    g, u = tile_of(gate_up, (i, 0, j), (TILE_M, 1, TILE_N)), tile_of(gate_up, (i, 1, j), (TILE_M, 1, TILE_N))
    ct.store(out, (i, j), (g * sigmoid(g) * u).reshape((TILE_M, TILE_N)).astype(out.dtype))


@ct.kernel
def silu_mul_backward(dout, gate, up, dgate, dup, TILE: ConstInt):
    """``dup = dout * silu(gate)`` and ``dgate = dout * up * s * (1 + gate * (1 - s))`` with ``s = sigmoid(gate)``.

    dout, gate, up, dgate, dup (N).  Grid: cdiv(N, TILE).
    """
    i = ct.bid(0)
    d, g, u = tile_of(dout, (i,), (TILE,)), tile_of(gate, (i,), (TILE,)), tile_of(up, (i,), (TILE,))
    s = sigmoid(g)
    ct.store(dgate, (i,), gate_gradient(d * u, g, s).astype(dgate.dtype))
    ct.store(dup, (i,), (d * g * s).astype(dup.dtype))


@ct.kernel
def silu_mul_packed_backward(dout, gate_up, dgate_up, TILE_M: ConstInt, TILE_N: ConstInt):
    """`silu_mul_backward` for `silu_mul_packed`.

    dout (M, N); gate_up, dgate_up (M, 2, N).  Grid: cdiv(N, TILE_N), cdiv(M, TILE_M).
    """
    j, i = ct.bid(0), ct.bid(1)
    d = tile_of(dout, (i, j), (TILE_M, TILE_N)).reshape((TILE_M, 1, TILE_N))
    g, u = tile_of(gate_up, (i, 0, j), (TILE_M, 1, TILE_N)), tile_of(gate_up, (i, 1, j), (TILE_M, 1, TILE_N))
    s = sigmoid(g)
    ct.store(dgate_up, (i, 0, j), gate_gradient(d * u, g, s).astype(dgate_up.dtype))
    ct.store(dgate_up, (i, 1, j), (d * g * s).astype(dgate_up.dtype))


@ct.kernel
def gelu_mul(gate, up, out, TILE: ConstInt):
    """``out = gelu(gate) * up``, in the tanh form of `gelu`.

    gate, up, out (N).  Grid: cdiv(N, TILE).
    """
    elementwise(lambda g, u: gelu_and_slope(g)[0] * u, out, TILE, gate, up)


@ct.kernel
def gelu_mul_backward(dout, gate, up, dgate, dup, TILE: ConstInt):
    """``dup = dout * gelu(gate)`` and ``dgate = dout * up * gelu'(gate)``.

    dout, gate, up, dgate, dup (N).  Grid: cdiv(N, TILE).
    """
    i = ct.bid(0)
    d, g, u = tile_of(dout, (i,), (TILE,)), tile_of(gate, (i,), (TILE,)), tile_of(up, (i,), (TILE,))
    value, slope = gelu_and_slope(g)
    ct.store(dgate, (i,), (d * u * slope).astype(dgate.dtype))
    ct.store(dup, (i,), (d * value).astype(dup.dtype))


@ct.kernel
def dropout(x, out, keep: float, stream: int, seed: int, TILE: ConstInt):
    """``out = x / keep`` where the random number of the element is below ``keep``, else 0.

    The number depends on index, ``stream`` (which of the program's dropouts it is) and ``seed`` alone: what is dropped
    is the same for every TILE and grid.  The gradient is this kernel on that of ``out``, with the same stream and seed.

    x, out (N); 0 < keep <= 1.  Grid: cdiv(N, TILE).
    """
    i = ct.bid(0)
    index = (i * TILE + ct.arange(TILE, dtype=ct.int32)).astype(ct.uint32)
    words = random_words(index, stream.astype(ct.uint32), seed.astype(ct.uint32))
    uniform = (words >> 8).astype(ct.float32) * (1.0 / 16777216.0)
    tile = tile_of(x, (i,), (TILE,))
    ct.store(out, (i,), ct.where(uniform < keep, tile / keep, 0.0).astype(out.dtype))
