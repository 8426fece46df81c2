"""Attention over pages of keys and values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from benchmarks.real.calls import Call, case, normal

from . import FLOAT, HALF, call, ends, launch, numbers, shuffled, zeros

OPS = "srt.layers.attention.triton_ops"
LENGTHS = ((1,), (5, 33, 100), (130, 7))


@case
def decode() -> Iterator[Call]:
    for lengths, (heads, kv_heads, dim), dtype in product(
        LENGTHS, ((4, 4, 64), (8, 2, 128), (16, 1, 96)), (HALF, torch.float16)
    ):
        batch, total, splits = len(lengths), sum(lengths), 8
        q, o = normal(batch, heads, dim, dtype=dtype), normal(batch, heads, dim, dtype=dtype)
        k, v = (normal(total + 50, kv_heads, dim, dtype=dtype) for _ in range(2))
        logits, lse = zeros(batch, heads, splits, dim), zeros(batch, heads, splits)
        for cap in (0.0, 30.0):
            yield call(
                f"{OPS}.decode_attention:decode_attention_fwd", q, k, v, o, ends(*lengths), shuffled(total + 50, total),
                logits, lse, numbers(*(splits for _ in lengths)), splits, 0.125, 1.0, 1.0, cap,
            )  # fmt: skip


@case
def extend() -> Iterator[Call]:
    for lengths, (heads, kv_heads, dim), causal in product(LENGTHS, ((4, 4, 64), (8, 2, 128)), (True, False)):
        batch, total = len(lengths), sum(lengths)
        prefix = tuple(range(3, 3 + 4 * batch, 4))
        q, o = normal(total, heads, dim), normal(total, heads, dim)
        k, v = normal(total, kv_heads, dim), normal(total, kv_heads, dim)
        buffers = normal(sum(prefix) + 20, kv_heads, dim), normal(sum(prefix) + 20, kv_heads, dim)
        yield call(
            f"{OPS}.extend_attention:extend_attention_fwd", q, k, v, o, *buffers, ends(*lengths), ends(*prefix),
            shuffled(sum(prefix) + 20, sum(prefix)), None, causal, None, max(lengths), 1.0, 1.0,
        )  # fmt: skip
        yield call(
            f"{OPS}.extend_attention:build_unified_kv_indices", ends(*prefix), shuffled(sum(prefix)),
            ends(*lengths)[:-1].contiguous(), numbers(*lengths), shuffled(total), batch,
        )  # fmt: skip
        yield call(
            f"{OPS}.prefill_attention:context_attention_fwd", q, k, v, o, ends(*lengths)[:-1].contiguous(),
            numbers(*lengths), max(lengths), causal,
        )  # fmt: skip
        merged = normal(total, heads, dim), normal(total, heads, dtype=FLOAT)
        yield call(
            f"{OPS}.merge_state:merge_state_triton",
            *merged,
            normal(total, heads, dim),
            normal(total, heads, dtype=FLOAT),
        )


@case
def sparse() -> Iterator[Call]:
    ops = f"{OPS}.double_sparsity_attention"
    for lengths in ((40,), (64, 100, 33)):
        batch, most, heads, dim = len(lengths), 128, 4, 64
        pool = shuffled(batch * most).to(torch.int32).view(batch, most)
        requests = torch.arange(batch, device="cuda", dtype=torch.int32)
        q, k, v = normal(batch, heads, dim), normal(batch * most, heads, dim), normal(batch * most, heads, dim)
        mid, lse = zeros(batch, heads, most // 32 + 1, dim), zeros(batch, heads, most // 32 + 1)
        yield call(f"{ops}:flash_decode_stage1", q, k, v, pool, requests, numbers(*lengths), max(lengths), mid, lse, 32)
        yield call(f"{ops}:flash_decode_stage2", mid, lse, numbers(*lengths), normal(batch, heads, dim), 32)
        yield call(f"{ops}:sparse_flash_decode_stage3", 64, mid, lse, normal(batch, heads, dim), 32)
        kernels = "srt.layers.attention.nsa"
        pages = shuffled(batch * most).to(torch.int32).view(batch, most)
        chosen = torch.randint(0, 33, (batch, 2048), device="cuda", dtype=torch.int32)
        wide = torch.randint(0, 1000, (batch, 4096), device="cuda", dtype=torch.int32)
        yield call(f"{kernels}.transform_index:transform_index_page_table_decode_fast", wide, chosen)
        yield call(f"{kernels}.triton_kernel:act_quant", normal(33, 256))
        cache = torch.randint(0, 255, (batch * most, 1, 656), device="cuda", dtype=torch.uint8).view(
            torch.float8_e4m3fn
        )
        yield call(f"{kernels}.dequant_k_cache:_dequantize_k_cache_fast", cache.view(-1, 656))
        yield call(f"{kernels}.dequant_k_cache:dequantize_k_cache_paged", cache, pages.flatten())
        yield call(f"{kernels}.quant_k_cache:_quantize_k_cache_fast", normal(33, 512), normal(33, 64))


@case
def indices() -> Iterator[Call]:
    for lengths in LENGTHS:
        batch, most, total = len(lengths), 256, sum(lengths)
        table = shuffled(batch * most).to(torch.int32).view(batch, most)
        requests = shuffled(batch)
        utils = "srt.layers.attention.utils"
        yield launch(
            f"{utils}:create_flashinfer_kv_indices_triton", (batch,), table, requests, numbers(*lengths),
            ends(*lengths), None, zeros(total, dtype=torch.int32), most,
        )  # fmt: skip
        yield launch(
            f"{utils}:create_flashmla_kv_indices_triton", (batch,), table, requests, numbers(*lengths), None,
            zeros(batch, 4, dtype=torch.int32), most, 4,
        )  # fmt: skip
        yield launch(
            "srt.layers.attention.triton_backend:get_num_kv_splits_triton", (1,), zeros(batch, dtype=torch.int32),
            numbers(*lengths), batch, 1, 8, 2, 16, 132, MAX_NUM_SEQ=1 << batch.bit_length(),
        )  # fmt: skip
        yield call(
            f"{utils}:concat_and_cast_mha_k_triton", normal(total, 4, 192), normal(total, 4, 128), normal(total, 1, 64)
        )
        yield call(
            f"{utils}:pad_sequence_with_mask",
            normal(total, 96),
            ends(*lengths)[:-1].contiguous(),
            numbers(*lengths),
            max(lengths),
        )
        yield call(
            f"{utils}:seqlens_expand_triton", numbers(*lengths), numbers(*(n + 9 for n in lengths)), total, max(lengths)
        )
        caches = normal(16, 16, 4, 64), normal(16, 16, 4, 64)
        yield call(
            f"{utils}:launch_reshape_and_cache_flash",
            normal(total, 4, 64),
            normal(total, 4, 64),
            *caches,
            shuffled(256, total),
        )
        yield call(
            "srt.model_executor.forward_batch_info:compute_position_triton",
            numbers(*(3 for _ in lengths)),
            numbers(*lengths),
            total,
        )
        yield call("srt.mem_cache.common:get_last_loc_triton", table, requests, numbers(*lengths, dtype=torch.int64))
        starts, stops = zeros(batch, dtype=torch.int32), numbers(*lengths)
        yield call(
            "srt.speculative.spec_utils:assign_req_to_token_pool_func",
            requests.to(torch.int32),
            table,
            starts,
            stops,
            shuffled(total),
            batch,
        )
        evict = torch.ones(batch * 8, dtype=torch.bool, device="cuda")
        yield launch(
            "srt.speculative.spec_utils:align_evict_mask_to_page_size",
            (batch,),
            numbers(*lengths, dtype=torch.int64),
            evict,
            16,
            8,
            8,
        )
        yield launch(
            "srt.speculative.spec_utils:create_extend_after_decode_spec_info",
            (batch,),
            shuffled(4 * batch),
            numbers(*lengths),
            numbers(*(2 for _ in lengths)),
            zeros(2 * batch, dtype=torch.int64),
            zeros(batch, dtype=torch.int32),
            1 << batch.bit_length(),
        )
        pages = shuffled(batch * 40)
        last = numbers(*(15 for _ in lengths), dtype=torch.int64)
        yield launch(
            "srt.mem_cache.allocator:alloc_extend_kernel",
            (batch,),
            numbers(*(16 for _ in lengths), dtype=torch.int64),
            numbers(*(16 + n for n in lengths), dtype=torch.int64),
            last,
            pages,
            zeros(total, dtype=torch.int64),
            1 << (batch - 1).bit_length(),
            16,
        )
        yield launch(
            "srt.mem_cache.allocator:alloc_decode_kernel",
            (batch,),
            numbers(*lengths, dtype=torch.int64),
            last,
            pages,
            zeros(batch, dtype=torch.int64),
            1 << (batch - 1).bit_length(),
            16,
        )
        buffer = normal(300, 1, 576)
        for name in ("set_mla_kv_buffer_triton", "get_mla_kv_buffer_triton"):
            yield call(
                f"srt.mem_cache.utils:{name}", buffer, shuffled(300, total), normal(total, 1, 512), normal(total, 1, 64)
            )
