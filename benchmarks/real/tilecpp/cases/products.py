"""Matrix products, mixtures of experts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from tilegym.ops.tilecpp import moe_align_block
from tilegym.ops.tilecpp.bmm import bmm_memref
from tilegym.ops.tilecpp.matmul import matmul
from tilegym.ops.tilecpp.moe import (
    invoke_fused_moe_fc1_layer_kernel,
    invoke_fused_moe_fc2_layer_kernel,
    invoke_fused_moe_kernel,
)
from tilegym.ops.tilecpp.moe_align_block import moe_align_block_size
from tilegym.ops.tilecpp.splitk_reduce import splitk_reduce

from . import Call, case, integers, normal

FLOAT = torch.float32
FP8 = torch.float8_e4m3fn
SHAPES = ((512, 512, 512, torch.bfloat16), (500, 300, 200, FLOAT))
"""Rows, columns, what they have in common, and what matrices hold."""


@case
def plain() -> Iterator[Call]:
    for m, n, k, dtype in SHAPES:
        for transposed_a, transposed_b in ((False, False), (False, True), (True, False), (True, True)):
            a = normal(*((k, m) if transposed_a else (m, k)), dtype=dtype)
            b = normal(*((n, k) if transposed_b else (k, n)), dtype=dtype)
            several = a.unsqueeze(0).repeat(4, 1, 1), b.unsqueeze(0).repeat(4, 1, 1)
            for persistent in (False, True):
                yield partial(matmul, a, b, transposed_a, transposed_b, static_persistent=persistent)
                yield partial(bmm_memref, *several, transposed_a, transposed_b, static_persistent=persistent)


@case
def split_k() -> Iterator[Call]:
    for batch, heads, splits, dim, length in ((2, 8, 4, 64, 1024), (3, 7, 5, 80, 1000), (4, 32, 32, 128, 8192)):
        partials, lse = normal(batch, heads, splits, dim), normal(batch, heads, splits, dtype=FLOAT)
        yield partial(
            splitk_reduce, partials, lse, torch.empty(batch, heads, dim, device="cuda", dtype=torch.bfloat16), length
        )


def _counted(ids: Any, counts: Any, experts: int, numel: int, each: int, programs: int) -> None:
    for program, own in enumerate(ids.reshape(-1)[:numel].split(each)):
        counts[program + 1] = torch.bincount(own, minlength=experts)


def _summed(counts: Any, experts: int, programs: int, blocks: int) -> None:
    counts.copy_(counts.cumsum(0))


def _padded(total: Any, largest: Any, counts: Any, ends: Any, experts: int, block: int, programs: int) -> None:
    largest.fill_(int(counts[programs].max()))
    ends[1:] = ((counts[programs] + block - 1) // block * block).cumsum(0)
    total.fill_(int(ends[experts]))


_LEAVE = {"_launch_stage1": _counted, "_launch_stage2": _summed, "_launch_stage3": _padded}
"""What the stages of ``moe_align_block_size``, which do not run here, leave for those after them."""


def _fill(launch: Any, fill: Any) -> Any:
    def launched(*arguments: Any) -> None:
        launch(*arguments)
        fill(*arguments)

    return launched


for _name, _left in _LEAVE.items():
    setattr(moe_align_block, _name, _fill(getattr(moe_align_block, _name), _left))


@case
def expert_alignment() -> Iterator[Call]:
    for tokens, topk, experts, block in ((16, 2, 8, 16), (100, 4, 60, 64), (4096, 8, 256, 128)):
        yield partial(moe_align_block_size, integers(0, experts, tokens, topk, dtype=torch.int32), block, experts)


def _aligned(ids: torch.Tensor, block: int, experts: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What ``moe_align_block_size`` computes: token numbers by expert, each expert padded to whole blocks, the expert
    of each block, and the padded number of tokens.  Its kernels do not run here, so the results are put in."""
    sorted_ids, expert_ids, padded = moe_align_block_size(ids, block, experts)[:3]
    flat, place = ids.reshape(-1), 0
    sorted_ids.fill_(flat.numel())
    expert_ids.fill_(0)
    for expert in range(experts):
        mine = torch.nonzero(flat == expert).reshape(-1)
        sorted_ids[place : place + len(mine)] = mine.to(sorted_ids.dtype)
        blocks = -(-len(mine) // block)
        expert_ids[place // block : place // block + blocks] = expert
        place += blocks * block
    padded.fill_(place)
    return sorted_ids, expert_ids, padded


MIXTURES = ((64, 2, 8, 256, 512), (100, 4, 60, 200, 320), (1024, 8, 64, 1024, 2048))
"""Tokens, experts of each, experts, width of the result, width of the tokens."""


def _mixture(tokens: int, topk: int, experts: int, n: int, k: int, quantised: bool, weighted: bool) -> None:
    ids = integers(0, experts, tokens, topk, dtype=torch.int32)
    block_k = 128 if quantised else 64
    config = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": block_k, "GROUP_SIZE_M": 8}
    aligned = _aligned(ids, 64, experts)
    dtype = FP8 if quantised else torch.bfloat16
    invoke_fused_moe_kernel(
        normal(tokens, k, dtype=dtype),
        normal(experts, n, k, dtype=dtype),
        torch.empty(tokens, topk, n, device="cuda", dtype=torch.bfloat16),
        torch.rand(tokens, k // 128, device="cuda") if quantised else None,
        torch.rand(experts, n // 128, k // 128, device="cuda") if quantised else None,
        torch.rand(tokens, topk, device="cuda"),
        ids,
        *aligned,
        weighted,
        topk,
        config,
        torch.bfloat16,
        quantised,
        block_shape=[128, 128] if quantised else None,
    )


@case
def mixtures() -> Iterator[Call]:
    for tokens, topk, experts, n, k in MIXTURES:
        for weighted in (False, True):
            yield partial(_mixture, tokens, topk, experts, n, k, False, weighted)
            if n % 128 == 0:
                yield partial(_mixture, tokens, topk, experts, n, k, True, weighted)


def _layers(tokens: int, topk: int, experts: int, n: int, k: int, weighted: bool) -> None:
    """Both layers of a mixture in FP8: the first gathers tokens, the second writes a row for each of their experts."""
    ids = integers(0, experts, tokens, topk, dtype=torch.int32)
    config = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 128, "GROUP_SIZE_M": 8}
    sorted_ids, expert_ids, padded = _aligned(ids, 64, experts)
    weights = torch.rand(tokens, topk, device="cuda").to(torch.bfloat16)
    rows = len(sorted_ids)
    between = torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)
    up, gate = (normal(experts, n, k, dtype=FP8) for _ in range(2))
    scales = [torch.rand(experts, n // 128, k // 128, device="cuda") for _ in range(2)]
    invoke_fused_moe_fc1_layer_kernel(
        normal(tokens, k, dtype=FP8),
        up,
        gate,
        between,
        torch.rand(tokens, k // 128, device="cuda"),
        *scales,
        weights,
        ids,
        sorted_ids,
        expert_ids,
        padded,
        None,
        False,
        topk,
        config,
        torch.bfloat16,
        True,
        False,
        block_shape=[128, 128],
    )
    invoke_fused_moe_fc2_layer_kernel(
        normal(rows, n, dtype=FP8),
        normal(experts, k, n, dtype=FP8),
        torch.empty(tokens, topk, k, device="cuda", dtype=torch.bfloat16),
        torch.rand(rows, n // 128, device="cuda"),
        torch.rand(experts, k // 128, n // 128, device="cuda"),
        weights,
        ids,
        sorted_ids,
        expert_ids,
        padded,
        None,
        weighted,
        topk,
        config,
        torch.bfloat16,
        True,
        False,
        block_shape=[128, 128],
    )


@case
def layers() -> Iterator[Call]:
    for shape in MIXTURES:
        if shape[3] % 128 == 0:
            for weighted in (False, True):
                yield partial(_layers, *shape, weighted)
