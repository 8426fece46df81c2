"""Triton submissions: thirty that are right, and thirty that are wrong in the ways that people and models are.

A ``TritonCase`` is the text of kernels, the launch that the caller vouches for, the name of a reference in
``REFERENCES`` (none: the proof alone judges), and, of a wrong one, the reason's id with words of its answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

REFERENCES: Final = """
import numpy as np


def add(x, y): return x + y
def scale(x, factor): return x * factor
def relu(x): return np.maximum(x, 0)
def silu(x): return x / (1 + np.exp(-x))
def halved(x): return {"x": x * 0.5}
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
def row_sums(x): return x.sum(axis=1)
def row_largest(x): return x.max(axis=1)
def rms(x, w): return {"out": x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * w}
def product(a, b): return {"c": a @ b}
def transposed(x): return x.T.copy()
def rows_of(table, index): return {"out": table[index]}
def padded_rows(table, index): return {"out": np.where((index >= 0)[:, None], table[index], 0)}
def running(x): return np.cumsum(x, axis=1)
def total(x): return {"total": x.sum(keepdims=True)}
def counts(x): return np.bincount(x, minlength=16)[:16].astype(np.int32)
def first(x): return {"flag": x[:1] * 2}
def swiglu(a, b): return {"out": a / (1 + np.exp(-a)) * b}
"""

HEAD: Final = "import triton\nimport triton.language as tl\n\n\n"


@dataclass(frozen=True)
class TritonCase:
    """``reason``: the id of what speaks against it, empty where nothing does; ``words``: of the answer."""

    kernels: str
    spec: str
    reference: str = ""
    reason: str = ""
    words: str = ""

    def source(self) -> bytes:
        return (HEAD + self.kernels.lstrip("\n")).encode()


def launch(args: str, grid: str, kernel: str = "k", more: str = "") -> str:
    """A spec of one launch; ``more``: further lines."""
    return f'[[launch]]\nkernel = "{kernel}"\ngrid = {grid}\n{more}\nargs = {{ {args} }}\n'


LINE: Final = launch('x = "f32[n]", out = "f32[n]", n = "i32", BLOCK = 128', '["cdiv(n, 128)"]')
TWO: Final = launch('x = "f32[n]", y = "f32[n]", out = "f32[n]", n = "i32", BLOCK = 128', '["cdiv(n, 128)"]')
TUNED: Final = launch('x = "f32[n]", out = "f32[n]", n = "i32"', '["cdiv(n, BLOCK)"]')
ROWS: Final = launch(
    'x = "f32[M, N]", out = "f32[M, N]", N = "i32", BLOCK = 64', '["M"]', more='requires = ["N >= 1", "N <= 64"]'
)
SUMS: Final = launch(
    'x = "f32[M, N]", out = "f32[M]", N = "i32", BLOCK = 64', '["M"]', more='requires = ["N >= 1", "N <= 64"]'
)
GRID: Final = launch(
    'x = "f32[M, N]", out = "f32[N, M]", M = "i32", N = "i32", BLOCK = 16', '["cdiv(M, 16)", "cdiv(N, 16)"]',
    more='requires = ["M <= 4096", "N <= 4096"]',
)  # fmt: skip
PRODUCT: Final = launch(
    'a = "f32[M, K]", b = "f32[K, N]", c = "f32[M, N]", M = "i32", N = "i32", K = "i32", BM = 16, BN = 16, BK = 16',
    '["cdiv(M, 16)", "cdiv(N, 16)"]',
    more='requires = ["M <= 4096", "N <= 4096", "K <= 4096"]',
)
GATHER: Final = launch(
    'table = "f32[V, D]", index = "i32[B]", out = "f32[B, D]", D = "i32", BLOCK = 32',
    '["B"]',
    more='requires = ["D >= 1", "D <= 32", "V >= 1", "V <= 2**20"]\ndata = ["range(index, 0, V)"]',
)
PADDED: Final = GATHER.replace("range(index, 0, V)", "range(index, -1, V)")
TOTAL: Final = launch('x = "i32[n]", total = "i32[1]", n = "i32", BLOCK = 128', '["cdiv(n, 128)"]')
INPLACE: Final = launch('x = "f32[n]", n = "i32", BLOCK = 128', '["cdiv(n, 128)"]')
WIDE: Final = launch(
    'x = "f16[M, N]", out = "f16[M, N]", N = "i32", BLOCK = 128', '["M", "cdiv(N, 128)"]',
    more='requires = ["M <= 2**20", "N <= 2**20"]',
)  # fmt: skip

START = "@triton.jit\ndef k(x, out, n, BLOCK: tl.constexpr):\n"
AT = "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
ROW = "@triton.jit\ndef k(x, out, N, BLOCK: tl.constexpr):\n    row = tl.program_id(0)\n    at = tl.arange(0, BLOCK)\n"
MASKED_ROW = ROW + "    live = at < N\n"
MATMUL = """
@triton.jit
def k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        at = start + inner
        left = tl.load(a + rows[:, None] * K + at[None, :], mask=(rows[:, None] < M) & (at[None, :] < K), other=0.0)
        inside = (at[:, None] < K) & (columns[None, :] < N)
        right = tl.load(b + at[:, None] * N + columns[None, :], mask=inside, other=0.0)
        acc += tl.dot(left, right, input_precision="ieee")
    tl.store(c + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))
"""
ADD = """
@triton.jit
def k(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    tl.store(out + at, tl.load(x + at, mask=live) + tl.load(y + at, mask=live), mask=live)
"""
SOFTMAX = (
    MASKED_ROW
    + """    v = tl.load(x + row * N + at, mask=live, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * N + at, e / tl.sum(e, axis=0), mask=live)
"""
)
SUM = MASKED_ROW + "    tl.store(out + row, tl.sum(tl.load(x + row * N + at, mask=live, other=0.0), axis=0))\n"
TRANSPOSED = """
@triton.jit
def k(x, out, M, N, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = (rows[:, None] < M) & (columns[None, :] < N)
    v = tl.load(x + rows[:, None] * N + columns[None, :], mask=live)
    tl.store(out + columns[None, :] * M + rows[:, None], v, mask=live)
"""
BOTH = "(rows[:, None] < M) & (columns[None, :] < N)"
TAKE = """
@triton.jit
def k(table, index, out, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    taken = tl.load(index + row)
    v = tl.load(table + taken * D + at, mask=at < D)
    tl.store(out + row * D + at, v, mask=at < D)
"""
COUNT = """
@triton.jit
def k(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + at, mask=at < n, other=0), axis=0))
"""
HALVE = """
@triton.jit
def k(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 0.5, mask=at < n)
"""
COPY = START + AT + "    tl.store(out + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)\n"
TUNING = (
    "@triton.autotune(configs=[triton.Config({'BLOCK': 64}, num_warps=2), triton.Config({'BLOCK': 256})], key=['n'])\n"
)
RMS = """
@triton.jit
def k(x, w, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    live = at < N
    v = tl.load(x + row * N + at, mask=live, other=0.0)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / N + 1e-5)
    tl.store(out + row * N + at, v * scale * tl.load(w + at, mask=live), mask=live)
"""
WEIGHTED = launch(
    'x = "f32[M, N]", w = "f32[N]", out = "f32[M, N]", N = "i32", BLOCK = 64', '["M"]',
    more='requires = ["N >= 1", "N <= 64"]',
)  # fmt: skip
HANDED = """
@triton.jit
def k(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, at)
    {barrier}
    v = tl.load(x + (BLOCK - 1 - at))
    {barrier}
    tl.store(x + at, v)
"""
ONE = launch('x = "i32[64]", BLOCK = 64', "[1]")
WIDE_COPY = """
@triton.jit
def k(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0){wide}
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + row * N + at, tl.load(x + row * N + at, mask=at < N), mask=at < N)
"""
STEPS = launch('x = "f32[n]", out = "f32[n]", n = "i32", BLOCK = 128', "[8]")
STEPPED = """
@triton.jit
def k(x, out, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + at, tl.maximum(tl.load(x + at, mask=at < n), 0.0), mask=at < n)
"""
TICKET = launch('x = "i32[n]", total = "i32[1]", flag = "i32[1]", n = "i32", BLOCK = 128', '["cdiv(n, 128)"]')

RIGHT: Final = {
    "add": TritonCase(ADD, TWO, "add"),
    "scale": TritonCase(
        "@triton.jit\ndef k(x, out, factor, n, BLOCK: tl.constexpr):\n"
        + AT
        + "    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)\n",
        launch('x = "f32[n]", out = "f32[n]", factor = "f32", n = "i32", BLOCK = 128', '["cdiv(n, 128)"]'),
        "scale",
    ),
    "relu-by-where": TritonCase(
        START
        + AT
        + "    v = tl.load(x + at, mask=at < n)\n    tl.store(out + at, tl.where(v > 0, v, 0.0), mask=at < n)\n",
        LINE,
        "relu",
    ),
    "silu-by-sigmoid": TritonCase(
        START + AT + "    v = tl.load(x + at, mask=at < n)\n    tl.store(out + at, v * tl.sigmoid(v), mask=at < n)\n",
        LINE,
        "silu",
    ),
    "early-return": TritonCase(
        START
        + "    if tl.program_id(0) * BLOCK >= n:\n        return\n"
        + AT
        + "    tl.store(out + at, tl.maximum(tl.load(x + at, mask=at < n), 0.0), mask=at < n)\n",
        LINE,
        "relu",
    ),
    "steps-over-the-grid": TritonCase(STEPPED, STEPS, "relu"),
    "in-place": TritonCase(HALVE, INPLACE, "halved"),
    "softmax": TritonCase(SOFTMAX, ROWS, "softmax"),
    "row-sums": TritonCase(SUM, SUMS, "row_sums"),
    "row-largest": TritonCase(
        SUM.replace("tl.sum(", "tl.max(").replace("other=0.0", 'other=float("-inf")'), SUMS, "row_largest"
    ),
    "rms": TritonCase(RMS, WEIGHTED, "rms"),
    "product": TritonCase(MATMUL, PRODUCT, "product"),
    "transposed": TritonCase(TRANSPOSED, GRID, "transposed"),
    "rows-of-a-table": TritonCase(TAKE, GATHER, "rows_of"),
    "padding-is-masked": TritonCase(
        TAKE.replace("mask=at < D)\n    tl.store", "mask=(at < D) & (taken >= 0), other=0.0)\n    tl.store"),
        PADDED,
        "padded_rows",
    ),
    "running-sums": TritonCase(
        MASKED_ROW + "    v = tl.load(x + row * N + at, mask=live, other=0.0)\n"
        "    tl.store(out + row * N + at, tl.cumsum(v, axis=0), mask=live)\n",
        ROWS,
        "running",
    ),
    "total-by-atomic": TritonCase(COUNT, TOTAL),
    "barrier-before-read-back": TritonCase(HANDED.format(barrier="tl.debug_barrier()"), ONE),
    "order-of-the-program": TritonCase(HANDED.format(barrier="pass"), ONE.replace("grid", 'order = "program"\ngrid')),
    "rows-in-64-bits": TritonCase(WIDE_COPY.format(wide=".to(tl.int64)"), WIDE),
    "tuned": TritonCase(TUNING + COPY.replace("* 2.0", "+ 0.0"), TUNED),
    "tuned-by-a-list": TritonCase(
        "CONFIGS = [triton.Config({'BLOCK': b}, num_warps=w) for b in (64, 128) for w in (2, 4)]\n\n\n"
        "@triton.autotune(configs=CONFIGS, key=['n'])\n" + COPY,
        TUNED,
    ),
    "helper": TritonCase(
        "@triton.jit\ndef twice(v):\n    return v + v\n\n\n"
        + COPY.replace("tl.load(x + at, mask=at < n) * 2.0", "twice(tl.load(x + at, mask=at < n))"),
        LINE,
    ),
    "own-combination": TritonCase(
        "@triton.jit\ndef larger(a, b):\n    return tl.maximum(a, b)\n\n\n"
        + MASKED_ROW
        + '    v = tl.load(x + row * N + at, mask=live, other=float("-inf"))\n'
        "    tl.store(out + row, tl.reduce(v, 0, larger))\n",
        SUMS,
        "row_largest",
    ),
    "libdevice": TritonCase(
        "from triton.language.extra import libdevice\n\n\n"
        + START
        + AT
        + "    tl.store(out + at, libdevice.erf(tl.load(x + at, mask=at < n)), mask=at < n)\n",
        LINE,
    ),
    "global-constant": TritonCase("HALF = tl.constexpr(0.5)\n\n\n" + COPY.replace("2.0", "HALF"), LINE),
    "promise-that-holds": TritonCase(
        START + "    tl.assume(n >= 0)\n    at = tl.multiple_of(tl.program_id(0) * BLOCK, 128) + tl.arange(0, BLOCK)\n"
        "    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)\n",
        LINE,
    ),
    "unrolled": TritonCase(
        START + "    for part in tl.static_range(2):\n"
        "        at = tl.program_id(0) * BLOCK + part * (BLOCK // 2) + tl.arange(0, BLOCK // 2)\n"
        "        tl.store(out + at, tl.maximum(tl.load(x + at, mask=at < n), 0.0), mask=at < n)\n",
        LINE,
        "relu",
    ),
    "one-program-writes": TritonCase(
        "@triton.jit\ndef k(x, flag):\n    if tl.program_id(0) == 0:\n        tl.store(flag, tl.load(x) * 2)\n",
        launch('x = "i32[n]", flag = "i32[1]"', '["n"]', more='requires = ["n >= 1"]'),
        "first",
    ),
    "swiglu": TritonCase(
        "@triton.jit\ndef k(a, b, out, n, BLOCK: tl.constexpr):\n" + AT + "    u = tl.load(a + at, mask=at < n)\n"
        "    tl.store(out + at, u / (1.0 + tl.exp(-u)) * tl.load(b + at, mask=at < n), mask=at < n)\n",
        launch('a = "f32[n]", b = "f32[n]", out = "f32[n]", n = "i32", BLOCK = 128', '["cdiv(n, 128)"]'),
        "swiglu",
    ),
}

WRONG: Final = {
    # tails and masks
    "no-mask": TritonCase(ADD.replace(", mask=live", ""), TWO, "add", "TV302", "mask="),
    "no-mask-on-the-store": TritonCase(
        ADD.replace("mask=live)\n", ")\n").replace(", )", ")"), TWO, "add", "TV302", "mask="
    ),
    "no-mask-on-a-load": TritonCase(
        ADD.replace("tl.load(y + at, mask=live)", "tl.load(y + at)"), TWO, "add", "TV302", "mask="
    ),
    "one-too-many": TritonCase(ADD.replace("at < n", "at <= n"), TWO, "add", "TV302", "mask="),
    "mask-of-one-axis": TritonCase(
        TRANSPOSED.replace(BOTH, "rows[:, None] < M"),
        GRID,
        "transposed",
        "TV302",
        "every axis",
    ),
    "mask-of-the-wrong-axis": TritonCase(
        TRANSPOSED.replace(BOTH, "(rows[:, None] < N) & (columns[None, :] < M)"),
        GRID,
        "transposed",
        "TV302",
        "every axis",
    ),
    "rows-without-a-mask": TritonCase(
        ROW + "    tl.store(out + row * N + at, tl.load(x + row * N + at, mask=at < N))\n", ROWS, "", "TV101", "mask="
    ),
    "block-of-another-size": TritonCase(ADD.replace("* BLOCK +", "* 64 +"), TWO, "add", "TV101", "program ids"),
    "tail-of-the-inner-loop": TritonCase(
        MATMUL.replace(" & (at[None, :] < K)", "").replace("(at[:, None] < K) & ", ""),
        PRODUCT,
        "product",
        "TV302",
        "mask=",
    ),
    "tuned-tail": TritonCase(
        (TUNING + COPY).replace("mask=at < n", "mask=at >= 0"),
        TUNED.replace('"f32[n]"', '"f32[64 * cdiv(n, 64)]"'),
        "",
        "TV302",
        "BLOCK=256",
    ),
    # wraps
    "rows-in-32-bits": TritonCase(
        WIDE_COPY.format(wide=""),
        WIDE.replace("M <= 2**20", "M >= 2**17").replace("N <= 2**20", "N >= 2**17"),
        "",
        "TV101",
        ".to(tl.int64)",
    ),
    # what is open
    "sum-without-other": TritonCase(SUM.replace(", other=0.0", ""), SUMS, "row_sums", "TV403", "other="),
    "maximum-without-other": TritonCase(
        SOFTMAX.replace(', other=float("-inf")', ""), ROWS, "softmax", "TV403", "other="
    ),
    "product-without-other": TritonCase(MATMUL.replace(", other=0.0", ""), PRODUCT, "product", "TV403", "other="),
    # indices from data
    "padding-is-an-index": TritonCase(TAKE, PADDED, "padded_rows", "TV302", ">= 0"),
    "index-of-any-value": TritonCase(
        TAKE, GATHER.replace('\ndata = ["range(index, 0, V)"]', ""), "rows_of", "TV901", "mask="
    ),
    "scatter-of-any-index": TritonCase(
        TAKE.replace("table + taken * D", "table + row * D").replace("out + row * D", "out + taken * D"),
        GATHER.replace("range(index, 0, V)", "range(index, 0, B)")
        .replace("f32[V, D]", "f32[B, D]")
        .replace(', "V >= 1", "V <= 2**20"', ""),
        "",
        "TV901",
        "tl.atomic_add",
    ),
    # order
    "read-back-without-a-barrier": TritonCase(HANDED.format(barrier="pass"), ONE, "", "TV201", "tl.debug_barrier()"),
    "shifted-in-place": TritonCase(
        HALVE.replace("tl.load(x + at, mask=at < n)", "tl.load(x + at + 1, mask=at + 1 < n, other=0.0)"),
        INPLACE,
        "",
        "TV102",
        "another array",
    ),
    # races and atomics
    "every-program-adds": TritonCase(
        COUNT.replace("tl.atomic_add(total, ", "tl.store(total, tl.load(total) + "), TOTAL, "", "TV101", "tl.atomic_add"
    ),
    "every-program-writes": TritonCase(
        "@triton.jit\ndef k(x, flag):\n    tl.store(flag, tl.load(x + tl.program_id(0)))\n",
        launch('x = "i32[n]", flag = "i32[1]"', '["n"]'),
        "",
        "TV101",
        "if tl.program_id(0) == 0",
    ),
    "reads-a-counter": TritonCase(
        COUNT.replace("def k(x, total, n", "def k(x, total, flag, n")
        + "    if tl.program_id(0) == 0:\n        tl.store(flag, tl.load(total))\n",
        TICKET,
        "",
        "TV103",
        "tl.atomic",
    ),
    "lanes-of-one-element": TritonCase(
        START + AT + "    tl.store(out + at // 2, tl.load(x + at, mask=at < n), mask=at < n)\n",
        LINE,
        "",
        "TV202",
        "mask all but one",
    ),
    # values
    "minus": TritonCase(ADD.replace(") + tl.load(", ") - tl.load("), TWO, "add", "wrong-result"),
    "other-is-one": TritonCase(SUM.replace("other=0.0", "other=1.0"), SUMS, "row_sums", "wrong-result"),
    "maximum-of-zeros": TritonCase(SUM.replace("tl.sum(", "tl.max("), SUMS, "row_largest", "wrong-result"),
    "sum-of-a-part": TritonCase(SUM.replace("live = at < N", "live = at < N - 1"), SUMS, "row_sums", "wrong-result"),
    "half-is-written": TritonCase(
        ADD.replace("mask=live)\n", "mask=live & (at % 2 == 0))\n"), TWO, "add", "not-written"
    ),
    # promises
    "multiple-that-is-none": TritonCase(
        START + "    start = tl.multiple_of(tl.program_id(0) * (BLOCK - 1), 128)\n"
        "    at = start + tl.arange(0, BLOCK)\n"
        "    tl.store(out + at, tl.load(x + at, mask=at < n), mask=(at < n) & (tl.arange(0, BLOCK) < BLOCK - 1))\n",
        LINE,
        "",
        "TV401",
        "tl.multiple_of",
    ),
    "assumption-that-fails": TritonCase(
        START + AT + "    tl.assume(n % 128 == 0)\n    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)\n",
        LINE,
        "",
        "TV401",
        "tl.assume",
    ),
}
