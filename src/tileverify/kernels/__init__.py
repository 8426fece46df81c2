"""A library of kernels that are proved for any sizes.

Host functions take arrays of NumPy, torch, CuPy or JAX, make the arrays of the result, and launch a kernel under its
proof; on the host, it runs in the interpreter.  Those of torch and JAX have gradients, where a function has one.
"""

from __future__ import annotations

from .activations import dropout, gelu, gelu_mul, relu, silu, silu_mul
from .distributions import cross_entropy, log_softmax, softmax
from .grouped_products import matmul_experts, matmul_list, matmul_segments
from .joining import join
from .norms import add_rms_norm, layer_norm, rms_norm
from .prepared import use
from .products import matmul, matmul_scaled
from .routing import Placed, combine, dispatch, place_tokens, route
from .scans import array_maximum, array_sum, histogram, prefix_sums
from .sorting import radix_pass, sort

__all__ = [
    "Placed", "add_rms_norm", "array_maximum", "array_sum", "combine", "cross_entropy", "dispatch", "dropout",
    "gelu", "gelu_mul", "histogram", "join", "layer_norm", "log_softmax", "matmul", "matmul_experts", "matmul_list",
    "matmul_scaled", "matmul_segments", "place_tokens", "prefix_sums", "radix_pass", "relu", "rms_norm", "route",
    "silu", "silu_mul", "softmax", "sort", "use",
]  # fmt: skip
