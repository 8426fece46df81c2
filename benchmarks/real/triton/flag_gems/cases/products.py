"""Matrix products, convolutions, attention, experts, caches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import flag_gems
import torch
from benchmarks.real.calls import Call, case, integers, normal, there_and_back

from . import FLOATS, LAYOUTS, calls

FLOAT = torch.float32
SIZES = ((1, 1, 1), (16, 64, 32), (37, 129, 70), (130, 256, 100))


@case
def matrices() -> Iterator[Call]:
    for (m, n, k), dtype, layout in product(SIZES, FLOATS, LAYOUTS[:2]):
        a, b, bias = (layout(normal(*size, dtype=dtype)) for size in ((m, k), (k, n), (m, n)))
        yield from calls("mm", a, b)
        yield from calls("addmm", bias, a, b)
        yield from calls("mv experimental.mv", a, normal(k, dtype=dtype))
        yield from calls("addmv", normal(m, dtype=dtype), a, normal(k, dtype=dtype))
        yield from calls("outer", normal(m, dtype=dtype), normal(n, dtype=dtype))
        yield from calls("addr", bias, normal(m, dtype=dtype), normal(n, dtype=dtype))
        a3, b3, c3 = (layout(normal(3, *size, dtype=dtype)) for size in ((m, k), (k, n), (m, n)))
        yield from calls("bmm", a3, b3)
        yield from calls("baddbmm", c3, a3, b3)


@case
def quantised() -> Iterator[Call]:
    for m, n, k in ((16, 128, 128), (37, 256, 384)):
        x = normal(m, k, dtype=torch.bfloat16)
        yield from calls("per_token_group_quant_fp8", x, 128)
        yield from calls("act_quant_triton", x, 128)
        a, b = normal(m, k, dtype=torch.float8_e4m3fn), normal(n, k, dtype=torch.float8_e4m3fn)
        scales = normal(m, k // 128, dtype=FLOAT), normal(n // 128, k // 128, dtype=FLOAT)
        yield from calls("w8a8_block_fp8_matmul", a, b, *scales, [128, 128])
        yield from calls("fp8_matmul", a, scales[0], b, scales[1])
        yield from calls("hadamard_transform", normal(m, 128, dtype=torch.bfloat16))
        out = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
        yield from calls("cutlass_scaled_mm", out, a, b.t(), normal(m, 1, dtype=FLOAT), normal(1, n, dtype=FLOAT))


@case
def grouped() -> Iterator[Call]:
    for experts, rows, n, k in ((2, 40, 64, 32), (4, 130, 100, 72)):
        ends = torch.tensor([rows * (i + 1) // experts for i in range(experts)], dtype=torch.int32, device="cuda")
        yield from calls("group_mm", normal(rows, k), normal(experts, k, n), ends)


@case
def convolutions() -> Iterator[Call]:
    for (channels, filters, groups), dtype in product(((3, 8, 1), (4, 6, 2)), (FLOAT, torch.float16)):
        for name, size in (("conv1d", (33,)), ("conv2d", (9, 13)), ("conv3d", (4, 5, 7))):
            x, w = (
                normal(2, channels, *size, dtype=dtype),
                normal(filters, channels // groups, *(3 for _ in size), dtype=dtype),
            )
            convolve = getattr(flag_gems, name)
            x, w = x.requires_grad_(), w.requires_grad_()
            yield there_and_back(convolve, x, w, normal(filters, dtype=dtype), 1, 1, 1, groups)


@case
def attention() -> Iterator[Call]:
    for (length, keys, dim, causal), dtype in product(
        ((16, 16, 64, False), (37, 37, 64, True), (130, 130, 128, True)), (torch.float16, torch.bfloat16)
    ):
        for kv_heads in (4, 2):
            q = normal(2, 4, length, dim, dtype=dtype, grad=True)
            k, v = (normal(2, kv_heads, keys, dim, dtype=dtype, grad=True) for _ in range(2))
            attend = flag_gems.ops.ScaleDotProductAttention.apply
            yield there_and_back(attend, q, k, v, None, 0.0, causal, None, kv_heads != 4)
            qt, kt, vt = (each.detach().transpose(1, 2).contiguous() for each in (q, k, v))
            yield from calls("flash_attention_forward", qt, kt, vt, None, None, length, keys, 0.0, causal, False)
            ends = torch.tensor([0, length, 2 * length], dtype=torch.int32, device="cuda")
            yield from calls(
                "flash_attn_varlen_func flash_attn_varlen_opt_func",
                qt.reshape(-1, 4, dim), kt.reshape(-1, kv_heads, dim), vt.reshape(-1, kv_heads, dim),
                length, ends, keys, ends, causal=causal,
            )  # fmt: skip


@case
def experts() -> Iterator[Call]:
    for tokens, hidden, inner, count, chosen in ((5, 64, 32, 4, 2), (130, 128, 96, 8, 3)):
        ids = integers(0, count, tokens, chosen, dtype=torch.int32)
        weights = torch.rand(tokens, chosen, device="cuda")
        w1, w2 = normal(count, 2 * inner, hidden), normal(count, hidden, inner)
        yield from calls("outplace_fused_experts inplace_fused_experts", normal(tokens, hidden), w1, w2, weights, ids)
        yield from calls("moe_align_block_size", ids, 16, count)
        yield from calls("moe_sum", normal(tokens, chosen, hidden), normal(tokens, hidden))
        out = [torch.empty(tokens, chosen, device="cuda", dtype=d) for d in (FLOAT, torch.int32, torch.int32)]
        yield from calls("topk_softmax", *out, normal(tokens, count, dtype=FLOAT))
        yield from calls("grouped_topk", normal(tokens, 64, dtype=FLOAT), 8, 4, 6, True, 1.0, normal(64, dtype=FLOAT))


@case
def caches() -> Iterator[Call]:
    for tokens, heads, dim in ((1, 2, 64), (37, 4, 80)):
        key, value = normal(tokens, heads, dim), normal(tokens, heads, dim)
        slots, one = torch.randperm(16 * 8, device="cuda")[:tokens], torch.ones((), device="cuda")
        cache = normal(8, heads, dim // 8, 16, 8), normal(8, heads, dim, 16)
        yield from calls("reshape_and_cache", key, value, *cache, slots, "auto", one, one)
        flash = normal(8, 16, heads, dim), normal(8, 16, heads, dim)
        yield from calls("reshape_and_cache_flash", key, value, *flash, slots, "auto", one, one)
        yield from calls(
            "concat_and_cache_mla", normal(tokens, 512), normal(tokens, 64), normal(8, 16, 576), slots, "auto", one
        )
        q, k = normal(2, 9, heads, dim), normal(2, 9, heads, dim)
        cos, sin = (normal(9, dim // 2, dtype=FLOAT) for _ in range(2))
        for interleaved, in_place in product((False, True), repeat=2):
            yield from calls("apply_rotary_pos_emb", q, k, cos, sin, None, interleaved, in_place)
    for tokens in (3, 130):
        q = normal(tokens, 1, 16, 576)
        table = torch.arange(4 * tokens, dtype=torch.int32, device="cuda").view(tokens, 4)
        lengths = integers(1, 256, tokens, dtype=torch.int32)
        yield from calls(
            "flash_mla", q, table, normal(4 * tokens, 64, 1, 576), 256, 64, tokens, 1, lengths, 16, 1, 576, 512, True
        )


@case
def recurrences() -> Iterator[Call]:
    for length, heads in ((33, 2), (130, 4)):
        q, k, v = (normal(1, length, heads, 64) for _ in range(3))
        g = torch.nn.functional.logsigmoid(normal(1, length, heads, dtype=FLOAT))
        beta = normal(1, length, heads).sigmoid()
        state = normal(1, heads, 64, 64, dtype=FLOAT)
        yield from calls("chunk_gated_delta_rule_fwd", q, k, v, g, beta, 0.125, state, True)
        yield from calls("fused_recurrent_gated_delta_rule_fwd", q, k, v, g, beta, 0.125, state, False)
    for tokens in (5, 130):
        yield from calls(
            "rwkv_ka_fusion",
            normal(tokens, 256, dtype=FLOAT),
            normal(256, dtype=FLOAT),
            normal(tokens, 256, dtype=FLOAT),
            normal(256, dtype=FLOAT),
            4,
            64,
        )
        yield from calls("rwkv_mm_sparsity", normal(256, dtype=FLOAT).relu(), normal(256, 64, dtype=FLOAT))
        yield from calls("sinkhorn_forward", normal(tokens, 4, 4, dtype=FLOAT))
        yield from calls("mhc_bwd", normal(tokens, 4, 4, dtype=FLOAT), normal(tokens, 4, 4, dtype=FLOAT))
        yield from calls(
            "mhc_post",
            normal(tokens, 256),
            normal(tokens, 4, 256),
            normal(tokens, 4, 1, dtype=FLOAT),
            normal(tokens, 4, 4, dtype=FLOAT),
        )
        yield from calls(
            "apply_repetition_penalties",
            normal(tokens, 1000, dtype=FLOAT),
            normal(tokens, 1000) > 0,
            normal(tokens, 1000) > 0,
            normal(tokens, dtype=FLOAT),
        )
        yield from calls("swiglu geglu reglu", normal(tokens, 512))
        yield from calls("dswiglu dgeglu dreglu", normal(tokens, 256), normal(tokens, 512))
