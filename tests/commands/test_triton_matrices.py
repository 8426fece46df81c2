"""Triton kernels on arrays of any strides: flat addresses as every Triton kernel computes them, and wrong twins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from tests.command_line import CommandLine

pytest.importorskip("triton", reason="kernels are compiled by Triton's frontend")

COPY = """import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, M, N, x0, x1, y0, y1, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.program_id(1) * B + tl.arange(0, B)
    live = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * x0 + cols[None, :] * x1, mask=live)
    tl.store(y_ptr + rows[:, None] * y0 + cols[None, :] * y1, x, mask=live)


@triton.jit
def copy_heads(x_ptr, y_ptr, H, S, x0, x1, x2, y0, y1, y2, B: tl.constexpr, D: tl.constexpr):
    z = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    rows = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    live = rows[:, None] < S
    x = tl.load(x_ptr + z * x0 + h * x1 + rows[:, None] * x2 + d[None, :], mask=live)
    tl.store(y_ptr + z * y0 + h * y1 + rows[:, None] * y2 + d[None, :], x, mask=live)


@triton.jit
def states(h_ptr, T, H, B: tl.constexpr, D: tl.constexpr):
    chunks = tl.cdiv(T, B)
    t = tl.program_id(0)
    b = (tl.program_id(1) // H).to(tl.int64)
    h = tl.program_id(1) % H
    tl.store(h_ptr + ((b * chunks + t) * H + h) * D + tl.arange(0, D), 0.0)
"""

PRODUCT = """import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
    pid = tl.program_id(0)
    num_m, num_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (G * num_n) * G
    size = min(num_m - first, G)
    pm = first + (pid % (G * num_n)) % size
    pn = (pid % (G * num_n)) // size
    om = (pm * BM + tl.arange(0, BM)) % M
    on = (pn * BN + tl.arange(0, BN)) % N
    ok = tl.arange(0, BK)
    a_ptrs = a_ptr + om[:, None] * am + ok[None, :] * ak
    b_ptrs = b_ptr + ok[:, None] * bk + on[None, :] * bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=ok[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * ak
        b_ptrs += BK * bk
    rows = pm * BM + tl.arange(0, BM)
    cols = pn * BN + tl.arange(0, BN)
    live = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + cm * rows[:, None] + cn * cols[None, :], acc, mask=live)
"""

Arguments = dict[str, str | int]
Case = tuple[str, str, list[str], list[str], Arguments]

ROWS: Final[Arguments] = {
    "x_ptr": "f32[M, N; strides=(p, 1)]", "y_ptr": "f32[M, N; strides=(q, 1)]", "M": "i32", "N": "i32",
    "x0": "i32 = p", "x1": "i32 = 1", "y0": "i32 = q", "y1": "i32 = 1", "B": 32,
}  # fmt: skip
ANY: Final[Arguments] = ROWS | {
    "x_ptr": "f32[M, N; strides=(p, r)]", "y_ptr": "f32[M, N; strides=(q, s)]", "x1": "i32 = r", "y1": "i32 = s",
}  # fmt: skip
HEADS: Final[Arguments] = {
    "x_ptr": "f16[Z, S, H, 64]", "y_ptr": "f16[Z, S, H, 64]", "H": "i32", "S": "i32", "x0": "i32 = H * S * 64",
    "x1": "i32 = 64", "x2": "i32 = H * 64", "y0": "i32 = H * S * 64", "y1": "i32 = 64", "y2": "i32 = H * 64",
    "B": 32, "D": 64,
}  # fmt: skip
STATES: Final[Arguments] = {"h_ptr": "f32[B, cdiv(T, 64), H, 64]", "T": "i32", "H": "i32", "B": 64, "D": 64}
FACTORS: Final[Arguments] = {
    "a_ptr": "f16[M, K]", "b_ptr": "f16[K, N]", "c_ptr": "f32[M, N]", "M": "i32", "N": "i32", "K": "i32",
    "am": "i32 = K", "ak": "i32 = 1", "bk": "i32 = N", "bn": "i32 = 1", "cm": "i32 = N", "cn": "i32 = 1",
    "BM": 64, "BN": 64, "BK": 32, "G": 8,
}  # fmt: skip
PADDED: Final[Arguments] = FACTORS | {"c_ptr": "f32[M, N; strides=(ldc, 1)]", "cm": "i32 = ldc"}
BY_ROWS: Final = ["(M + 64) * p < 2**31", "(M + 64) * q < 2**31", "M < 2**30", "N < 2**30"]
BY_STRIDES: Final = ["(M + 64) * p + (N + 64) * r < 2**31", "(M + 64) * q + (N + 64) * s < 2**31"]
BY_SIZES: Final = [f"{condition} {size}" for size in "MNK" for condition in ("1 <=", "16384 >=")]
BY_PRODUCTS: Final = ["1 <= M", "1 <= N", "1 <= K", "M * K < 2**31", "K * N < 2**31", "M * N < 2**31"]
BY_LDC: Final = [*BY_PRODUCTS, "ldc >= N", "(M + 64) * ldc < 2**31"]
BY_HEADS: Final = ["H >= 1", "H * (S + 32) * 64 < 2**31"]
BY_CHUNKS: Final = ["H >= 1", "(T + 64) * H < 2**31"]
TILES, HEADS_GRID = ["cdiv(M, 32)", "cdiv(N, 32)"], ["cdiv(S, 32)", "Z * H"]
CHUNKS, GROUPED = ["cdiv(T, 64)", "B * H"], ["cdiv(M, 64) * cdiv(N, 64)"]


def verdict(
    tileverify: CommandLine,
    source: str,
    kernel: str,
    grid: list[str],
    requires: list[str],
    arguments: Arguments,
    effort: float = 1.0,
) -> str:
    values = ", ".join(f"{name} = {json.dumps(value)}" for name, value in arguments.items())
    spec = f"[[launch]]\nkernel = {json.dumps(kernel)}\ngrid = {grid}\nrequires = {requires}\nargs = {{ {values} }}\n"
    Path("k.py").write_text(source)
    Path("k.tileverify.toml").write_text(spec)
    told = tileverify("check", f"k.py::{kernel}", "--format", "json", "--no-cache", "--effort", str(effort)).out
    (result,) = json.loads(told)["results"]
    assert result["verdict"] != "error", result
    return str(result["verdict"])


RIGHT: Final[dict[str, Case]] = {
    "rows": (COPY, "copy", TILES, BY_ROWS, ROWS),
    "any strides": (COPY, "copy", TILES, BY_STRIDES, ANY),
    "heads": (COPY, "copy_heads", HEADS_GRID, BY_HEADS, HEADS),
    "chunks": (COPY, "states", CHUNKS, BY_CHUNKS, STATES),
    "product, sizes bounded": (PRODUCT, "matmul", GROUPED, BY_SIZES, FACTORS),
    "product, products bounded": (PRODUCT, "matmul", GROUPED, BY_PRODUCTS, FACTORS),
    "product, padded rows": (PRODUCT, "matmul", GROUPED, BY_LDC, PADDED),
}
WRONG: Final[dict[str, Case]] = {
    "stride one short": (COPY, "copy", TILES, BY_ROWS, ROWS | {"y0": "i32 = q - 1"}),
    "stride one long": (COPY, "copy", TILES, BY_ROWS, ROWS | {"y0": "i32 = q + 1"}),
    "a row too many": (COPY.replace("< M)", "<= M)"), "copy", TILES, BY_ROWS, ROWS),
    "no mask on columns": (COPY.replace("(cols[None, :] < N)", "(cols[None, :] >= 0)"), "copy", TILES, BY_ROWS, ROWS),
    "an array one row short": (COPY, "copy", TILES, BY_ROWS, ROWS | {"x_ptr": "f32[M - 1, N; strides=(p, 1)]"}),
    "rows that overlap": (
        COPY, "copy", TILES, ["1 <= N", *BY_ROWS[2:]],
        ROWS | {"x_ptr": "f32[M, N]", "x0": "i32 = N", "y_ptr": "f32[M, N; strides=(N - 1, 1)]", "y0": "i32 = N - 1"},
    ),
    "strides exchanged": (COPY, "copy", TILES, BY_STRIDES, ANY | {"y0": "i32 = s", "y1": "i32 = q"}),
    "heads and positions exchanged": (
        COPY, "copy_heads", HEADS_GRID, BY_HEADS, HEADS | {"y1": "i32 = H * 64", "y2": "i32 = 64"}
    ),
    "a group too many": (COPY, "copy_heads", ["cdiv(S, 32)", "(Z + 1) * H"], BY_HEADS, HEADS),
    "a chunk too many": (COPY, "states", ["cdiv(T, 64) + 1", "B * H"], BY_CHUNKS, STATES),
    "chunks of another length": (COPY, "states", CHUNKS, BY_CHUNKS, STATES | {"h_ptr": "f32[B, cdiv(T, 65), H, 64]"}),
    "product, rows one short": (
        PRODUCT.replace("(rows[:, None] < M)", "(rows[:, None] <= M)"), "matmul", GROUPED, BY_SIZES, FACTORS
    ),
    "product, ldc one short": (PRODUCT, "matmul", GROUPED, BY_LDC, PADDED | {"cm": "i32 = ldc - 1"}),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_are_proved(tileverify: CommandLine, name: str) -> None:
    assert verdict(tileverify, *RIGHT[name]) == "proved"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_twins_are_not(tileverify: CommandLine, name: str) -> None:
    """The whole effort would go into witnesses."""
    assert verdict(tileverify, *WRONG[name], effort=0.2) in ("refuted", "undecided")
