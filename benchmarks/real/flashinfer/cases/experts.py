"""Mixtures of experts in BF16, FP8 and FP4, as the runners call them.

The routing that flashinfer's own kernels compute, which do not run here, is put in for those that read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

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

_permute = moe._permute


def _permute_and_fill(topk_ids: torch.Tensor, experts: int, block: int, workspace: Any) -> tuple[torch.Tensor, ...]:
    """``_permute``, and what its kernels would have left: for each expert its assignments in their order, each group
    filled up to whole blocks."""
    slots, block_expert, padded = _permute(topk_ids, experts, block, workspace)
    flat = topk_ids.reshape(-1)
    slots.fill_(flat.numel())
    block_expert.zero_()
    at = 0
    for expert in range(experts):
        own = (flat == expert).nonzero().reshape(-1).to(torch.int32)
        slots[at : at + own.numel()] = own
        blocks = -(-own.numel() // block)
        block_expert[at // block : at // block + blocks] = expert
        at += blocks * block
    padded.fill_(at)
    return slots, block_expert, padded


for _module in (moe, fp8, fp4):
    _module._permute = _permute_and_fill


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
        yield partial(_permute, ids, experts, block, moe.allocate_workspace(**sizes))


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
