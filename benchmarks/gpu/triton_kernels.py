"""The same computations written for Triton, each the usual way there, with its autotuner where tiles matter."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _add(x, y, out, count, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < count
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    _add[(triton.cdiv(x.numel(), 2048),)](x, y, out, x.numel(), TILE=2048, num_warps=8)
    return out


@triton.jit
def _softmax(x, out, stride, columns, TILE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    at = tl.arange(0, TILE)
    inside = at < columns
    values = tl.load(x + row + at, mask=inside, other=float("-inf")).to(tl.float32)
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row + at, (powers / tl.sum(powers, axis=0)).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _layer_norm(x, weight, bias, out, stride, columns, eps, TILE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    at = tl.arange(0, TILE)
    inside = at < columns
    values = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, values - tl.sum(values, axis=0) / columns, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    factors = tl.load(weight + at, mask=inside).to(tl.float32)
    added = tl.load(bias + at, mask=inside).to(tl.float32)
    tl.store(out + row + at, (centred * scale * factors + added).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _rms_norm(x, weight, out, stride, columns, eps, TILE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    at = tl.arange(0, TILE)
    inside = at < columns
    values = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, axis=0) / columns + eps)
    factors = tl.load(weight + at, mask=inside).to(tl.float32)
    tl.store(out + row + at, (values * scale * factors).to(out.dtype.element_ty), mask=inside)


def _row_warps(columns: int) -> int:
    return min(16, max(4, columns // 1024))


def softmax(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    rows, columns = x.shape
    tile = triton.next_power_of_2(columns)
    _softmax[(rows,)](x, out, x.stride(0), columns, TILE=tile, num_warps=_row_warps(tile))
    return out


def layer_norm(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, out: torch.Tensor, eps: float
) -> torch.Tensor:
    rows, columns = x.shape
    tile = triton.next_power_of_2(columns)
    _layer_norm[(rows,)](x, weight, bias, out, x.stride(0), columns, eps, TILE=tile, num_warps=_row_warps(tile))
    return out


def rms_norm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor, eps: float) -> torch.Tensor:
    rows, columns = x.shape
    tile = triton.next_power_of_2(columns)
    _rms_norm[(rows,)](x, weight, out, x.stride(0), columns, eps, TILE=tile, num_warps=_row_warps(tile))
    return out


def _tiles(tm: int, tn: int, tk: int, stages: int, warps: int) -> triton.Config:
    return triton.Config({"TM": tm, "TN": tn, "TK": tk, "GROUP": 8}, num_stages=stages, num_warps=warps)


@triton.autotune(
    configs=[
        _tiles(128, 256, 64, 3, 8),
        _tiles(128, 256, 64, 4, 8),
        _tiles(128, 128, 64, 4, 4),
        _tiles(64, 256, 64, 4, 4),
        _tiles(128, 64, 64, 4, 4),
        _tiles(64, 128, 64, 4, 4),
    ],
    key=["m", "n", "k"],
)
@triton.jit
def _matmul(
    a, b, c, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, scale,
    TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    tile, tiles_m, tiles_n = tl.program_id(0), tl.cdiv(m, TM), tl.cdiv(n, TN)
    in_group = GROUP * tiles_n
    first = tile // in_group * GROUP
    rows = min(tiles_m - first, GROUP)
    at_m = (first + tile % in_group % rows) * TM + tl.arange(0, TM)
    at_n = (tile % in_group // rows) * TN + tl.arange(0, TN)
    at_k = tl.arange(0, TK)
    from_a = a + (at_m % m)[:, None] * stride_am + at_k[None, :] * stride_ak
    from_b = b + at_k[:, None] * stride_bk + (at_n % n)[None, :] * stride_bn
    total = tl.zeros((TM, TN), dtype=tl.float32)
    for step in range(tl.cdiv(k, TK)):
        left = k - step * TK
        tile_a = tl.load(from_a, mask=at_k[None, :] < left, other=0.0)
        tile_b = tl.load(from_b, mask=at_k[:, None] < left, other=0.0)
        total = tl.dot(tile_a, tile_b, total)
        from_a += TK * stride_ak
        from_b += TK * stride_bk
    inside = (at_m[:, None] < m) & (at_n[None, :] < n)
    tl.store(c + at_m[:, None] * stride_cm + at_n[None, :], (total * scale).to(c.dtype.element_ty), mask=inside)


def matmul(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    (m, k), n = a.shape, b.shape[1]

    def grid(tiles: dict[str, int]) -> tuple[int]:
        return (triton.cdiv(m, tiles["TM"]) * triton.cdiv(n, tiles["TN"]),)

    _matmul[grid](a, b, c, m, n, k, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), scale)
    return c


@triton.autotune(
    configs=[
        triton.Config({"TM": tm, "TN": tn}, num_stages=stages, num_warps=warps)
        for tm, tn, stages, warps in ((128, 128, 2, 8), (128, 64, 3, 8), (128, 64, 3, 4), (64, 64, 3, 4))
    ],
    key=["keys", "CAUSAL"],
)
@triton.jit
def _attention(
    q, k, v, out, scale, heads, queries, keys,
    D: tl.constexpr, CAUSAL: tl.constexpr, TM: tl.constexpr, TN: tl.constexpr,
):  # fmt: skip
    """Contiguous (batch, head, position, D); sizes are multiples of the tiles."""
    row = tl.num_programs(0) - 1 - tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    at_m, at_n, at_d = row * TM + tl.arange(0, TM), tl.arange(0, TN), tl.arange(0, D)
    tile_q = tl.load(q + head * queries * D + at_m[:, None] * D + at_d[None, :])
    from_k, from_v = k + head * keys * D, v + head * keys * D
    best = tl.full((TM,), float("-inf"), tl.float32)
    total = tl.zeros((TM,), tl.float32)
    sums = tl.zeros((TM, D), tl.float32)
    whole = row * TM // TN * TN if CAUSAL else keys
    for start in range(0, whole, TN):
        tile_k = tl.load(from_k + (start + at_n)[None, :] * D + at_d[:, None])
        scores = tl.dot(tile_q, tile_k) * (scale * 1.4426950408889634)
        higher = tl.maximum(best, tl.max(scores, axis=1))
        powers, fade = tl.exp2(scores - higher[:, None]), tl.exp2(best - higher)
        total = total * fade + tl.sum(powers, axis=1)
        tile_v = tl.load(from_v + (start + at_n)[:, None] * D + at_d[None, :])
        sums = tl.dot(powers.to(tile_v.dtype), tile_v, sums * fade[:, None])
        best = higher
    if CAUSAL:
        for start in range(whole, (row + 1) * TM, TN):
            tile_k = tl.load(from_k + (start + at_n)[None, :] * D + at_d[:, None])
            scores = tl.dot(tile_q, tile_k) * (scale * 1.4426950408889634)
            scores = tl.where(start + at_n[None, :] <= at_m[:, None], scores, -1.0e30)
            higher = tl.maximum(best, tl.max(scores, axis=1))
            powers, fade = tl.exp2(scores - higher[:, None]), tl.exp2(best - higher)
            total = total * fade + tl.sum(powers, axis=1)
            tile_v = tl.load(from_v + (start + at_n)[:, None] * D + at_d[None, :])
            sums = tl.dot(powers.to(tile_v.dtype), tile_v, sums * fade[:, None])
            best = higher
    result = (sums / total[:, None]).to(out.dtype.element_ty)
    tl.store(out + head * queries * D + at_m[:, None] * D + at_d[None, :], result)


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, scale: float, causal: bool
) -> torch.Tensor:
    """As many heads of K and V as of Q."""
    batch, heads, queries, width = q.shape

    def grid(tiles: dict[str, int]) -> tuple[int, int]:
        return triton.cdiv(queries, tiles["TM"]), batch * heads

    _attention[grid](q, k, v, out, scale, heads, queries, k.shape[2], D=width, CAUSAL=causal)
    return out
