"""Element-wise layers, norms, quantisation, experts, adapters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
from benchmarks.real.calls import Call, case, integers, normal

from . import FLOAT, HALF, call, ends, numbers, shuffled, zeros

E4M3 = torch.float8_e4m3fn
ROWS = ((1, 64), (5, 96), (33, 1000), (130, 256))


@case
def elementwise() -> Iterator[Call]:
    layers = "srt.layers.elementwise"
    for (rows, columns), dtype in product(ROWS, (HALF, torch.float16, FLOAT)):
        x, y, w = normal(rows, columns, dtype=dtype), normal(rows, columns, dtype=dtype), normal(columns, dtype=dtype)
        yield call(f"{layers}:fused_softcap", x, 30.0)
        yield call(f"{layers}:fused_softcap", x, 30.0, autotune=True)
        for tuned in (False, True):
            yield call(f"{layers}:fused_dual_residual_rmsnorm", x, y, w, w, 1e-6, autotune=tuned)
            yield call(f"{layers}:fused_rmsnorm", x, w, 1e-6, autotune=tuned)
        yield call(f"{layers}:experts_combine_triton", normal(rows, 2, columns, dtype=dtype), y)
        yield call(f"{layers}:gelu_and_mul_triton", normal(rows, 2 * columns, dtype=dtype))
        yield call(f"{layers}:silu_and_mul_triton", normal(rows, 2 * columns, dtype=dtype))
        yield call("srt.layers.logits_processor:fused_softcap", normal(rows, columns, dtype=dtype), 30.0)
        invariant = "srt.batch_invariant_ops.batch_invariant_ops"
        yield call(f"{invariant}:log_softmax", x)
        yield call(f"{invariant}:mean_dim", x, 0)
        yield call(f"{invariant}:mean_dim", x, 1)
        yield call(f"{invariant}:rms_norm", x, w)
        yield call(f"{invariant}:_matmul_persistent_triton", x, normal(columns, 72, dtype=dtype))
        yield call(f"{invariant}:bmm_batch_invariant", normal(3, rows, 64, dtype=dtype), normal(3, 64, 72, dtype=dtype))
        yield call("srt.layers.multimodal:gpu_tensor_hash", x)
        yield call(
            "srt.layers.utils.hash:murmur_hash32",
            integers(0, 99, rows),
            integers(0, 99, rows),
            integers(0, columns, columns),
        )
        yield call(
            "srt.constrained.triton_ops.bitmask_ops:apply_token_bitmask_inplace_triton",
            x.to(FLOAT),
            integers(0, 2**31 - 1, rows, (columns + 31) // 32, dtype=torch.int32),
        )
        yield call("srt.models.minimax_m2:rms_sumsq_serial", x, y)
        yield call("srt.models.minimax_m2:rms_apply_serial", x, y, w, w, normal(rows * 2, dtype=FLOAT))
        yield call("jit_kernel.diffusion.triton.rmsnorm_onepass:_triton_one_pass_rms_norm_cuda", x, w)
        for gated in (None, y):
            for norm_first in (True, False):
                yield call(
                    "srt.layers.attention.mamba.ops.layernorm_gated:_layer_norm_fwd",
                    x,
                    w,
                    None,
                    1e-5,
                    z=gated,
                    norm_before_gate=norm_first,
                    is_rms_norm=True,
                )
                yield call(
                    "srt.layers.attention.fla.layernorm_gated:_layer_norm_fwd",
                    x,
                    w,
                    None,
                    1e-5,
                    z=gated,
                    norm_before_gate=norm_first,
                    is_rms_norm=True,
                )
        yield call("srt.layers.attention.fla.fused_norm_gate:layer_norm_gated_fwd", x, y, w, None, is_rms_norm=True)
        yield call("srt.layers.attention.fla.l2norm:l2norm_fwd", x)
        memory = normal(2 * rows + 3, columns, dtype=dtype)
        yield call("srt.layers.dp_attention:memcpy_triton", memory, x, 0, numbers(3), numbers(rows // 2 + 1), False)


@case
def quantisation() -> Iterator[Call]:
    fp8, int8 = "srt.layers.quantization.fp8_kernel", "srt.layers.quantization.int8_kernel"
    for rows, columns in ((1, 128), (33, 256), (130, 512)):
        x = normal(rows, columns)
        for column_major in (False, True):
            yield call(f"{fp8}:_per_token_group_quant_8bit_raw", x, 128, dtype=E4M3, column_major_scales=column_major)
        for repeated in (False, True):
            yield call(f"{fp8}:static_quant_fp8", x, normal(1, dtype=FLOAT), repeated)
        yield call(
            f"{fp8}:triton_scaled_mm",
            normal(rows, columns, dtype=E4M3),
            normal(columns, 96, dtype=E4M3),
            normal(rows, 1, dtype=FLOAT),
            normal(96, 1, dtype=FLOAT),
            HALF,
        )
        yield call(f"{fp8}:per_tensor_quant_mla_fp8", normal(rows, 2, columns), zeros(1))
        yield call(f"{fp8}:per_token_group_quant_mla_deep_gemm_masked_fp8", normal(4, rows, columns), dtype=E4M3)
        yield call(f"{int8}:per_token_quant_int8", x)
        yield call(f"{int8}:per_token_quant_int8", x, cal_sum=True)
        yield call(f"{int8}:per_token_group_quant_int8", x, 128)
        a, b = integers(-127, 127, rows, columns, dtype=torch.int8), integers(-127, 127, 256, columns, dtype=torch.int8)
        yield call(
            f"{int8}:w8a8_block_int8_matmul",
            a,
            b,
            normal(rows, columns // 128, dtype=FLOAT),
            normal(2, columns // 128, dtype=FLOAT),
            [128, 128],
        )
        q, scales, zero_points = (
            integers(0, 2**31 - 1, columns, 16, dtype=torch.int32),
            normal(columns // 64, 128, dtype=torch.float16),
            integers(0, 2**31 - 1, columns // 64, 16, dtype=torch.int32),
        )
        yield call("srt.layers.quantization.awq_triton:awq_dequantize_triton", q, scales, zero_points)
        for split in (1, 2):
            yield call(
                "srt.layers.quantization.awq_triton:awq_gemm_triton",
                normal(rows, columns, dtype=torch.float16),
                q,
                scales,
                zero_points,
                split,
            )


@case
def experts() -> Iterator[Call]:
    moe = "srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels"
    for tokens, hidden, count, chosen in ((5, 64, 4, 2), (130, 256, 8, 3)):
        for scaling in (1.0, 2.5):
            yield call(f"{moe}:moe_sum_reduce_triton", normal(tokens, chosen, hidden), normal(tokens, hidden), scaling)
        ids, weights = integers(0, count, tokens, chosen, dtype=torch.int32), torch.rand(tokens, chosen, device="cuda")
        yield call(f"{moe}:fused_append_shared_experts", ids, weights, 1, 0.5, N=count)
        for activation in ("silu", "gelu"):
            yield call(
                f"{moe}:act_and_mul_triton",
                normal(tokens * chosen, 2 * hidden),
                normal(tokens * chosen, hidden),
                {"BLOCK_SIZE_M": 16},
                ids,
                None,
                activation=activation,
            )
        router = "srt.layers.moe.router"
        yield call(f"{router}:fused_moe_router_cudacore", normal(tokens, hidden), normal(count, hidden), 2, 30.0)
        yield call(
            f"{router}:fused_moe_router_tensorcore", normal(tokens, hidden), normal(count, hidden), 2, 30.0, 32, 16, 64
        )
        kernels = "srt.layers.moe.ep_moe.kernels"
        yield call(f"{kernels}:deepep_run_moe_deep_preprocess", ids.to(torch.int64), count)
        yield call(f"{kernels}:cutlass_w4_run_moe_ep_preproess", ids)
        yield call(f"{kernels}:tma_align_input_scale", normal(tokens, hidden // 32, dtype=FLOAT))
        yield call(
            f"{kernels}:ep_gather",
            normal(tokens * chosen, 512),
            ids,
            weights,
            shuffled(tokens * chosen).to(torch.int32).view(tokens, chosen),
            normal(tokens, 512),
        )
        masked = integers(0, 16, count, dtype=torch.int32)
        yield call(
            f"{kernels}:silu_and_mul_masked_post_quant_fwd",
            normal(count, 16, 512),
            zeros(count, 16, 256).to(E4M3),
            zeros(count, 16, 2),
            128,
            masked,
        )
        yield call(
            f"{kernels}:compute_problem_sizes_w4a8",
            masked,
            zeros(count, 3, dtype=torch.int32),
            zeros(count, 3, dtype=torch.int32),
            64,
            128,
            count,
        )


@case
def adapters() -> Iterator[Call]:
    """LoRA: products whose weights each segment of the batch chooses."""
    ops = "srt.lora.triton_ops"
    for lengths, rank in (((3, 20), 16), ((1, 17, 40), 8)):
        total, hidden, out, count = sum(lengths), 128, 96, 2
        x, info = normal(total, hidden), _Lazy(lengths, rank, count)
        yield info(f"{ops}.sgemm_lora_a:sgemm_lora_a_fwd", x, normal(count, rank, hidden))
        yield info(f"{ops}.sgemm_lora_b:sgemm_lora_b_fwd", normal(total, rank), normal(count, out, rank))
        yield info(
            f"{ops}.gate_up_lora_b:gate_up_lora_b_fwd",
            normal(total, 2 * rank),
            normal(count, 2 * out, rank),
            last=(out,),
        )
        yield info(
            f"{ops}.qkv_lora_b:qkv_lora_b_fwd",
            normal(total, 3 * rank),
            normal(count, 96 + 32 + 32, rank),
            last=(numbers(0, 96, 128, 160), 96),
        )
        yield info(
            f"{ops}.embedding_lora_a:embedding_lora_a_fwd",
            integers(0, 100, total),
            normal(count, rank, 100),
            last=(100,),
        )
        yield info(
            f"{ops}.chunked_sgmv_shrink:chunked_sgmv_lora_shrink_forward", x, normal(count, rank, hidden), last=(1,)
        )


class _Lazy:
    """Calls with sglang's description of a batch, which is made when its module can be imported."""

    def __init__(self, lengths: tuple[int, ...], rank: int, count: int) -> None:
        self._lengths, self._rank, self._count = lengths, rank, count

    def __call__(self, path: str, x: Any, weights: Any, last: tuple[Any, ...] = ()) -> Call:
        from sglang.srt.lora.utils import LoRABatchInfo

        lengths = self._lengths
        info = LoRABatchInfo(
            use_cuda_graph=False, bs=len(lengths), num_segments=len(lengths), seg_indptr=ends(*lengths),
            weight_indices=numbers(*(i % self._count for i in range(len(lengths)))),
            lora_ranks=numbers(*(self._rank for _ in range(self._count))),
            scalings=torch.ones(self._count, device="cuda"), max_len=max(lengths), seg_lens=numbers(*lengths),
            permutation=shuffled(sum(lengths)).to(torch.int32),
        )  # fmt: skip
        return call(path, x, weights, info, *last)
