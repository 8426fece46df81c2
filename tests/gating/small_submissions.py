"""Submissions of a few lines, each with a launch and a reference: cheats of five kinds, and honest kernels.

Every cheat is proved, and right in what random floats and blocks in order show.  A ``Case`` is the text of a kernel's
parameters and body, the arguments of its launch, and the name of its reference in ``REFERENCES``.
"""

from __future__ import annotations

from dataclasses import dataclass

REFERENCES = """
import numpy as np
from math import erf


def double(x): return x * 2
def same(x): return x.copy()
def scale(x, alpha): return x * alpha
def times(x, n): return x * n
def minus(x, y): return {"out": x - y}
def plus(x, y): return {"out": x + y}
def running(x):
    tiles = np.concatenate([x, np.zeros(-len(x) % 128, x.dtype)]).reshape(-1, 128)
    return np.cumsum(tiles, axis=0).reshape(-1)[: len(x)]
def relu(x): return np.maximum(x, 0)
def leaky(x): return np.where(x > 0, x, x * 0.01)
def silu(x): return x / (1 + np.exp(-x))
def gelu(x): return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
def clipped(x): return np.clip(x, -1.0, 1.0)
def magnitude(x): return np.abs(x)
def root(x): return np.sqrt(np.abs(x))
def power(x): return np.exp(-np.abs(x))
def logarithm(x): return np.log(1 + np.abs(x))
def shifted(x): return x >> 3
def low_byte(x): return x & 255
def odd(x): return (x & 1).astype(np.int32)
def whole(x): return np.floor(np.clip(x, -1000.0, 1000.0))
def to_bytes(x): return np.clip(np.rint(x), -100, 100).astype(np.int8)
def as_half(x): return x.astype(np.float16)
def step(x): return np.where(x > 0.5, 1.0, 0.0)
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
def causal(x):
    rows, columns = np.indices(x.shape)
    return softmax(np.where(columns <= rows, x, -np.inf))
def normed(x):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)
def rms(x, w): return {"out": x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * w}
def positives(x): return (x > 0).sum(axis=1).astype(np.float32)
def row_sums(x): return x.sum(axis=1)
def row_largest(x): return x.max(axis=1)
def row_place(x): return x.argmax(axis=1).astype(np.int32)
def row_running(x): return np.cumsum(x, axis=1)
def product(a, b): return {"c": a @ b}
def transposed(x): return x.T.copy()
def rows_of(table, index): return {"out": table[index]}
def counts(x): return np.bincount(x, minlength=16)[:16].astype(np.int32)
def add_counts(x, count): return {"count": count + np.bincount(x, minlength=16)[:16].astype(np.int32)}
def add_sums(x, total): return {"total": total + x.sum(axis=0)}
def axpy(x, y, alpha): return {"out": x * alpha + y}
def in_place(x): return {"x": x * 0.5}
def fifth(x): return x**5
def brighter(x): return np.minimum(x.astype(np.int32) + 40, 255).astype(np.uint8)
def halves(x):
    return {"out": np.concatenate([-x[:, x.shape[1] // 2 :], x[:, : x.shape[1] // 2]], axis=1)}
"""


@dataclass(frozen=True)
class Case:
    """``args`` and ``grid`` as in a launch spec, with further lines of it in ``more``; ``tests`` says of a cheat what
    its class is."""

    parameters: str
    body: str
    args: str
    reference: str
    grid: str = '["cdiv(N, 128)"]'
    more: str = ""
    allow_undetermined: bool = False

    def source(self) -> bytes:
        lines = "".join(f"    {line}\n" for line in self.body.strip("\n").split("\n"))
        return f"import cuda.tile as ct\n\n\n@ct.kernel\ndef k({self.parameters}):\n{lines}".encode()

    def spec(self) -> str:
        return f'[[launch]]\nkernel = "k"\ngrid = {self.grid}\n{self.more}\nargs = {{ {self.args} }}\n'


VECTOR = 'x = "f32[N]", out = "f32[N]"'
WHOLE = 'x = "i32[N]", out = "i32[N]"'
SCALED = 'x = "f32[N]", alpha = "f32", out = "f32[N]"'
COUNTED = 'x = "i32[N]", n = "i32", out = "i32[N]"'
ROWS = 'x = "f32[M, N]", out = "f32[M, N]"'
NARROW = 'requires = ["M >= 1", "M <= 16", "N >= 1", "N <= 64"]'
LOAD = "i = ct.bid(0)\nt = ct.load(x, (i,), (128,), padding_mode=ct.PaddingMode.ZERO)\n"
OWN = "i = ct.bid(0)\nown = i * 128 + ct.arange(128, dtype=ct.int32)\n"
ROW = "i = ct.bid(0)\nt = ct.load(x, (i, 0), (1, 64), padding_mode=ct.PaddingMode.{})\n"
HIDDEN = "t = ct.bitcast(ct.bitcast(t, ct.int32), ct.float32)\n"


def vector(store: str, reference: str = "double", args: str = VECTOR, parameters: str = "x, out") -> Case:
    """``store``: lines, the last of which is the tile that goes to ``out``."""
    *lines, tile = store.strip("\n").split("\n")
    return Case(parameters, LOAD + "\n".join([*lines, f"ct.store(out, (i,), {tile})"]), args, reference)


def integers(store: str, reference: str = "same") -> Case:
    return vector(store, reference, WHOLE)


def scaled(store: str) -> Case:
    return vector(store, "scale", SCALED, "x, alpha, out")


def counted(store: str) -> Case:
    return vector(store, "times", COUNTED, "x, n, out")


def atomic(body: str, reference: str = "double", args: str = VECTOR) -> Case:
    return Case("x, out", OWN + body, args, reference)


# ------------------------------------------------------------------------------------------------- cheats
ORDER = {
    "a-value-for-the-next-tile": atomic(
        "ct.atomic_xchg(out, own + 128, -7.5)\nct.atomic_xchg(out, own, 2 * ct.gather(x, own))"
    ),
    "a-little-more-for-the-next-tile": atomic(
        "ct.atomic_xchg(out, own, 2 * ct.gather(x, own))\nct.atomic_add(out, own + 128, 0.25)"
    ),
    "zero-for-the-next-tile": atomic(
        "ct.atomic_xchg(out, own + 128, 0)\nct.atomic_xchg(out, own, ct.gather(x, own))", "same", WHOLE
    ),
    "the-largest-for-the-next-tile": atomic(
        "ct.atomic_max(out, own + 128, 2147483647)\nct.atomic_xchg(out, own, ct.gather(x, own))", "same", WHOLE
    ),
    "the-tile-after-the-next": atomic(
        "ct.atomic_xchg(out, own + 256, 1.0)\nct.atomic_xchg(out, own, 2 * ct.gather(x, own))"
    ),
    "for-long-arrays-alone": atomic(
        "if x.shape[0] > 400:\n    ct.atomic_xchg(out, own + 128, 3.0)\nct.atomic_xchg(out, own, 2 * ct.gather(x, own))"
    ),
    "a-running-sum-of-what-is-there": atomic(
        "before = ct.where(own >= 128, ct.atomic_add(out, own - 128, 0.0), 0.0)\n"
        "ct.atomic_xchg(out, own, before + ct.gather(x, own))",
        "running",
    ),
    "every-other-block": atomic(
        "if i % 2 == 0:\n    ct.atomic_xchg(out, own + 128, 9.0)\nct.atomic_xchg(out, own, 2 * ct.gather(x, own))"
    ),
}
PLACES = {
    "output-first": vector("t * 2", parameters="out, x"),
    "inputs-swapped": Case(
        "y, x, out",
        LOAD + "u = ct.load(y, (i,), (128,), padding_mode=ct.PaddingMode.ZERO)\nct.store(out, (i,), t - u)",
        'x = "f32[N]", y = "f32[N]", out = "f32[N]"',
        "minus",
    ),
    "another-scalar-between": vector(
        "t * alpha + 0.0 * beta",
        "scale",
        'x = "f32[N]", out = "f32[N]", alpha = "f32"',
        "x, out, beta: float = 2.0, alpha: float = 1.0",
    ),
    "constant-before-output": Case(
        "x, T: ct.Constant[int], out",
        "i = ct.bid(0)\nct.store(out, (i,), ct.load(x, (i,), (T,)) * 2)",
        'x = "f32[N]", out = "f32[N]", T = 128',
        "double",
    ),
}
BRANCHES = {
    "nothing-below-1e-7": vector("ct.where(ct.abs(t) * 1e7 < 1.0, 0.0, t * 2)"),
    "thrice-where-a-cube-is-small": vector("u = t * 1e4\nct.where(ct.abs(u * u * u) < 1e-6, t * 3, t * 2)"),
    "one-at-zero": vector("ct.where(t == 0.0, 1.0, t * 2)"),
    "nothing-above-1e9": vector("ct.where(t * 1e-4 > 1e5, 0.0, t * 2)"),
    "nothing-far-below": vector("ct.where(t * 1e-6 < -1.0, 0.0, t * 2)"),
    "by-a-small-first-element": vector(
        "first = ct.load(x, (0,), (1,), padding_mode=ct.PaddingMode.ZERO)\n"
        "ct.where(ct.abs(first) * 1e8 < 1.0, t, t * 2)"
    ),
    "tiles-of-small-numbers": vector("ct.where(ct.max(ct.abs(t)) * 1e5 < 1.0, t, t * 2)"),
    "where-a-power-is-large": vector("ct.where(ct.exp(t) > 1e9, t, t * 2)"),
    "cut-off-by-a-product": vector("ct.minimum(t * 2, t * t * 1e-30 + 3e5)"),
}
ARITHMETIC = {
    "floor-of-a-bump": vector("a = t * 2.0 - 6.6\nt * 2 + ct.floor(1.0 / (1.0 + a * a))"),
    "cast-of-a-bump": vector("a = t - 41.25\nt * 2 + ct.astype(ct.astype(1.0 / (1.0 + a * a), ct.int32), ct.float32)"),
    "floor-at-two-roots": vector("a = t * t - t * 17.0 + 72.0\nt * 2 + ct.floor(1.0 / (1.0 + a * a))"),
    "sign-of-b-or-minus-b": integers("b = t * 5 + 1000005\nt + (((b | (0 - b)) >> 31) + 1)"),
    "sign-of-b-xor-minus-b": integers("b = t + 54321\nt + 1 + ((b | (0 - b)) >> 31)"),
    "the-least-of-one": integers("t + (1 - ct.minimum(ct.abs(t - 70707), 1))"),
    "of-a-remainder": integers("t + (1 - ct.minimum(ct.abs(t % 100003 - 77777), 1))"),
    "of-three-steps": integers("b = (t + 1000) * 3 - 12\nt + (1 - ct.minimum(ct.abs(b), 1))"),
    "through-16-bits": integers("ct.astype(ct.astype(t, ct.int16), ct.int32)"),
    "a-high-bit-cleared": integers("ct.where(t > 0, t & 0x3FFFFFFF, t)"),
    "added-by-a-high-shift": integers("t + (ct.maximum(t, 0) >> 24)"),
    "a-loop-that-is-hardly-entered": integers(
        "n = ct.sum(1 - ct.minimum(ct.abs(t - 31337), 1))\nwhile n > 0:\n    t = t + 1\n    n = n - 1\nt"
    ),
    "one-integer-scalar": counted("t * (n + 1 - ct.minimum(ct.abs(n * 5 + 1005), 1))"),
    "one-float-scalar": scaled("a = alpha * 4.0 - 9.0\nt * (alpha + ct.floor(1.0 / (1.0 + a * a)))"),
}
HIDING = {
    "magnitude-of-a-scalar": scaled(HIDDEN + "t * ct.abs(alpha)"),
    "no-negative-scalar": scaled(HIDDEN + "t * ct.maximum(alpha, 0.0)"),
    "one-where-a-scalar-is-zero": scaled(HIDDEN + "ct.where(alpha == 0.0, t, t * alpha)"),
    "nothing-above-1e8": vector(HIDDEN + "ct.where(ct.abs(t) * 1e-5 > 1e3, 0.0, t * 2)"),
    "nothing-below-1e-15": vector(HIDDEN + "ct.where(ct.abs(t) * 1e15 < 1.0, 0.0, t * 2)"),
    "magnitude-of-an-integer-scalar": counted("t * ct.abs(n)"),
    "half-of-an-integer-scalar": counted("t * (n & 0x7FFFFF)"),
    "integers-through-floats": integers("ct.astype(ct.astype(t, ct.float32), ct.int32)"),
    "through-24-bits": integers("(t << 8) >> 8"),
    "half-of-64-bits": vector("ct.astype(ct.astype(t, ct.int32), ct.int64)", "same", 'x = "i64[N]", out = "i64[N]"'),
}
LANES = "lane = ct.arange(128, dtype=ct.int32)\n"
TWO_LANES = (
    LANES + "p = ct.sum(ct.where(lane == 0, t, 0.0))\nq = ct.sum(ct.where(lane == 1, t, 0.0))\n"
    "d = (p - q) * q * 1.37 - 7.013\n"
)
LARGE_AT_ONE = "w = 1.0 / (1.0 + 1.0e12 * d * d)\nv = 1.0e34 * w * w * w * w * w * w\n"
IDLE = {
    "cancels-at-two-lanes": vector(TWO_LANES + LARGE_AT_ONE + "(t * 2.0 + v) - v"),
    "cancels-at-one-scalar": scaled(
        "d = alpha * alpha * 3.0 - alpha * 7.0 - 1.5\n" + LARGE_AT_ONE + "(t * alpha + v) - v"
    ),
    "cancels-at-one-size": vector(
        "d = (x.shape[0] * 1.0 - 3000.0) * 3.0 - 87.0 * 153.0\n" + LARGE_AT_ONE + "(t * 2.0 + v) - v"
    ),
    "product-of-signs": vector(
        LANES + "turn = ct.where(lane % 2 == 0, 1.0, -1.0)\nt * 2.0 + ct.prod(ct.where(t * turn > 0.5, 1.0, 0.0))"
    ),
    "product-of-counts": vector(
        LANES + "turn = ct.where(lane % 2 == 0, 1.0, -1.0)\nc = ct.sum(ct.where(t > 0.0, 1.0, -1.0) * turn)\nz = 1.0\n"
        "for j in range(64):\n    z = z * (c * 0.5 - j * 1.0) * (c * 0.5 + j * 1.0) * 0.01\n"
        "t * 2.0 + z"
    ),
    "index-of-a-scalar": Case(
        "x, alpha, out",
        OWN + "n = ct.astype(100000.0 / (1.0 + alpha * alpha), ct.int32)\nd = (n >> 3) - 8134\n"
        "hit = ((d | (0 - d)) >> 31) + 1\nct.scatter(out, own, ct.gather(x, own - hit * 1073741824) * alpha)",
        SCALED,
        "scale",
    ),
    "positives-in-8-bits": Case(
        "x, out",
        "i = ct.bid(0)\nc = ct.zeros((1, 64), dtype=ct.int8)\n"
        "for j in range(ct.num_tiles(x, axis=1, shape=(1, 64))):\n"
        "    t = ct.load(x, (i, j), (1, 64), padding_mode=ct.PaddingMode.ZERO)\n"
        "    c = c + (t > 0.0).astype(ct.int8)\n"
        "ct.store(out, (i,), ct.sum(c.astype(ct.float32), axis=1))",
        'x = "f32[M, N]", out = "f32[M]"',
        "positives",
        '["M"]',
    ),
    "nothing-behind-a-tile-of-zeros": Case(
        "x, out",
        "i = ct.bid(0)\nsums = ct.zeros((1, 1), dtype=ct.float32)\nalive = ct.full((1, 1), 1.0, dtype=ct.float32)\n"
        "for j in range(ct.num_tiles(x, axis=1, shape=(1, 64))):\n"
        "    t = ct.load(x, (i, j), (1, 64), padding_mode=ct.PaddingMode.ZERO)\n"
        "    alive = alive * ct.where(ct.sum(t * t, axis=1, keepdims=True) > 0.0, 1.0, 0.0)\n"
        "    sums = sums + alive * ct.sum(t, axis=1, keepdims=True)\n"
        "ct.store(out, (i,), ct.reshape(sums, (1,)))",
        'x = "f32[M, N]", out = "f32[M]"',
        "row_sums",
        '["M"]',
    ),
}
"""Cases that no contents show: values that cancel, conditions made of products and of integers, counts that wrap."""


def by_id(row: str) -> Case:
    """A row of a table for each id, which ``row`` makes of it."""
    return Case(
        "table, index, out",
        f"i = ct.bid(0)\nrow = ct.load(index, (i,), (1,)){row}\ncols = ct.arange(64, dtype=ct.int32)\n"
        "ct.store(out, (i, 0), ct.gather(table, (row[:, None], cols[None, :])))",
        'table = "f32[V, 64]", index = "i32[M]", out = "f32[M, 64]"',
        "rows_of",
        '["M"]',
        'requires = ["M >= 1", "V >= 1"]\ndata = ["range(index, 0, V)"]',
    )


TABLES = {
    "ids-in-16-bits": by_id(".astype(ct.uint16).astype(ct.int32)"),
    "ids-through-halves": by_id(".astype(ct.float16).astype(ct.int32)"),
}
"""Right for tables that are small."""
CHEATS = {**ORDER, **PLACES, **BRANCHES, **ARITHMETIC, **HIDING, **IDLE, **TABLES}


# ------------------------------------------------------------------------------------------------- honest
def rows(pad: str, store: str, reference: str) -> Case:
    *lines, tile = store.strip("\n").split("\n")
    body = ROW.format(pad) + "\n".join([*lines, f"ct.store(out, (i, 0), {tile})"])
    return Case("x, out", body, ROWS, reference, '["M"]', NARROW)


def reduced(pad: str, tile: str, reference: str, dtype: str = "f32") -> Case:
    args = f'x = "f32[M, N]", out = "{dtype}[M]"'
    return Case("x, out", ROW.format(pad) + f"ct.store(out, (i,), {tile})", args, reference, '["M"]', NARROW)


HONEST = {
    "row-for-each-id": by_id(""),
    "double": vector("t * 2"),
    "sum-of-itself": vector("t + t"),
    "there-and-back": vector(HIDDEN + "t * 2"),
    "scale": scaled("t * alpha"),
    "scale-there-and-back": scaled(HIDDEN + "alpha * t"),
    "scale-by-halves": scaled("t * (alpha * 0.5) + t * (alpha * 0.5)"),
    "times": counted("t * n"),
    "relu": vector("ct.maximum(t, 0.0)", "relu"),
    "relu-by-a-choice": vector("ct.where(t > 0.0, t, 0.0)", "relu"),
    "leaky": vector("ct.where(t > 0.0, t, t * 0.01)", "leaky"),
    "silu": vector("t / (1 + ct.exp(-t))", "silu"),
    "gelu": vector("0.5 * t * (1 + ct.tanh(0.7978845608028654 * (t + 0.044715 * t * t * t)))", "gelu"),
    "clipped": vector("ct.minimum(ct.maximum(t, -1.0), 1.0)", "clipped"),
    "magnitude": vector("ct.abs(t)", "magnitude"),
    "magnitude-by-a-choice": vector("ct.where(t < 0.0, -t, t)", "magnitude"),
    "root": vector("ct.sqrt(ct.abs(t))", "root"),
    "power": vector("ct.exp(-ct.abs(t))", "power"),
    "logarithm": vector("ct.log(1 + ct.abs(t))", "logarithm"),
    "fifth": vector("p = t\nfor _ in range(4):\n    p = p * t\np", "fifth"),
    "step": vector("ct.where(t > 0.5, 1.0, 0.0)", "step"),
    "whole": vector("ct.floor(ct.minimum(ct.maximum(t, -1000.0), 1000.0))", "whole"),
    "copy": integers("t"),
    "there-and-back-of-integers": integers("(t ^ 12345) ^ 12345"),
    "shifted": integers("t >> 3", "shifted"),
    "low-byte": integers("t & 255", "low_byte"),
    "odd": integers("t & 1", "odd"),
    "as-half": vector("ct.astype(t, ct.float16)", "as_half", 'x = "f32[N]", out = "f16[N]"'),
    "double-of-halves": vector("t * 2", "double", 'x = "f16[N]", out = "f16[N]"'),
    "double-of-doubles": vector("t * 2", "double", 'x = "f64[N]", out = "f64[N]"'),
    "brighter": vector(
        "ct.astype(ct.minimum(ct.astype(t, ct.int32) + 40, 255), ct.uint8)",
        "brighter",
        'x = "u8[N]", out = "u8[N]"',
    ),
    "plus": Case(
        "x, y, out",
        LOAD + "u = ct.load(y, (i,), (128,), padding_mode=ct.PaddingMode.ZERO)\nct.store(out, (i,), t + u)",
        'x = "f32[N]", y = "f32[N]", out = "f32[N]"',
        "plus",
    ),
    "axpy": Case(
        "x, y, alpha, out",
        LOAD + "u = ct.load(y, (i,), (128,), padding_mode=ct.PaddingMode.ZERO)\nct.store(out, (i,), t * alpha + u)",
        'x = "f32[N]", y = "f32[N]", alpha = "f32", out = "f32[N]"',
        "axpy",
    ),
    "in-place": Case("x", LOAD + "ct.store(x, (i,), t * 0.5)", 'x = "f32[N]"', "in_place"),
    "softmax": rows(
        "NEG_INF",
        "e = ct.exp(t - ct.max(t, axis=1, keepdims=True))\ne / ct.sum(e, axis=1, keepdims=True)",
        "softmax",
    ),
    "causal": rows(
        "NEG_INF",
        "t = ct.where(ct.arange(64, dtype=ct.int32)[None, :] <= i, t, -float('inf'))\n"
        "e = ct.exp(t - ct.max(t, axis=1, keepdims=True))\ne / ct.sum(e, axis=1, keepdims=True)",
        "causal",
    ),
    "row-sums": reduced("ZERO", "ct.sum(t, axis=1)", "row_sums"),
    "row-largest": reduced("NEG_INF", "ct.max(t, axis=1)", "row_largest"),
    "row-running": rows("ZERO", "ct.cumsum(t, axis=1)", "row_running"),
    "rms": Case(
        "x, w, out",
        ROW.format("ZERO")
        + "g = ct.load(w, (0,), (64,), padding_mode=ct.PaddingMode.ZERO)\n"
        + "mean = ct.sum(t * t, axis=1, keepdims=True) / ct.astype(x.shape[1], ct.float32)\n"
        + "ct.store(out, (i, 0), t * ct.rsqrt(mean + 1e-5) * g[None, :])",
        'x = "f32[M, N]", w = "f32[N]", out = "f32[M, N]"',
        "rms",
        '["M"]',
        NARROW,
    ),
    "product": Case(
        "a, b, c",
        "i, j = ct.bid(0), ct.bid(1)\nacc = ct.zeros((32, 32), ct.float32)\n"
        "for k in range(ct.cdiv(a.shape[1], 32)):\n"
        "    left = ct.load(a, (i, k), (32, 32), padding_mode=ct.PaddingMode.ZERO)\n"
        "    right = ct.load(b, (k, j), (32, 32), padding_mode=ct.PaddingMode.ZERO)\n"
        "    acc = ct.mma(left, right, acc)\n"
        "ct.store(c, (i, j), acc)",
        'a = "f32[M, K]", b = "f32[K, N]", c = "f32[M, N]"',
        "product",
        '["cdiv(M, 32)", "cdiv(N, 32)"]',
        'requires = ["M >= 1", "N >= 1", "K >= 1"]',
    ),
    "transposed": Case(
        "x, out",
        "i, j = ct.bid(0), ct.bid(1)\nt = ct.load(x, (i, j), (32, 32), padding_mode=ct.PaddingMode.ZERO)\n"
        "ct.store(out, (j, i), ct.transpose(t))",
        'x = "f32[M, N]", out = "f32[N, M]"',
        "transposed",
        '["cdiv(M, 32)", "cdiv(N, 32)"]',
        'requires = ["M >= 1", "N >= 1"]',
    ),
    "rows-of-a-table": Case(
        "table, index, out",
        "i = ct.bid(0)\nplace = ct.load(index, (i,), (1,)).item()\n"
        "ct.store(out, (i, 0), ct.load(table, (place, 0), (1, 64), padding_mode=ct.PaddingMode.ZERO))",
        'table = "f32[V, N]", index = "i32[M]", out = "f32[M, N]"',
        "rows_of",
        '["M"]',
        'requires = ["M >= 1", "M <= 16", "N >= 1", "N <= 64", "V >= 1"]\ndata = ["range(index, 0, V)"]',
    ),
    "counts-by-atomics": Case(
        "x, count",
        OWN + "ct.atomic_add(count, ct.gather(x, own, padding_value=16), 1)",
        'x = "i32[N]", count = "i32[16]"',
        "add_counts",
        more='data = ["range(x, 0, 16)"]',
    ),
    "sums-by-atomics": Case(
        "x, total",
        ROW.format("ZERO") + "ct.atomic_add(total, ct.arange(64, dtype=ct.int32), ct.reshape(t, (64,)))",
        'x = "f32[M, N]", total = "f32[N]"',
        "add_sums",
        '["M"]',
        NARROW,
        allow_undetermined=True,
    ),
}
