"""Lane by lane: integers of every width and sign, floats of every format, casts among all of them."""

import triton
import triton.language as tl


@triton.jit
def integers(x, y, s, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    n = tl.load(s + i)
    tl.store(out + i, a + b)
    tl.store(out + N + i, a - b)
    tl.store(out + 2 * N + i, a * b)
    tl.store(out + 3 * N + i, a // b)
    tl.store(out + 4 * N + i, a % b)
    tl.store(out + 5 * N + i, a & b)
    tl.store(out + 6 * N + i, a | b)
    tl.store(out + 7 * N + i, a ^ b)
    tl.store(out + 8 * N + i, a << n)
    tl.store(out + 9 * N + i, a >> n)
    tl.store(out + 10 * N + i, tl.minimum(a, b))
    tl.store(out + 11 * N + i, tl.maximum(a, b))
    tl.store(out + 12 * N + i, ~a)
    tl.store(out + 13 * N + i, tl.where(a < b, a, b))
    tl.store(out + 14 * N + i, tl.cdiv(a, b))


@triton.jit
def negated(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, -a)
    tl.store(out + N + i, tl.abs(a))


@triton.jit
def compared(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, a < b)
    tl.store(out + N + i, a <= b)
    tl.store(out + 2 * N + i, a > b)
    tl.store(out + 3 * N + i, a >= b)
    tl.store(out + 4 * N + i, a == b)
    tl.store(out + 5 * N + i, a != b)
    tl.store(out + 6 * N + i, (a < b) & (a != a))
    tl.store(out + 7 * N + i, (a < b) | (b == b))
    tl.store(out + 8 * N + i, ~(a < b))


@triton.jit
def with_constants(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, a + 1)
    tl.store(out + N + i, 7 - a)
    tl.store(out + 2 * N + i, a // 3)
    tl.store(out + 3 * N + i, a % 5)
    tl.store(out + 4 * N + i, a * 100)
    tl.store(out + 5 * N + i, tl.full((N,), 100, out.dtype.element_ty))
    tl.store(out + 6 * N + i, tl.zeros((N,), out.dtype.element_ty))


@triton.jit
def high(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.umulhi(tl.load(x + i), tl.load(y + i)))


@triton.jit
def floats(x, y, z, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    c = tl.load(z + i)
    tl.store(out + i, a + b)
    tl.store(out + N + i, a - b)
    tl.store(out + 2 * N + i, a * b)
    tl.store(out + 3 * N + i, -a)
    tl.store(out + 4 * N + i, tl.abs(a))
    tl.store(out + 5 * N + i, tl.where(a < b, a, c))
    tl.store(out + 6 * N + i, tl.maximum(a, b))
    tl.store(out + 7 * N + i, tl.minimum(a, b))
    tl.store(out + 8 * N + i, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 9 * N + i, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))


@triton.jit
def divided(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, a / b)
    tl.store(out + N + i, tl.fma(a, b, a))
    tl.store(out + 2 * N + i, tl.clamp(a, tl.minimum(b, 1.5), tl.maximum(b, 1.5)))
    tl.store(out + 3 * N + i, a % b)


@triton.jit
def precise(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, tl.div_rn(a, b))
    tl.store(out + N + i, tl.sqrt_rn(tl.abs(a)))
    tl.store(out + 2 * N + i, tl.floor(a))
    tl.store(out + 3 * N + i, tl.ceil(a))


@triton.jit
def clamped(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.clamp(a, -1.0, 1.5))
    tl.store(out + N + i, tl.clamp(a, -1.0, 1.5, propagate_nan=tl.PropagateNan.ALL))


@triton.jit
def functions(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.exp(a))
    tl.store(out + N + i, tl.exp2(a))
    tl.store(out + 2 * N + i, tl.log(tl.abs(a)))
    tl.store(out + 3 * N + i, tl.log2(tl.abs(a)))
    tl.store(out + 4 * N + i, tl.sin(a))
    tl.store(out + 5 * N + i, tl.cos(a))
    tl.store(out + 6 * N + i, tl.sqrt(tl.abs(a)))
    tl.store(out + 7 * N + i, tl.rsqrt(tl.abs(a)))
    tl.store(out + 8 * N + i, tl.sigmoid(a))
    tl.store(out + 9 * N + i, tl.softmax(a))


@triton.jit
def casts(x, o_i8, o_i16, o_i32, o_i64, o_u8, o_u16, o_u32, o_u64, o_f16, o_f32, o_f64, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(o_i8 + i, a.to(tl.int8))
    tl.store(o_i16 + i, a.to(tl.int16))
    tl.store(o_i32 + i, a.to(tl.int32))
    tl.store(o_i64 + i, a.to(tl.int64))
    tl.store(o_u8 + i, a.to(tl.uint8))
    tl.store(o_u16 + i, a.to(tl.uint16))
    tl.store(o_u32 + i, a.to(tl.uint32))
    tl.store(o_u64 + i, a.to(tl.uint64))
    tl.store(o_f16 + i, a.to(tl.float16))
    tl.store(o_f32 + i, a.to(tl.float32))
    tl.store(o_f64 + i, a.to(tl.float64))


@triton.jit
def to_bf16(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.bfloat16))


@triton.jit
def to_bool(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.int1).to(tl.int8))


@triton.jit
def eight_bits(x, o_f16, o_f32, o_8, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(o_f16 + i, a.to(tl.float16))
    tl.store(o_f32 + i, a.to(tl.float32))
    tl.store(o_8 + i, (a.to(tl.float32) * 0.7).to(o_8.dtype.element_ty))


@triton.jit
def to_eight_bits(x, o_4, o_5, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(o_4 + i, a.to(tl.float8e4nv))
    tl.store(o_5 + i, a.to(tl.float8e5))


@triton.jit
def toward_zero(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.float16, fp_downcast_rounding="rtz"))


@triton.jit
def bits(x, out, back, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i).to(tl.int32, bitcast=True)
    tl.store(out + i, a)
    tl.store(back + i, (a & 0x7FFFFFFF).to(tl.float32, bitcast=True))


@triton.jit
def float_constants(out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.full((N,), float("-inf"), tl.float32))
    tl.store(out + N + i, tl.full((N,), float("nan"), tl.float32))
    tl.store(out + 2 * N + i, tl.full((N,), -0.0, tl.float32))
    tl.store(out + 3 * N + i, tl.full((N,), 1e-40, tl.float32))
    tl.store(out + 4 * N + i, tl.full((N,), 0.1, tl.float32))
    tl.store(out + 5 * N + i, tl.full((N,), 3.4e38, tl.float32))


@triton.jit
def scalars(out, n, m, f, g, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, (n + i) * f)
    tl.store(out + N + i, (m - i).to(tl.float32) + g)
    tl.store(out + 2 * N, n.to(tl.float32) / m)
