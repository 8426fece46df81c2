"""Products of matrices, attention, convolution, rotary embeddings and quantisation."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from . import reference

# --------------------------------------------------------------------------------------------- products
_A, _B, _C = "f16[40, 24]", "f16[24, 56]", "f16[40, 56]"


@reference(
    "cutile/matmul.py::_matmul_kernel", grid=["12"],
    args={"A": _A, "B": _B, "C": _C, "TILE_SIZE_M": 16, "TILE_SIZE_N": 16, "TILE_SIZE_K": 16},
    without=("requires",),
)  # fmt: skip
def matmul(A, B):
    return {"C": A @ B}


@reference(
    "cutile/matmul.py::_static_persistent_matmul_kernel", grid=["5"],
    args={
        "A": _A, "B": _B, "C": _C, "M": "i32 = 40", "N": "i32 = 56", "K": "i32 = 24", "TILE_SIZE_M": 16,
        "TILE_SIZE_N": 16, "TILE_SIZE_K": 16,
    },
)  # fmt: skip
def matmul_persistent(A, B, TRANSPOSE_A, TRANSPOSE_B):
    return {"C": (A.T if TRANSPOSE_A else A) @ (B.T if TRANSPOSE_B else B)}


@reference(
    "cutile/bmm.py::_bmm_kernel", grid=["2", "3", "2"],
    args={"A": "f16[2, 24, 20]", "B": "f16[2, 20, 40]", "C": "f16[2, 24, 40]", "TM": 16, "TN": 16, "TK": 16},
)  # fmt: skip
def bmm(A, B):
    return {"C": torch.bmm(A, B)}


@reference(
    "cutile/bmm.py::_static_persistent_bmm_kernel", grid=["5"],
    args={
        "A": "f16[2, 24, 20]", "B": "f16[2, 20, 40]", "C": "f16[2, 24, 40]", "Batch": "i32 = 2", "M": 24, "N": 40,
        "K": 20, "TILE_M": 16, "TILE_N": 16, "TILE_K": 16,
    },
)  # fmt: skip
def bmm_persistent(A, B, TRANSPOSE_A, TRANSPOSE_B):
    return {"C": (A.mT if TRANSPOSE_A else A) @ (B.mT if TRANSPOSE_B else B)}


@reference(
    "gemm/gemm_alpha_beta.py::_gemm_alpha_beta_kernel", grid=["4"],
    args={
        "a": "bf16[40, 24]", "b": "bf16[56, 24]", "c": "bf16[40, 56]", "BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16,
    },
)  # fmt: skip
def gemm_alpha_beta(a, b, c, alpha, beta, TRANSPOSE_A, TRANSPOSE_B):
    return {"c": torch.addmm(c, a.T if TRANSPOSE_A else a, b.T if TRANSPOSE_B else b, beta=beta, alpha=alpha)}


@reference(
    "cutile/linear_gluact_linear.py::_linear_gluact_fwd_kernel", grid=["6"],
    args={
        "Input": "bf16[24, 32]", "Weight_act": "bf16[48, 32]", "Weight_noact": "bf16[48, 32]",
        "Act_out": "bf16[24, 48]", "Noact_out": "bf16[24, 48]", "Mul_out": "bf16[24, 48]", "M": 24, "N1": 48, "K": 32,
        "BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16,
    },
)  # fmt: skip
def linear_gluact(Input, Weight_act, Weight_noact, ACT_TYPE):
    act, other = F.linear(Input, Weight_act), F.linear(Input, Weight_noact)
    act = (F.silu, F.relu, lambda x: F.gelu(x, approximate="tanh"))[ACT_TYPE](act)
    return {"Act_out": act, "Noact_out": other, "Mul_out": act * other}


# -------------------------------------------------------------------------------------------- attention
_HEADS = "bf16[1, 4, 48, 16]"
_SCORES = {"TILE_D": 16, "TILE_M": 16, "TILE_N": 16}


@reference(
    "cutile/attention.py::_fmha_kernel", grid=["3", "4"],
    args={
        **dict.fromkeys(("Q", "Out"), _HEADS), **dict.fromkeys("KV", "bf16[1, 2, 48, 16]"), **_SCORES, "H": 4,
        "QUERY_GROUP_SIZE": 2,
    },
)  # fmt: skip
def attention(Q, K, V, qk_scale, CAUSAL):
    return {"Out": F.scaled_dot_product_attention(Q, K, V, is_causal=CAUSAL, scale=qk_scale, enable_gqa=True)}


@reference(
    "cutile/attention.py::_fmha_fwd_kernel_with_lse", grid=["3", "4"],
    args={
        **dict.fromkeys(("Q", "K", "V", "Out"), _HEADS), **_SCORES, "LSE": "f32[192]", "H": 4, "B": 1, "SEQ_LEN": 48,
        "QUERY_GROUP_SIZE": 1,
    },
)  # fmt: skip
def attention_with_sums(Q, K, V, qk_scale, CAUSAL):
    """The kernel keeps the logarithm to base 2 of the sums."""
    scores = Q @ K.mT * qk_scale
    if CAUSAL:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), float("-inf"))
    top = scores.amax(-1, keepdim=True)
    sums = top[..., 0] / math.log(2) + torch.exp(scores - top).sum(-1).log2()
    return {"Out": torch.softmax(scores, -1) @ V, "LSE": sums.reshape(-1)}


@reference(
    "cutile/attention.py::_fmha_bwd_preprocess_kernel", grid=["3", "4"],
    args={"O": _HEADS, "dO": _HEADS, "Delta": "f32[192]", "TILE_M": 16, "TILE_D": 16, "H": 4, "SEQ_LEN": 48},
)  # fmt: skip
def attention_deltas(O, dO):  # noqa: E741
    return {"Delta": (O * dO).sum(-1).reshape(-1)}


_BACKWARD = {
    **dict.fromkeys(("Q", "K", "V", "dO"), _HEADS), "LSE": "f32[192]", "Delta": "f32[192]", "TILE_D": 16,
    "SEQ_LEN": 48, "TILE_M": 16, "TILE_N": 16, "QUERY_GROUP_SIZE": 1,
}  # fmt: skip


def _scores_backward(q, k, v, do, lse, delta, scale, causal) -> tuple[Tensor, Tensor]:
    """The probabilities, from the kept sums (to base 2), and the gradient of the scores."""
    powers = torch.exp2(q @ k.mT * (scale / math.log(2)) - lse.view(q.shape[:-1])[..., None])
    if causal:
        powers = powers.tril()
    return powers, powers * (do @ v.mT - delta.view(q.shape[:-1])[..., None])


@reference(
    "cutile/attention.py::_fmha_bwd_dkdv_kernel", grid=["3", "4"],
    args={**_BACKWARD, "dK": _HEADS, "dV": _HEADS, "H_Q": 4, "H_KV": 4},
)  # fmt: skip
def attention_backward_keys(Q, K, V, dO, LSE, Delta, qk_scale, CAUSAL):
    powers, dscores = _scores_backward(Q, K, V, dO, LSE, Delta, qk_scale, CAUSAL)
    return {"dV": powers.mT @ dO, "dK": dscores.mT @ Q * qk_scale}


@reference("cutile/attention.py::_fmha_bwd_dq_kernel", grid=["3", "4"], args={**_BACKWARD, "dQ": _HEADS, "H": 4})
def attention_backward_queries(Q, K, V, dO, LSE, Delta, qk_scale, CAUSAL):
    return {"dQ": _scores_backward(Q, K, V, dO, LSE, Delta, qk_scale, CAUSAL)[1] @ K * qk_scale}


@reference(
    "cutile/gemma_attention.py::_gemma_fmha_kernel", grid=["3", "4"],
    args={
        **dict.fromkeys(("Q", "K", "V", "Out"), _HEADS), "H": 4, "S_QO": 48, "S_KV": 48, "BLOCK_D": 16, "BLOCK_M": 16,
        "BLOCK_N": 16, "QUERY_GROUP_SIZE": 1, "WINDOW_SIZE": 20,
    },
)  # fmt: skip
def gemma_attention(Q, K, V, sm_scale, WINDOW_SIZE, SOFT_CAP, HAS_SOFT_CAP):
    scores = Q @ K.mT * sm_scale
    if HAS_SOFT_CAP:
        scores = SOFT_CAP * torch.tanh(scores / SOFT_CAP)
    rows, columns = torch.arange(Q.shape[-2])[:, None], torch.arange(K.shape[-2])
    seen = (columns <= rows) & (rows - columns <= WINDOW_SIZE)
    return {"Out": torch.softmax(scores.masked_fill(~seen, float("-inf")), -1) @ V}


@reference("cutile/splitk_reduce.py::_splitk_reduce_kernel")
def splitk_reduce(attn_splitk_out, lse_splitk_out):
    shares = torch.softmax(lse_splitk_out * math.log(2), -1)
    return {"attn_out": (attn_splitk_out * shares[..., None]).sum(-2)}


_NEIGHBOURS = {
    **dict.fromkeys(("query", "key", "value"), "bf16[1, 2, 48, 16]"), "qk_scale": "f32", "NUM_HEADS": "i32 = 2",
    "SEQ_LEN": "i32 = 48", "HEAD_DIM": 16, "BLOCK_M": 16, "BLOCK_N": 16, "LSE_STRIDE": "i32 = 48",
}  # fmt: skip


@reference(
    "cutile/fused_neighborhood_attention.py::_fna_fused_forward_kernel", grid=["2", "3"],
    args={**_NEIGHBOURS, "output": "bf16[1, 2, 48, 16]", "lse_cache": "f32[96]"},
)  # fmt: skip
def neighborhood_attention(query, key, value, qk_scale, KERNEL_SIZE, DILATION):
    apart = torch.arange(query.shape[-2])[:, None] - torch.arange(query.shape[-2])
    seen = (apart.abs() <= KERNEL_SIZE // 2 * DILATION) & (apart % DILATION == 0)
    scores = (query @ key.mT * qk_scale).masked_fill(~seen, float("-inf"))
    top = scores.amax(-1, keepdim=True)
    sums = top[..., 0] / math.log(2) + torch.exp(scores - top).sum(-1).log2()
    return {"output": torch.softmax(scores, -1) @ value, "lse_cache": sums.reshape(-1)}


@reference(
    "cutile/fused_neighborhood_attention.py::_fna_bwd_preprocess_kernel", grid=["2", "3"],
    args={
        **dict.fromkeys(("output", "grad_output"), "bf16[1, 2, 48, 16]"), "delta_cache": "f32[96]",
        "SEQ_LEN": "i32 = 48", "HEAD_DIM": 16, "BLOCK_M": 16, "LSE_STRIDE": "i32 = 48",
    },
)  # fmt: skip
def neighborhood_deltas(output, grad_output):
    return {"delta_cache": (output * grad_output).sum(-1).reshape(-1)}


# ------------------------------------------------------------------------------------------ convolution
_ROWS = {"x": "bf16[5, 39]", "weight": "bf16[5, 3]", "output": "bf16[5, 37]", "BLOCK_T": 64}


@reference("kernels/causal_conv1d_prefill.py::_causal_conv1d_prefill_kernel", grid=["5"], args=_ROWS)
def causal_conv1d(x, weight):
    return {"output": F.conv1d(x[None], weight[:, None], groups=x.shape[0])[0]}


@reference(
    "kernels/causal_conv1d_prefill_silu.py::_causal_conv1d_prefill_silu_kernel", grid=["5"],
    args={"x": "bf16[5, 40]", "weight": "bf16[5, 4]", "output": "bf16[5, 37]", "T": 37, "BLOCK_T": 64},
)  # fmt: skip
def causal_conv1d_silu(x, weight):
    return {"output": F.silu(F.conv1d(x[None], weight[:, None], groups=x.shape[0])[0])}


@reference("kernels/causal_conv1d_update.py::_causal_conv1d_update_kernel")
def causal_conv1d_update(x, conv_state, weight):
    conv_state.copy_(torch.cat([conv_state[:, 1:], x[:, None]], 1))
    return {"output": (conv_state * weight).sum(-1)}


@reference("kernels/causal_conv1d_update_silu.py::_causal_conv1d_update_silu_kernel")
def causal_conv1d_update_silu(x, conv_state, weight):
    conv_state.copy_(torch.cat([conv_state[:, 1:], x[:, None]], 1))
    return {"output": F.silu((conv_state * weight).sum(-1))}


@reference(
    "cutile/mamba2.py::chunk_cumsum_kernel", grid=["3"],
    args={
        "dt": "f32[1, 48, 4]", "out_bth": "f32[1, 48, 4]", "out_bht": "f32[1, 4, 48]", "dt_bht": "f32[1, 4, 48]",
        "chunk_size": 16,
    },
)  # fmt: skip
def chunk_cumsum(a, dt, chunk_size):
    steps = (a * dt).view(dt.shape[0], -1, chunk_size, dt.shape[-1]).cumsum(2).view(dt.shape) / math.log(2)
    return {"out_bth": steps, "out_bht": steps.mT, "dt_bht": dt.mT}


# ------------------------------------------------------------------------------------ rotary embeddings
def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Halves of the last axis, as in Llama."""
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


@reference(
    "cutile/rope.py::_rope_kernel", grid=["12"],
    args={
        "q": "bf16[2, 4, 6, 16]", "k": "bf16[2, 2, 6, 16]", "cos": "bf16[1, 6, 8]", "sin": "bf16[1, 6, 8]",
        "SEQ_LEN": 6, "TILE_QH": 4, "TILE_KH": 2, "TILE_RD": 4,
    },
)  # fmt: skip
def rope(q, k, cos, sin, TILE_RD):
    """The first ``2 * TILE_RD`` of a head are turned."""
    cos, sin = cos[:, None, :, :TILE_RD], sin[:, None, :, :TILE_RD]
    for x in (q, k):
        x[..., : 2 * TILE_RD] = _rotated(x[..., : 2 * TILE_RD], cos, sin)


@reference(
    "cutile/rope.py::_rope_4d_ct", grid=["12"],
    args={
        "Q": "bf16[2, 4, 6, 16]", "K": "bf16[2, 2, 6, 16]", "COS": "bf16[1, 6, 16]", "SIN": "bf16[1, 6, 16]",
        "seq_len": 6, "TILE_QH": 4, "TILE_KH": 2, "TILE_HD": 8,
    },
)  # fmt: skip
def liger_rope(Q, K, COS, SIN, sin_sign, TILE_HD):
    cos, sin = COS[:, None, :, :TILE_HD], SIN[:, None, :, :TILE_HD] * sin_sign
    Q.copy_(_rotated(Q, cos, sin))
    K.copy_(_rotated(K, cos, sin))


@reference(
    "cutile/rope_embedding.py::_rope_embedding_ct", grid=["6", "2"],
    args={
        "Q_in": "bf16[192]", "Q_out": "bf16[192]", "cos": "bf16[48]", "sin": "bf16[48]", "seqlen": 6, "n_heads": 2,
        "head_dim": 16, "cos_row_stride": 8, "TILE_HD": 8,
    },
)  # fmt: skip
def unsloth_rope(Q_in, cos, sin, seqlen, n_heads, head_dim, cos_row_stride, BACKWARD_PASS):
    cos, sin = (each.view(-1, cos_row_stride)[:seqlen, None, : head_dim // 2] for each in (cos, sin))
    found = _rotated(Q_in.view(-1, seqlen, n_heads, head_dim), cos, -sin if BACKWARD_PASS else sin)
    return {"Q_out": found.reshape(-1)}


@reference(
    "cutile/llama4_rope.py::_llama4_rope_kernel", grid=["1", "6", "4"],
    args={
        "query": "bf16[24, 16]", "key": "bf16[12, 16]", "freqs": "f32[6, 16]", "seq_len": "i32 = 6",
        "HEAD_DIM_HALF": 8, "N_Q_HEADS": 4, "N_K_HEADS": 2, "BLOCK_SIZE": 8,
    },
)  # fmt: skip
def llama4_rope(query, key, freqs, imag_sign):
    """Pairs of neighbours are complex numbers."""
    real, imag = freqs[:, None, 0::2], freqs[:, None, 1::2] * imag_sign
    for x in (query, key):
        heads = x.view(freqs.shape[0], -1, freqs.shape[1])
        a, b = heads[..., 0::2], heads[..., 1::2]
        heads.copy_(torch.stack([a * real - b * imag, a * imag + b * real], -1).flatten(-2))


# ---------------------------------------------------------------------------------------- quantisation
@reference("cutile/fp8.py::act_quant_kernel_ct", grid=["5"], args={"x": "bf16[640]", "y": "f8e4m3[640]", "s": "f32[5]"})
def act_quant(x, BLOCK_SIZE):
    rows = x.view(-1, BLOCK_SIZE)
    scale = rows.abs().amax(-1) / 448.0
    return {"y": (rows / scale[:, None]).to(torch.float8_e4m3fn).view(-1), "s": scale}


@reference(
    "cutile/fp8.py::weight_dequant_kernel_ct", grid=["2", "3"],
    args={"x": "f8e4m3[40, 70]", "s": "f32[2, 3]", "y": "bf16[40, 70]", "M": 40, "N": 70, "BLOCK_SIZE": 32},
)  # fmt: skip
def weight_dequant(x, s, BLOCK_SIZE):
    wide = s.repeat_interleave(BLOCK_SIZE, 0).repeat_interleave(BLOCK_SIZE, 1)
    return {"y": x.float() * wide[: x.shape[0], : x.shape[1]]}
