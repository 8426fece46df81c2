"""A library of kernels that are proved for any sizes.

Host functions take arrays of NumPy or torch, make the arrays of the result, and launch a kernel under its proof; on the
host, it runs in the interpreter.  Those of torch have gradients, where a function has one.
"""

from __future__ import annotations

from .activations import dropout, gelu, gelu_mul, relu, silu, silu_mul
from .attending import attention, decode_attention
from .choosing import argmax, head_argmax, sample, sample_top, top_k
from .distributions import cross_entropy, log_softmax, softmax
from .heads import cache_update, decode_heads, decode_normed_heads, prefill_heads, prefill_normed_heads, qk_norm
from .moving import cast, embedding, fill, from_stack, gather_rows, swap_heads, to_stack, transpose
from .norms import add_rms_norm, layer_norm, rms_norm
from .prepared import use
from .reductions import column_sums, row_maxima, row_means, row_sums
from .rotary import rope, rope_from, rope_in_place
from .vectors import matvec, matvec_experts, matvec_gated, matvec_normed, matvec_normed_gated

__all__ = [
    "add_rms_norm", "argmax", "attention", "cache_update", "cast", "column_sums", "cross_entropy", "decode_attention",
    "decode_heads", "decode_normed_heads", "dropout", "embedding", "fill", "from_stack", "gather_rows", "gelu",
    "gelu_mul", "head_argmax", "layer_norm", "log_softmax", "matvec", "matvec_experts", "matvec_gated", "matvec_normed",
    "matvec_normed_gated", "prefill_heads", "prefill_normed_heads", "qk_norm", "relu", "rms_norm", "rope", "rope_from",
    "rope_in_place", "row_maxima", "row_means", "row_sums", "sample", "sample_top", "silu", "silu_mul", "softmax",
    "swap_heads", "to_stack", "top_k", "transpose", "use",
]  # fmt: skip
