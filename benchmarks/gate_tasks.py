"""Candidates for a few tasks, each with a reference, as a model that is asked for them writes them: right, mostly.

`submissions` gives them to `benchmarks.gate --tasks`; `REFERENCES` is the file that they are compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

REFERENCES: Final = """import numpy as np

def add(x, y):
    return x + y

def swish(x):
    return x / (1 + np.exp(-x))

def softmax(x):
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)

def norm(x, w):
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * w

def product(x, y):
    return x @ y
"""

_HEAD: Final = "import cuda.tile as ct\n\n@ct.kernel\n"
_ROW: Final = '[[launch]]\nkernel = "k"\ngrid = ["M"]\nrequires = ["M >= 1", "N >= 1", "N <= 128"]\n'
_TASKS: Final = {
    "add": (
        """def k(x, y, out):
    i = ct.bid(0)
    a = ct.load(x, (i,), (SIZE,), padding_mode=ct.PaddingMode.ZERO)
    b = ct.load(y, (i,), (SIZE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (i,), RIGHT)
""",
        ("a + b", "b + a", "a + b + 1e-7"),
        '[[launch]]\nkernel = "k"\ngrid = ["cdiv(N, SIZE)"]\nrequires = ["N >= 1"]\n'
        'args = { x = "f32[N]", y = "f32[N]", out = "f32[N]" }\n',
    ),
    "swish": (
        """def k(x, out):
    i = ct.bid(0)
    a = ct.load(x, (i,), (SIZE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (i,), RIGHT)
""",
        ("a / (1 + ct.exp(-a))", "a * (1 / (1 + ct.exp(0 - a)))", "a / (1 + ct.exp(-1.0000001 * a))"),
        '[[launch]]\nkernel = "k"\ngrid = ["cdiv(N, SIZE)"]\nrequires = ["N >= 1"]\n'
        'args = { x = "f32[N]", out = "f32[N]" }\n',
    ),
    "softmax": (
        """def k(x, out):
    i = ct.bid(0)
    a = ct.load(x, (i, 0), (1, 128), padding_mode=ct.PaddingMode.NEG_INF)
    power = ct.exp(a - ct.max(a, axis=1, keepdims=True))
    ct.store(out, (i, 0), RIGHT)
""",
        ("power / ct.sum(power, axis=1, keepdims=True)", "power * (1 / ct.sum(power, axis=1, keepdims=True))",
         "power / (ct.sum(power, axis=1, keepdims=True) + 1e-8)"),
        _ROW + 'args = { x = "f32[M, N]", out = "f32[M, N]" }\n',
    ),
    "norm": (
        """def k(x, w, out):
    i = ct.bid(0)
    a = ct.load(x, (i, 0), (1, 128), padding_mode=ct.PaddingMode.ZERO)
    b = ct.load(w, (0,), (128,), padding_mode=ct.PaddingMode.ZERO)
    mean = ct.sum(a * a, axis=1, keepdims=True) / x.shape[1]
    ct.store(out, (i, 0), RIGHT)
""",
        ("a * ct.rsqrt(mean + 1e-5) * b", "a / ct.sqrt(mean + 1e-5) * b", "a * ct.rsqrt(mean + 1.0001e-5) * b"),
        _ROW + 'args = { x = "f32[M, N]", w = "f32[N]", out = "f32[M, N]" }\n',
    ),
    "product": (
        """def k(x, y, out):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((SIZE, 32), ct.float32)
    for n in range(ct.cdiv(x.shape[1], 32)):
        a = ct.load(x, (i, n), (SIZE, 32), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(y, (n, j), (32, 32), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, b, total)
    ct.store(out, (i, j), RIGHT)
""",
        ("total", "total + 0", "total * 1.0000001"),
        '[[launch]]\nkernel = "k"\ngrid = ["cdiv(M, SIZE)", "cdiv(N, 32)"]\n'
        'requires = ["M >= 1", "N >= 1", "K >= 1"]\n'
        'args = { x = "f32[M, K]", y = "f32[K, N]", out = "f32[M, N]" }\n',
    ),
}  # fmt: skip
_TRITON_HEAD: Final = "import triton\nimport triton.language as tl\n\n@triton.jit\n"
_TRITON: Final = {
    "add": (
        """def k(x, y, out, N, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at, mask=at < N, other=0.0)
    b = tl.load(y + at, mask=at < N, other=0.0)
    tl.store(out + at, RIGHT, mask=at < N)
""",
        _TASKS["add"][1],
        '[[launch]]\nkernel = "k"\ngrid = ["cdiv(N, SIZE)"]\nrequires = ["N >= 1"]\n'
        'args = { x = "f32[N]", y = "f32[N]", out = "f32[N]", N = "i32", B = SIZE }\n',
    ),
    "swish": (
        """def k(x, out, N, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at, mask=at < N, other=0.0)
    tl.store(out + at, RIGHT, mask=at < N)
""",
        ("a / (1 + tl.exp(-a))", "a * (1 / (1 + tl.exp(0 - a)))", "a / (1 + tl.exp(-1.0000001 * a))"),
        '[[launch]]\nkernel = "k"\ngrid = ["cdiv(N, SIZE)"]\nrequires = ["N >= 1"]\n'
        'args = { x = "f32[N]", out = "f32[N]", N = "i32", B = SIZE }\n',
    ),
    "softmax": (
        """def k(x, out, N, B: tl.constexpr):
    at = tl.arange(0, B)
    i = tl.program_id(0).to(tl.int64)
    a = tl.load(x + i * N + at, mask=at < N, other=float("-inf"))
    power = tl.exp(a - tl.max(a, axis=0))
    tl.store(out + i * N + at, RIGHT, mask=at < N)
""",
        ("power / tl.sum(power, axis=0)", "power * (1 / tl.sum(power, axis=0))",
         "power / (tl.sum(power, axis=0) + 1e-8)"),
        _ROW + 'args = { x = "f32[M, N]", out = "f32[M, N]", N = "i32", B = 128 }\n',
    ),
    "norm": (
        """def k(x, w, out, N, B: tl.constexpr):
    at = tl.arange(0, B)
    i = tl.program_id(0).to(tl.int64)
    a = tl.load(x + i * N + at, mask=at < N, other=0.0)
    b = tl.load(w + at, mask=at < N, other=0.0)
    mean = tl.sum(a * a, axis=0) / N
    tl.store(out + i * N + at, RIGHT, mask=at < N)
""",
        ("a * tl.rsqrt(mean + 1e-5) * b", "a / tl.sqrt(mean + 1e-5) * b", "a * tl.rsqrt(mean + 1.0001e-5) * b"),
        _ROW + 'args = { x = "f32[M, N]", w = "f32[N]", out = "f32[M, N]", N = "i32", B = 128 }\n',
    ),
    "product": (
        """def k(x, y, out, M, N, K, B: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    j = tl.program_id(1).to(tl.int64) * 32 + tl.arange(0, 32)
    total = tl.zeros((B, 32), tl.float32)
    for n in range(0, K, 32):
        at = n + tl.arange(0, 32).to(tl.int64)
        a = tl.load(x + i[:, None] * K + at[None, :], mask=(i[:, None] < M) & (at[None, :] < K), other=0.0)
        b = tl.load(y + at[:, None] * N + j[None, :], mask=(at[:, None] < K) & (j[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(out + i[:, None] * N + j[None, :], RIGHT, mask=(i[:, None] < M) & (j[None, :] < N))
""",
        _TASKS["product"][1],
        '[[launch]]\nkernel = "k"\ngrid = ["cdiv(M, SIZE)", "cdiv(N, 32)"]\n'
        'requires = ["M >= 1", "N >= 1", "K >= 1"]\n'
        'args = { x = "f32[M, K]", y = "f32[K, N]", out = "f32[M, N]", M = "i32", N = "i32", K = "i32", B = SIZE }\n',
    ),
}  # fmt: skip
LANGUAGES: Final = {"cutile": (_HEAD, _TASKS), "triton": (_TRITON_HEAD, _TRITON)}
_SIZES: Final = (64, 128, 32, 256)


def submissions(count: int, language: str = "cutile") -> Iterator[tuple[str, str, str, str]]:
    """(name, source, launch spec, function of `REFERENCES`); each task in turn, another way of writing it each time."""
    head, tasks = LANGUAGES[language]
    names = list(tasks)
    for number in range(count):
        task, turn = names[number % len(names)], number // len(names)
        body, ways, spec = tasks[task]
        size = _SIZES[turn // len(ways) % len(_SIZES)]
        source = head + body.replace("RIGHT", ways[turn % len(ways)]).replace("SIZE", str(size))
        yield f"{task}_{turn}.py", source, spec.replace("SIZE", str(size)), task
