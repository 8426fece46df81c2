"""Gated delta rules, Mamba's scans, convolutions, rotary embeddings."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from benchmarks.real.calls import Call, case, normal

from . import FLOAT, HALF, call, ends, numbers, shuffled, zeros

FLA = "srt.layers.attention.fla"
MAMBA = "srt.layers.attention.mamba"


@case
def delta_rules() -> Iterator[Call]:
    for lengths in ((), (15, 62, 77)):
        batch, length, heads, dim = (1, 154, 2, 64) if lengths else (2, 77, 2, 64)
        cu = ends(*lengths, dtype=torch.int64) if lengths else None
        q, k, v = (normal(batch, length, heads, dim) for _ in range(3))
        g = torch.nn.functional.logsigmoid(normal(batch, length, heads, dtype=FLOAT))
        gk = torch.nn.functional.logsigmoid(normal(batch, length, heads, dim, dtype=FLOAT))
        beta = normal(batch, length, heads).sigmoid()
        count = len(lengths) or batch
        state = normal(count, heads, dim, dim, dtype=FLOAT)
        yield call(
            f"{FLA}.chunk_delta_h:chunk_gated_delta_rule_fwd_h",
            k,
            q,
            v,
            g,
            None,
            state,
            torch.arange(count, device="cuda", dtype=torch.int32),
            True,
            cu,
        )
        yield call(
            f"{FLA}.chunk_o:chunk_fwd_o",
            q,
            k,
            v,
            normal(batch, (length + 63) // 64 + count, heads, dim, dim),
            g,
            0.125,
            cu,
        )
        yield call(f"{FLA}.chunk_fwd:chunk_gated_delta_rule_fwd_intra", k, v, g, beta, cu)
        yield call(f"{FLA}.chunk_scaled_dot_kkt:chunk_scaled_dot_kkt_fwd", k, beta, g, cu)
        yield call(f"{FLA}.chunk_intra:chunk_kda_fwd_intra", q, k, v, gk, beta, 0.125, cu)
        yield call(f"{FLA}.cumsum:chunk_local_cumsum_scalar", g, 64, cu_seqlens=cu)
        yield call(f"{FLA}.cumsum:chunk_local_cumsum_vector", gk, 64, cu_seqlens=cu)
        yield call(f"{FLA}.solve_tril:solve_tril", normal(batch, length, heads, 64, dtype=FLOAT), cu)
        yield call(f"{FLA}.solve_tril:solve_tril", normal(batch, length, heads, 16, dtype=FLOAT), cu)
        yield call(
            f"{FLA}.fused_recurrent:fused_recurrent_gated_delta_rule_fwd",
            q,
            k,
            v,
            g,
            beta,
            0.125,
            state,
            True,
            cu_seqlens=cu,
        )
        yield call(f"{FLA}.kda:chunk_kda_scaled_dot_kkt_fwd", q, k, gk, beta, 0.125, cu)
        yield call(f"{FLA}.kda:recompute_w_u_fwd", k, v, beta, normal(batch, length, heads, 64), q, gk, cu)
        yield call(f"{FLA}.kda:fused_kda_gate", normal(length, heads * dim), normal(heads, dtype=FLOAT), dim)
        yield call(
            f"{FLA}.fused_gdn_gating:fused_gdn_gating",
            normal(heads, dtype=FLOAT),
            normal(length, heads),
            normal(length, heads),
            normal(heads, dtype=FLOAT),
        )
        indices = shuffled(count + 3, count).to(torch.int32)
        pool = normal(count + 3, heads, dim, dim, dtype=FLOAT)
        a = normal(batch, length, heads)
        yield call(
            f"{FLA}.fused_sigmoid_gating_recurrent:fused_sigmoid_gating_delta_rule_update",
            normal(heads, dtype=FLOAT),
            a,
            normal(heads, dtype=FLOAT),
            1.0,
            20.0,
            q,
            k,
            v,
            a,
            pool,
            indices,
            cu_seqlens=cu,
        )
        yield call(
            f"{FLA}.fused_recurrent:fused_recurrent_gated_delta_rule_update_fwd",
            q,
            k,
            v,
            g,
            beta,
            0.125,
            pool,
            indices,
            cu_seqlens=cu,
        )


@case
def mamba() -> Iterator[Call]:
    for batch, heads, dim, state in ((2, 4, 64, 32), (5, 3, 80, 16)):
        dt = normal(batch, heads, dim, dtype=FLOAT)
        a, d = -torch.rand(heads, dim, state, device="cuda"), normal(heads, dim, dtype=FLOAT)
        b, c = normal(batch, heads, state), normal(batch, heads, state)
        out = zeros(batch, heads, dim, dtype=HALF)
        yield call(
            f"{MAMBA}.ops.mamba_ssm:selective_state_update",
            normal(batch, heads, dim, state, dtype=FLOAT),
            normal(batch, heads, dim),
            dt,
            a,
            b,
            c,
            d,
            None,
            d,
            True,
            out=out,
        )
        pool, slots = normal(batch + 4, heads, dim, state, dtype=FLOAT), shuffled(batch + 4, batch).to(torch.int32)
        yield call(
            f"{MAMBA}.ops.mamba_ssm:selective_state_update",
            pool,
            normal(batch, heads, dim),
            dt,
            a,
            b,
            c,
            d,
            normal(batch, heads, dim),
            d,
            True,
            slots,
            out=out,
        )
        length = 100
        x, steps = normal(1, length, heads, dim), torch.rand(1, length, heads, device="cuda")
        yield call(
            f"{MAMBA}.ops.ssd_chunk_state:_chunk_cumsum_fwd",
            steps,
            -torch.rand(heads, device="cuda"),
            64,
            normal(heads, dtype=FLOAT),
            True,
        )
        steps = torch.rand(1, heads, 2, 64, device="cuda")
        yield call(f"{MAMBA}.ops.ssd_chunk_state:_chunk_state_fwd", normal(1, length, 1, state), x, steps, steps)
        yield call(f"{MAMBA}.ops.ssd_bmm:_bmm_chunk_fwd", normal(1, length, 1, state), normal(1, length, 1, state), 64)
        yield call(
            f"{MAMBA}.ops.ssd_state_passing:_state_passing_fwd", normal(1, 2, heads, dim * state, dtype=FLOAT), steps
        )
        yield call(
            f"{MAMBA}.mamba_state_scatter_triton:fused_mamba_state_scatter_with_mask",
            normal(2, batch + 4, heads, dim),
            normal(2, batch, 3, heads, dim),
            slots,
            numbers(*(i % 3 for i in range(batch))),
        )
    for lengths, width in (((15, 62, 77), 96), ((33,), 200)):
        total, count = sum(lengths), len(lengths)
        slots = shuffled(count + 2, count).to(torch.int32)
        x = normal(width, total).t().contiguous().t()
        yield call(
            f"{MAMBA}.causal_conv1d_triton:causal_conv1d_fn",
            x,
            normal(width, 4),
            normal(width),
            normal(count + 2, width, 3).transpose(1, 2).contiguous().transpose(1, 2),
            ends(*lengths),
            list(lengths),
            slots,
            torch.zeros(count, dtype=torch.bool, device="cuda"),
            "silu",
        )
        yield call(
            f"{MAMBA}.causal_conv1d_triton:causal_conv1d_update",
            normal(count, width),
            normal(count + 2, width, 3),
            normal(width, 4),
            normal(width),
            "silu",
            conv_state_indices=slots,
        )


@case
def positions() -> Iterator[Call]:
    for tokens, heads in ((1, 2), (33, 4), (100, 5)):
        for interleaved in (False, True):
            q, k = normal(tokens, heads * 64), normal(tokens, 64)
            positions = torch.randint(0, 500, (3, tokens), device="cuda")
            yield call(
                "srt.layers.rotary_embedding.triton_kernels:triton_mrope_fused",
                q,
                k,
                normal(512, 64),
                positions,
                [8, 12, 12],
                64,
                64,
                interleaved,
                False,
                True,
                None,
            )
            yield call(
                "jit_kernel.diffusion.triton.rotary:apply_rotary_embedding",
                normal(tokens, heads, 64),
                normal(tokens, 32),
                normal(tokens, 32),
                interleaved,
            )
        mixed, pair = normal(tokens, 2 * (2 * 64 + 4 * 64)), normal(tokens, 2 * 4)
        for name in ("fused_qkvzba_split_reshape_cat", "fused_qkvzba_split_reshape_cat_contiguous"):
            yield call(f"jit_kernel.triton.gdn_fused_proj:{name}", mixed, pair, 2, 4, 64, 64)
        x, scale = normal(2, tokens, 96), normal(2, 1, 96)
        yield call("jit_kernel.diffusion.triton.scale_shift:fuse_scale_shift_kernel", x, scale, scale)
