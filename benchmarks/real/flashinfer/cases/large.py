"""The forms of the experts' kernels for arrays of 2**31 elements and more; their memory is never touched."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from benchmarks.real.calls import Call, case
from flashinfer.fused_moe import api
from flashinfer.fused_moe.cutile import fp4, fp8, moe
from flashinfer.fused_moe.cutile.activation import launch_activation

from . import FP8
from .experts import sizes_of

TOKENS, EXPERTS, TOP_K, HIDDEN, INTER, BLOCK = 32768, 2, 1, 65536, 65536, 128
ROUTING = (TOKENS, EXPERTS, TOP_K)
BF16 = torch.bfloat16


def _empty(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.empty(*shape, device="cuda", dtype=dtype)


def _routed(hidden: int = HIDDEN) -> tuple[torch.Tensor, ...]:
    ids = torch.arange(TOKENS, device="cuda", dtype=torch.int32).reshape(TOKENS, TOP_K) * 3 // 7 % EXPERTS
    return _empty(TOKENS, hidden), ids, _empty(TOKENS, TOP_K, dtype=torch.float32)


@case
def large_activations() -> Iterator[Call]:
    for activation in (api.SwiGLU(), api.ReLU2()):
        width = 1024 * (2 if activation.is_gated else 1)
        rows = 2**31 // width
        yield partial(launch_activation, _empty(rows, width), _empty(rows, 1024), activation)


@case
def large_bf16() -> Iterator[Call]:
    hidden = HIDDEN // 2
    for activation, sorted_io in ((api.SwiGLU(), False), (api.ReLU2(), True)):
        sizes = sizes_of(ROUTING, hidden, INTER, activation.is_gated, (BLOCK,))
        config = moe.GemmConfig(128, 64, 2)
        yield partial(
            moe.run_moe,
            *_routed(hidden),
            _empty(EXPERTS, hidden, INTER * (2 if activation.is_gated else 1)),
            _empty(EXPERTS, INTER, hidden),
            _empty(TOKENS, hidden),
            moe.allocate_workspace(**sizes, sorted_io=sorted_io),
            activation=activation,
            block_size=BLOCK,
            gemm1_config=config,
            gemm2_config=config,
            sorted_io=sorted_io,
        )


@case
def large_fp8() -> Iterator[Call]:
    for scaled, mode in ((True, 0), (True, 1), (True, 2), (True, 5), (False, 0), (False, 1), (False, 2)):
        for activation in (api.SwiGLU(), api.ReLU2()):
            yield partial(_fp8, scaled, mode, activation)


def _fp8(scaled: bool, mode: int, activation: Any) -> None:
    arrays = []
    for rows, columns in ((INTER * (2 if activation.is_gated else 1), HIDDEN), (HIDDEN, INTER)):
        scales = _empty(EXPERTS, rows, columns // 32, dtype=torch.float8_e8m0fnu)
        arrays += [_empty(EXPERTS, rows, columns, dtype=FP8)]
        arrays += [scales if scaled else _empty(EXPERTS, dtype=torch.float32)]
    sizes = sizes_of(ROUTING, HIDDEN, INTER, activation.is_gated, (BLOCK,))
    fp8.run_moe(
        *_routed(),
        *arrays,
        _empty(TOKENS, HIDDEN),
        fp8.allocate_workspace(activation_fp8=True, block_scaled=scaled, **sizes),
        activation=activation,
        activation_fp8=True,
        block_scaled=scaled,
        weight_fp4=False,
        block_size=BLOCK,
        gemm1_config=fp8.GemmConfig(128, 128, 2),
        gemm2_config=fp8.GemmConfig(128, 128, 2),
        sorted_input=mode != 0,
        fuse_quantization=mode == 2,
        num_sms=torch.cuda.get_device_properties(0).multi_processor_count,
        fuse_gemm1_quant=mode == 5,
    )


@case
def large_fp4() -> Iterator[Call]:
    for a_fp4, vector in ((True, 16), (True, 32), (False, 16)):
        for activation, fused in ((api.SwiGLU(), False), (api.ReLU2(), True)):
            yield partial(_fp4, a_fp4, vector, activation, fused)


def _fp4(a_fp4: bool, vector: int, activation: Any, fused: bool) -> None:
    scale_type = FP8 if vector == 16 else torch.float8_e8m0fnu
    arrays = []
    for rows, columns in ((INTER * (2 if activation.is_gated else 1), HIDDEN), (HIDDEN, INTER)):
        arrays += [
            _empty(EXPERTS, rows, columns // 2, dtype=torch.uint8),
            _empty(EXPERTS, rows // 128, columns // (4 * vector), 32, 16, dtype=scale_type),
            _empty(EXPERTS, dtype=torch.float32),
        ]
    sizes = sizes_of(ROUTING, HIDDEN, INTER, activation.is_gated, (BLOCK,))
    fp4.run_moe(
        *_routed(),
        *arrays,
        _empty(TOKENS, HIDDEN),
        fp4.allocate_workspace(activation_fp4=a_fp4, scale_block_size=vector, scale_dtype=scale_type, **sizes),
        activation=activation,
        activation_fp4=a_fp4,
        scale_block_size=vector,
        fuse_gemm1=fused,
        num_sms=torch.cuda.get_device_properties(0).multi_processor_count,
        block_size=BLOCK,
        gemm1_config=fp4.GemmConfig(256 if activation.is_gated else 128, 128, 2),
        gemm2_config=fp4.GemmConfig(128, 128, 2),
    )


@case
def large_fp4_inputs() -> Iterator[Call]:
    """Inputs alone are as large as that: more tokens than a mixture of these sizes can be given here."""
    rows, hidden = 2**19, 8192
    for vector, scale_type in ((16, FP8), (32, torch.float8_e8m0fnu)):
        q, scale = _empty(rows, hidden // 2, dtype=torch.uint8), _empty(rows, hidden // vector, dtype=scale_type)
        layout = {"scale_block_size": vector, "scale_row_major": True}
        yield partial(fp4._quantize, _empty(rows, hidden), q, scale, **layout)
        slots = torch.arange(rows, device="cuda", dtype=torch.int32)
        outputs = torch.empty_like(q), torch.empty_like(scale)
        yield partial(fp4._pack_input, q, scale, slots, *outputs, top_k=1, block_size=BLOCK, **layout)
