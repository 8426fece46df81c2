"""Mixtures of experts in BF16, FP8 and FP4, as the runners call them.

What the kernels of the routing compute, which do not run here, is put in after each for those that read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import cuda.tile as ct
import torch
from benchmarks.real.calls import Call, case, normal
from flashinfer.fused_moe import api
from flashinfer.fused_moe.cutile import fp4, fp8, moe
from flashinfer.fused_moe.cutile.activation import launch_activation

from . import FP8

GATED = (
    api.SwiGLU(),
    api.SwiGLU(alpha=1.702, beta=1.0, limit=7.0),
    api.SwiGLUStep(),
    api.GeGLU(),
    api.GeGLUTanh(),
    api.SiTU(),
)
UNGATED = (api.ReLU2(), api.GELU(), api.ReLU(), api.SiLU())
ROUTINGS = ((1, 4, 1), (5, 8, 2), (64, 8, 4), (300, 16, 4))
"""Tokens, experts, experts of a token."""


def _padded(counts: torch.Tensor, block: int) -> torch.Tensor:
    return (counts + block - 1) // block * block


def _before(values: torch.Tensor, dim: int = 0) -> torch.Tensor:
    """The sums of what stands before each."""
    return values.cumsum(dim) - values


def _counts(ids: torch.Tensor, epow2: int) -> torch.Tensor:
    """How often each expert stands in ``ids``, which may have been filled up with -1."""
    return torch.bincount(ids[ids >= 0].to(torch.int64), minlength=epow2)


def _alike_before(values: torch.Tensor) -> torch.Tensor:
    """How many of the same value stand before each."""
    order = values.argsort(stable=True)
    ordered = values[order]
    return (torch.arange(values.numel()) - torch.searchsorted(ordered, ordered))[order.argsort()]


def _chunk_rank(ids: Any, ranks: Any, hist: Any, numel: int, epow2: int, chunk: int) -> None:
    width, chunks = epow2 + 1, -(-numel // chunk)  # a column more, for -1
    places = torch.arange(numel) // chunk * width + ids[:numel] + 1
    ranks[:numel] = _alike_before(places)
    counts = torch.bincount(places, minlength=chunks * width).reshape(chunks, width)
    hist[: chunks * epow2] = counts[:, 1:].reshape(-1)


def _scan(hist: Any, pad: Any, base: Any, padded: Any, owner: Any, blocks: int, e: int, epow2: int, *rest: int) -> None:
    _, _, block, _ = rest
    rows = hist.reshape(-1, epow2).to(torch.int64)
    _offsets(rows.sum(0), pad, padded, e, block)
    owner[:blocks] = 0
    filled = _before(rows) + _before(_padded(rows.sum(0), block))
    base[: filled.numel()] = filled.reshape(-1)
    base[filled.numel() :] = (filled[-1] + rows[-1]).repeat(base.numel() // epow2 - len(rows))


def _offsets(counts: Any, pad: Any, padded: Any, e: int, block: int) -> None:
    ends = _padded(counts, block)
    pad[:e] = _before(ends)[:e]
    pad[e] = padded[0] = ends.sum()


def _scan_partials(hist: Any, totals: Any, epow2: int, chunks: int) -> None:
    totals[:] = hist.reshape(-1, chunks, epow2).sum(1).reshape(-1)


def _scan_combine(totals: Any, pad: Any, padded: Any, e: int, epow2: int, slabs: int, block: int) -> None:
    rows = totals.reshape(slabs, epow2).to(torch.int64)
    _offsets(rows.sum(0), pad, padded, e, block)
    totals[:] = (_before(rows) + _before(_padded(rows.sum(0), block))).reshape(-1)


def _scan_bases(hist: Any, totals: Any, base: Any, epow2: int, chunks: int) -> None:
    rows = hist.reshape(-1, chunks, epow2).to(torch.int64)
    base[:] = (_before(rows, 1) + totals.reshape(-1, 1, epow2)).reshape(-1)


def _scatter(ids: Any, ranks: Any, base: Any, slots: Any, numel: int, epow2: int, chunk: int) -> None:
    assignments = torch.arange(numel)
    slots[(base[assignments // chunk * epow2 + ids.long()] + ranks).long()] = assignments.to(slots.dtype)


def _block_expert(pad: Any, owner: Any, block: int) -> None:
    for expert, (start, end) in enumerate(zip(pad[:-1].tolist(), pad[1:].tolist(), strict=True)):
        owner[start // block : end // block] = expert


def _small(ids: Any, slots: Any, owner: Any, padded: Any, numel: int, em: int, blocks: int, *rest: int) -> None:
    e, epow2, _, _, block = rest
    counts = _counts(ids, epow2)
    pad = torch.zeros(e + 1, dtype=torch.int64)
    _offsets(counts, pad, padded, e, block)
    ranks = _alike_before(ids)
    slots[:em] = numel
    _scatter(ids, ranks, _before(_padded(counts, block)), slots, numel, 0, 1)
    owner[:blocks] = 0
    _block_expert(pad, owner, block)


_LEAVES = {
    moe._permute_chunk_rank: _chunk_rank,
    moe._permute_scan: _scan,
    moe._permute_scan_partials: _scan_partials,
    moe._permute_scan_combine: _scan_combine,
    moe._permute_scan_bases: _scan_bases,
    moe._permute_scatter: _scatter,
    moe._permute_block_expert: _block_expert,
    moe._permute_small: _small,
}
"""What the kernels of the routing, which do not run here, leave for those after them."""
_launch = ct.launch


def _launch_and_fill(stream: Any, grid: Any, kernel: Any, arguments: Any) -> None:
    _launch(stream, grid, kernel, arguments)
    if kernel in _LEAVES:
        _LEAVES[kernel](*arguments)


ct.launch = _launch_and_fill


def _routing(tokens: int, experts: int, top_k: int) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.stack([torch.randperm(experts, device="cuda")[:top_k] for _ in range(tokens)]).to(torch.int32)
    return ids, torch.rand(tokens, top_k, device="cuda")


def sizes_of(
    routing: tuple[int, int, int], hidden: int, inter: int, gated: bool, blocks: tuple[int, ...]
) -> dict[str, Any]:
    tokens, experts, top_k = routing
    return {
        "num_tokens": tokens,
        "hidden_size": hidden,
        "intermediate_size": inter,
        "num_experts": experts,
        "top_k": top_k,
        "is_gated": gated,
        "block_sizes": blocks,
        "device": torch.device("cuda"),
    }


def _bf16(routing: tuple[int, int, int], hidden: int, inter: int, activation: Any, block: int, sorted_io: bool) -> Call:
    tokens, experts, _ = routing
    ids, weights = _routing(*routing)
    config = moe.GemmConfig(64, 64, 2)
    return partial(
        moe.run_moe,
        normal(tokens, hidden),
        ids,
        weights,
        normal(experts, hidden, inter * (2 if activation.is_gated else 1)),
        normal(experts, inter, hidden),
        torch.empty(tokens, hidden, device="cuda", dtype=torch.bfloat16),
        moe.allocate_workspace(**sizes_of(routing, hidden, inter, activation.is_gated, (block,)), sorted_io=sorted_io),
        activation=activation,
        block_size=block,
        gemm1_config=config,
        gemm2_config=config,
        sorted_io=sorted_io,
    )


@case
def bf16() -> Iterator[Call]:
    for routing, (hidden, inter), sorted_io in product(ROUTINGS, ((64, 32), (256, 200), (1000, 96)), (False, True)):
        for activation in (api.SwiGLU(), api.ReLU2()):
            yield _bf16(routing, hidden, inter, activation, 16 if routing[0] < 64 else 64, sorted_io)
    for activation in (*GATED, *UNGATED):
        yield _bf16(ROUTINGS[1], 128, 64, activation, 16, False)


@case
def routing_of_many() -> Iterator[Call]:
    """Enough assignments for every form of the scan."""
    for tokens, experts, top_k, block in ((700, 8, 8, 64), (3000, 128, 8, 128), (9000, 256, 8, 64)):
        ids, _ = _routing(tokens, experts, top_k)
        sizes = sizes_of((tokens, experts, top_k), 32, 32, True, (block,))
        yield partial(moe._permute, ids, experts, block, moe.allocate_workspace(**sizes))


@case
def activations() -> Iterator[Call]:
    for activation, (rows, inter) in product((*GATED, *UNGATED), ((1, 1), (7, 128), (33, 1000), (300, 2048))):
        x = normal(rows, inter * (2 if activation.is_gated else 1))
        yield partial(launch_activation, x, torch.empty(rows, inter, device="cuda", dtype=torch.bfloat16), activation)


def _block_scaled_activations() -> bool:
    """Inputs with a scale for each block, which flashinfer has for compute capability 12 alone."""
    return bool(torch.cuda.get_device_capability()[0] >= 12)


def _scales(*shape: int) -> torch.Tensor:
    return torch.randint(120, 130, shape, device="cuda", dtype=torch.uint8)


def _swizzled(experts: int, rows: int, groups: int) -> torch.Tensor:
    return _scales(experts, -(-rows // 128), -(-groups // 4), 32, 16)


@case
def in_fp8() -> Iterator[Call]:
    """Modes are those of the runner: gathered, sorted, with fused quantisation, persistent, with fused output."""
    forms = [(True, False, False), (False, False, False), (False, True, False)]
    if _block_scaled_activations():
        forms += [(True, True, False), (True, True, True)]
    for routing, (a_fp8, scaled, w_fp4) in product(ROUTINGS, forms):
        for mode, activation in product(range(6), (api.SwiGLU(), api.ReLU2())):
            if mode == 5 and not (a_fp8 and scaled):
                continue
            yield partial(_fp8, routing, 256, 128, activation, a_fp8, scaled, w_fp4, mode)
    yield partial(_fp8, ROUTINGS[2], 512, 384, api.SwiGLU(), True, False, False, 2)


def _fp8(
    routing: tuple[int, int, int],
    hidden: int,
    inter: int,
    activation: Any,
    a_fp8: bool,
    scaled: bool,
    w_fp4: bool,
    mode: int,
) -> None:
    tokens, experts, _ = routing
    ids, weights = _routing(*routing)
    arrays = []
    for rows, columns in ((inter * (2 if activation.is_gated else 1), hidden), (hidden, inter)):
        if w_fp4:
            arrays += [_scales(experts, rows, columns // 2), _swizzled(experts, rows, columns // 32)]
        elif scaled:
            arrays += [normal(experts, rows, columns, dtype=FP8), _scales(experts, rows, columns // 32)]
        else:
            arrays += [normal(experts, rows, columns, dtype=FP8), torch.rand(experts, device="cuda")]
    w1, s1, w2, s2 = arrays
    if scaled:
        s1, s2 = s1.view(torch.float8_e8m0fnu), s2.view(torch.float8_e8m0fnu)
    block = 16 if tokens < 64 else 64
    sizes = sizes_of(routing, hidden, inter, activation.is_gated, (block,))
    fp8.run_moe(
        normal(tokens, hidden),
        ids,
        weights,
        w1,
        s1,
        w2,
        s2,
        torch.empty(tokens, hidden, device="cuda", dtype=torch.bfloat16),
        fp8.allocate_workspace(activation_fp8=a_fp8, block_scaled=scaled, **sizes),
        activation=activation,
        activation_fp8=a_fp8,
        block_scaled=scaled,
        weight_fp4=w_fp4,
        block_size=block,
        gemm1_config=fp8.GemmConfig(128 if w_fp4 else 64, 128, 2),
        gemm2_config=fp8.GemmConfig(128, 128, 2),
        sorted_input=mode != 0,
        fuse_quantization=mode in (2, 4),
        num_sms=torch.cuda.get_device_properties(0).multi_processor_count,
        persistent_factors=(1, 2) if mode in (3, 4) else (0, 2) if mode == 5 else (0, 0),
        fuse_gemm1_quant=mode == 5,
    )


@case
def in_fp4() -> Iterator[Call]:
    quantised = (True, False) if _block_scaled_activations() else (False,)
    for routing, vector, a_fp4 in product((*ROUTINGS, (1100, 8, 4)), (16, 32), quantised):
        for activation, fused in ((api.SwiGLU(), False), (api.SwiGLU(), True), (api.ReLU2(), True)):
            yield partial(_fp4, routing, 256, 256, activation, vector, a_fp4, fused)
        yield partial(_fp4, routing, 256, 1024, api.SwiGLU(), vector, a_fp4, None)


def _fp4(
    routing: tuple[int, int, int],
    hidden: int,
    inter: int,
    activation: Any,
    vector: int,
    a_fp4: bool,
    fused: bool | None,
) -> None:
    tokens, experts, _ = routing
    ids, weights = _routing(*routing)
    scale_type = FP8 if vector == 16 else torch.float8_e8m0fnu
    linear = torch.cuda.get_device_capability()[0] < 10
    arrays = []
    for rows, columns in ((inter * (2 if activation.is_gated else 1), hidden), (hidden, inter)):
        groups = columns // vector
        scales = _scales(experts, rows, groups) if linear else _swizzled(experts, rows, groups)
        arrays += [_scales(experts, rows, columns // 2), scales.view(scale_type), torch.rand(experts, device="cuda")]
    block = 16 if tokens < 64 else 64
    sizes = sizes_of(routing, hidden, inter, activation.is_gated, (block,))
    fp4.run_moe(
        normal(tokens, hidden),
        ids,
        weights,
        *arrays,
        torch.empty(tokens, hidden, device="cuda", dtype=torch.bfloat16),
        fp4.allocate_workspace(activation_fp4=a_fp4, scale_block_size=vector, scale_dtype=scale_type, **sizes),
        activation=activation,
        activation_fp4=a_fp4,
        scale_block_size=vector,
        fuse_gemm1=fused,
        num_sms=torch.cuda.get_device_properties(0).multi_processor_count,
        block_size=block,
        gemm1_config=fp4.GemmConfig(256 if activation.is_gated else 128, 128, 2),
        gemm2_config=fp4.GemmConfig(128, 128, 2),
    )
