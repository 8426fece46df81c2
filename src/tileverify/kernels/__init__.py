"""A library of kernels that are proved for any sizes.

Host functions take arrays of NumPy, torch, CuPy or JAX, make the arrays of the result, and launch a kernel under its
proof; on the host, it runs in the interpreter.  Those of torch and JAX have gradients, where a function has one.
"""

from __future__ import annotations

from .activations import add_rms_norm, dropout, gelu, gelu_mul, layer_norm, relu, rms_norm, silu, silu_mul
from .attending import (
    attention,
    cache_update,
    decode_attention,
    decode_heads,
    decode_normed_heads,
    prefill_heads,
    prefill_normed_heads,
    qk_norm,
    rope,
    rope_from,
    rope_in_place,
)
from .choosing import argmax, head_argmax, sample, sample_top, top_k
from .moving import cast, embedding, fill, from_stack, gather_rows, swap_heads, to_stack, transpose
from .prepared import use
from .products import (
    matmul,
    matmul_experts,
    matmul_list,
    matmul_scaled,
    matmul_segments,
    matvec,
    matvec_experts,
    matvec_gated,
    matvec_normed,
    matvec_normed_gated,
)
from .reductions import column_sums, cross_entropy, log_softmax, row_maxima, row_means, row_sums, softmax
from .routing import Placed, combine, dispatch, place_tokens, route
from .sorting import array_maximum, array_sum, histogram, join, prefix_sums, radix_pass, sort

__all__ = [
    "Placed", "add_rms_norm", "argmax", "array_maximum", "array_sum", "attention", "cache_update", "cast",
    "column_sums", "combine", "cross_entropy", "decode_attention", "decode_heads", "decode_normed_heads", "dispatch",
    "dropout", "embedding", "fill", "from_stack", "gather_rows", "gelu", "gelu_mul", "head_argmax", "histogram", "join",
    "layer_norm", "log_softmax", "matmul", "matmul_experts", "matmul_list", "matmul_scaled", "matmul_segments",
    "matvec", "matvec_experts", "matvec_gated", "matvec_normed", "matvec_normed_gated", "place_tokens", "prefill_heads",
    "prefill_normed_heads", "prefix_sums", "qk_norm", "radix_pass", "relu", "rms_norm", "rope", "rope_from",
    "rope_in_place", "route", "row_maxima", "row_means", "row_sums", "sample", "sample_top", "silu", "silu_mul",
    "softmax", "sort", "swap_heads", "to_stack", "top_k", "transpose", "use",
]  # fmt: skip
