"""torchao: scaling to eight bits and fewer, and products of the results."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from benchmarks.real.calls import Call, case, integers, normal

E4M3 = torch.float8_e4m3fn
FLOAT = torch.float32


def _call(path: str, *arguments: Any, **options: Any) -> Call:
    """``module:name`` below ``torchao``; what cannot be imported fails as a call."""

    def call() -> None:
        module, _, name = path.partition(":")
        getattr(importlib.import_module(f"torchao.{module}"), name)(*arguments, **options)

    return call


@case
def blocks() -> Iterator[Call]:
    kernels = "kernel.blockwise_quantization"
    training = "prototype.blockwise_fp8_training.kernels"
    for rows, columns in ((128, 256), (256, 384), (384, 128)):
        x = normal(rows, columns)
        yield _call(f"{kernels}:fp8_blockwise_act_quant", x)
        yield _call(f"{kernels}:fp8_blockwise_weight_quant", x)
        yield _call(
            f"{kernels}:fp8_blockwise_weight_dequant", x.to(E4M3), normal(rows // 128, columns // 128, dtype=FLOAT)
        )
        scales = normal(rows, columns // 128, dtype=FLOAT), normal(2, columns // 128, dtype=FLOAT)
        yield _call(f"{kernels}:blockwise_fp8_gemm", x.to(E4M3), scales[0], normal(256, columns, dtype=E4M3), scales[1])
        for name in (
            "act_quant_lhs",
            "act_quant_rhs",
            "act_quant_transposed_lhs",
            "weight_quant_rhs",
            "weight_quant_transposed_rhs",
        ):
            yield _call(f"{training}:triton_fp8_blockwise_{name}", x)
    for rows, columns in ((32, 64), (100, 96), (256, 512)):
        yield _call("prototype.mx_formats.kernels:triton_to_mxfp8_dim1", normal((rows + 31) // 32 * 32, columns))
        yield _call("prototype.mx_formats.kernels:triton_to_mxfp8_dim0", normal(rows, columns))
        yield _call(
            "prototype.mx_formats.kernels:triton_mx_block_rearrange",
            integers(0, 255, rows, columns // 32, dtype=torch.uint8).view(torch.float8_e8m0fnu),
        )
        yield _call(
            "prototype.mx_formats.kernels:triton_mxfp8_dequant_dim0",
            normal(rows, columns, dtype=E4M3),
            integers(100, 150, rows, columns // 32, dtype=torch.uint8).view(torch.float8_e8m0fnu),
            torch.bfloat16,
        )


@case
def groups() -> Iterator[Call]:
    jagged, rowwise = (
        "prototype.moe_training.kernels.jagged_float8_scales",
        "prototype.moe_training.kernels.float8_rowwise",
    )
    for rows, columns, count in ((64, 128, 2), (100, 96, 3)):
        ends = torch.tensor([rows * (i + 1) // count for i in range(count)], dtype=torch.int32, device="cuda")
        x = normal(rows, columns)
        for rounded in (False, True):
            yield _call(
                f"{jagged}:triton_fp8_per_group_rowwise_scales",
                normal(columns, rows),
                ends,
                round_scales_to_power_of_2=rounded,
            )
            yield _call(f"{jagged}:triton_fp8_per_group_colwise_scales", x, ends, round_scales_to_power_of_2=rounded)
            yield _call(
                f"{jagged}:triton_fp8_per_group_colwise_scales_dual",
                x,
                normal(rows, 160),
                ends,
                round_scales_to_power_of_2=rounded,
            )
            cube = normal(count, columns, 64)
            for name in (
                "rowwise_3d_transpose_rhs",
                "rowwise_3d_transpose_rhs_fused_reduction",
                "colwise_3d_scale_and_cast",
            ):
                yield _call(f"{rowwise}:triton_fp8_{name}", cube, round_scales_to_power_of_2=rounded)
            yield _call(f"{rowwise}:triton_fp8_rowwise_2d_scale_and_cast", x, round_scales_to_power_of_2=rounded)


@case
def attention() -> Iterator[Call]:
    for length, dim in ((64, 64), (100, 128)):
        q, k, v = (normal(2, 3, length, dim) for _ in range(3))
        cos, sin = (normal(length, dim, dtype=FLOAT) for _ in range(2))
        quantisation = "prototype.attention.quantization"
        yield _call("prototype.fp8_sdpa_inference.fp8_sdpa_quantization:qkv_quantize_func", q, k, v)
        yield _call("prototype.fp8_sdpa_inference.fp8_sdpa_quantization:q_quantize_func", q)
        yield _call("prototype.fp8_sdpa_inference.fp8_sdpa_quantization:kv_quantize_func", k, v)
        yield _call(f"{quantisation}.triton_qkv_quantization:triton_fp8_sdpa_quantize", q, k, v)
        yield _call(f"{quantisation}.triton_hadamard_qkv_quantization:triton_fp8_hadamard_sdpa_quantize", q, k, v)
        qt, kt, vt = (each.transpose(1, 2).contiguous() for each in (q, k, v))
        for interleaved in (False, True):
            yield _call(
                f"{quantisation}.triton_rope_qkv_quantization:triton_fp8_rope_sdpa_quantize",
                qt,
                kt,
                vt,
                cos,
                sin,
                rope_interleaved=interleaved,
            )
            yield _call(
                f"{quantisation}.triton_hadamard_rope_qkv_quantization:triton_fp8_hadamard_rope_sdpa_quantize",
                qt,
                kt,
                vt,
                cos,
                sin,
                rope_interleaved=interleaved,
            )


@case
def integers_and_whole_tensors() -> Iterator[Call]:
    for rows, inner, columns in ((32, 64, 64), (100, 128, 96)):
        a, b = integers(-127, 127, rows, inner, dtype=torch.int8), integers(-127, 127, inner, columns, dtype=torch.int8)
        yield _call(
            "prototype.quantized_training.int8_mm:scaled_int8_mm",
            a,
            b,
            normal(rows, dtype=FLOAT),
            normal(columns, dtype=FLOAT),
        )
        yield partial(_float8, rows, inner)
        signs = [1, -1] * 8
        yield _call(
            "prototype.moe_training.nvfp4_training.hadamard_amax_triton:triton_rht_amax", normal(128, 256), signs
        )


def _float8(rows: int, columns: int) -> None:
    kernels = importlib.import_module("torchao.prototype.float8nocompile.kernels.fp8_dynamic_tensorwise")
    config = kernels.LinearMMConfig()
    for name in (
        "row_major",
        "row_major_t",
        "col_major",
        "col_major_t",
        "row_and_col_major",
        "row_major_t_and_non_t",
        "col_major_t_and_non_t",
    ):
        for algorithm in kernels.KernelAlgorithm:
            getattr(kernels, f"hp_to_fp8_{name}")(normal(rows, columns), E4M3, config, algo=algorithm)
