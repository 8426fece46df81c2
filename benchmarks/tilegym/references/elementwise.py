"""Activations, gated units, softmax and masks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from . import reference


def _gelu_grad(x: Tensor, tanh: bool) -> Tensor:
    """By torch's own derivative."""
    return torch.ops.aten.gelu_backward(torch.ones_like(x), x, approximate="tanh" if tanh else "none")


def _silu_grad(x: Tensor) -> Tensor:
    s = torch.sigmoid(x)
    return s * (1 + x * (1 - s))


@reference("activation/gelu.py::_gelu_kernel")
def gelu(x, APPROXIMATE):
    return {"y": F.gelu(x, approximate="tanh" if APPROXIMATE else "none")}


@reference("activation/gelu.py::_gelu_kernel_backward")
def gelu_backward(dy, x, APPROXIMATE):
    return {"dx": dy * _gelu_grad(x, bool(APPROXIMATE))}


@reference("activation/relu.py::_relu_fwd_kernel")
def relu(x):
    return {"y": F.relu(x)}


@reference("activation/geglu.py::_geglu_fwd_kernel")
def geglu(x, N, APPROXIMATE):
    first, second = x.view(-1, 2 * N).chunk(2, -1)
    return {"y": (first * F.gelu(second, approximate="tanh" if APPROXIMATE else "none")).reshape(-1)}


@reference("activation/geglu.py::_geglu_bwd_kernel")
def geglu_backward(x, dy, N, APPROXIMATE):
    first, second = x.view(-1, 2 * N).chunk(2, -1)
    dy = dy.view(-1, N)
    tanh = bool(APPROXIMATE)
    dfirst = dy * F.gelu(second, approximate="tanh" if tanh else "none")
    return {"dx": torch.cat([dfirst, dy * first * _gelu_grad(second, tanh)], -1).reshape(-1)}


@reference("cutile/silu_and_mul.py::_silu_and_mul_kernel_row_wise")
def silu_and_mul(input):
    first, second = input.chunk(2, -1)
    return {"output": F.silu(first) * second}


@reference("cutile/silu_and_mul.py::_silu_and_mul_backward_kernel_row_wise")
def silu_and_mul_backward(grad_output, input):
    a, b = input.chunk(2, -1)
    return {"grad_a": grad_output * b * _silu_grad(a), "grad_b": grad_output * F.silu(a)}


@reference("cutile/swiglu.py::_swiglu_forward_kernel")
def swiglu(a, b):
    return {"c": F.silu(a) * b}


@reference("cutile/swiglu.py::_swiglu_backward_kernel")
def swiglu_backward(dc, a, b):
    return {"da": dc * b * _silu_grad(a), "db": dc * F.silu(a)}


@reference("cutile/swiglu.py::_swiglu_fwd_ct", "cutile/swiglu.py::_swiglu_fwd_ct_aligned")
def liger_swiglu(A, B, gate_multiplier):
    return {"C": F.silu(A * gate_multiplier) * B}


@reference("cutile/swiglu.py::_swiglu_bwd_ct", "cutile/swiglu.py::_swiglu_bwd_ct_aligned")
def liger_swiglu_backward(DC, A, B, gate_multiplier):
    gate = A * gate_multiplier
    return {"A": DC * B * _silu_grad(gate) * gate_multiplier, "B": DC * F.silu(gate)}


@reference("cutile/geglu.py::_geglu_fwd_kernel_ct")
def liger_geglu(a, b):
    return {"c": F.gelu(a, approximate="tanh") * b}


@reference("cutile/geglu.py::_geglu_bwd_kernel_ct")
def liger_geglu_backward(dc, a, b):
    return {"a": dc * b * _gelu_grad(a, True), "b": dc * F.gelu(a, approximate="tanh")}


@reference("cutile/geglu.py::_exact_forward_ct")
def unsloth_geglu_exact(e, g):
    return {"h": F.gelu(e) * g}


@reference("cutile/geglu.py::_approx_forward_ct")
def unsloth_geglu(e, g):
    return {"h": F.gelu(e, approximate="tanh") * g}


@reference("cutile/geglu.py::_exact_backward_ct")
def unsloth_geglu_exact_backward(DW, e, g):
    return {"DW": F.gelu(e) * g, "e": DW * F.gelu(e), "g": DW * g * _gelu_grad(e, False)}


@reference("cutile/geglu.py::_approx_backward_ct")
def unsloth_geglu_backward(DW, e, g):
    gelu = F.gelu(e, approximate="tanh")
    return {"DW": gelu * g, "e": DW * gelu, "g": DW * g * _gelu_grad(e, True)}


@reference("cutile/swiglu.py::_fg_kernel_ct")
def unsloth_swiglu(e, g):
    return {"h": F.silu(e) * g}


@reference("cutile/swiglu.py::_DWf_DW_dfg_kernel_ct")
def unsloth_swiglu_backward(DW, e, g):
    return {"DW": F.silu(e) * g, "e": DW * F.silu(e), "g": DW * g * _silu_grad(e)}


@reference("cutile/relu_squared.py::_relu_squared_fwd_ct", "cutile/relu_squared.py::_relu_squared_fwd_ct_aligned")
def relu_squared(X):
    return {"Y": F.relu(X) ** 2}


@reference("cutile/relu_squared.py::_relu_squared_bwd_ct", "cutile/relu_squared.py::_relu_squared_bwd_ct_aligned")
def relu_squared_backward(DY, X):
    return {"DX": DY * 2 * F.relu(X)}


@reference("kernels/sigmoid_mul.py::_sigmoid_mul_kernel")
def sigmoid_mul(x, gate):
    return {"output": x * torch.sigmoid(gate)}


@reference("kernels/silu_and_mul_separate.py::_silu_and_mul_separate_kernel")
def silu_and_mul_separate(gate, up):
    return {"output": F.silu(gate) * up}


@reference("kernels/gdr_preprocess.py::_gdr_preprocess_kernel")
def gdr_preprocess(b_in, a_in, A_log, dt_bias):
    return {"beta_out": b_in.sigmoid(), "g_out": -A_log.exp() * F.softplus(a_in.float() + dt_bias)}


@reference(
    "cutile/softmax.py::_softmax_kernel", "cutile/softmax.py::_softmax_kernel_chunked",
    "cutile/softmax.py::_softmax_kernel_tma",
    "cutile/softmax.py::_softmax_kernel_multi_wave_full_row_reg_cached_ldg",
)  # fmt: skip
def softmax(input):
    return {"output": torch.softmax(input, -1)}


@reference("cutile/softmax.py::_softmax_single_gather", "cutile/softmax.py::_softmax_single_tma")
def liger_softmax(X):
    return {"Y": torch.softmax(X, -1)}


@reference(
    "cutile/softmax.py::_softmax_fwd_ct", grid=["3"],
    args={"X": "bf16[3, 300]", "Y": "bf16[3, 300]", "n_cols": 300, "BLOCK_SIZE": 128},
)  # fmt: skip
def liger_softmax_in_chunks(X):
    return {"Y": torch.softmax(X, -1)}


@reference("cutile/softmax.py::_softmax_bwd_fused")
def liger_softmax_backward(DY, Y):
    return {"DX": Y * (DY - (DY * Y).sum(-1, keepdim=True))}


@reference(
    "cutile/softmax.py::_softmax_bwd_ct", grid=["3"],
    args={"DX": "bf16[3, 300]", "DY": "bf16[3, 300]", "Y": "bf16[3, 300]", "n_cols": 300, "BLOCK_SIZE": 128},
)  # fmt: skip
def liger_softmax_backward_in_chunks(DY, Y):
    return {"DX": Y * (DY - (DY * Y).sum(-1, keepdim=True))}


@reference("cutile/sparsemax.py::_sparsemax_bwd_kernel")
def sparsemax_backward(output, grad_output):
    support = output > 0
    mean = torch.where(support, grad_output, 0.0).sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
    return {"grad_input": torch.where(support, grad_output - mean, 0.0)}


def _causal(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril()


@reference("cutile/multi_token_attention.py::_mask_inf_fwd_kernel")
def mask_inf(scores_2d, L):
    scores = scores_2d.view(-1, L, L)
    return {"output_2d": scores.masked_fill(~_causal(L), float("-inf")).view(-1, L)}


@reference("cutile/multi_token_attention.py::_mask_zero_fwd_kernel")
def mask_zero(scores_2d, L):
    return {"output_2d": scores_2d.view(-1, L, L).masked_fill(~_causal(L), 0.0).view(-1, L)}


@reference("cutile/multi_token_attention.py::_mask_bwd_kernel")
def mask_backward(grad_2d, L):
    return {"output_2d": grad_2d.view(-1, L, L).masked_fill(~_causal(L), 0.0).view(-1, L)}


@reference(
    "cutile/multi_token_attention.py::_fused_softmax_zeromask_bwd_kernel", grid=["64", "2"],
    args=dict.fromkeys(("probs_2d", "grad_probs_2d", "output_2d"), "f32[128, 64]"),
)  # fmt: skip
def softmax_mask_backward(probs_2d, grad_probs_2d, L):
    """Above the diagonal probabilities are 0 where this is called, so that it does not matter what the gradient is."""
    probs, grad = probs_2d.view(-1, L, L), grad_probs_2d.view(-1, L, L)
    found = probs * (grad - (probs * grad).sum(-1, keepdim=True))
    return {"output_2d": found.masked_fill(~_causal(L), 0.0).view(-1, L)}


@reference("cutile/dyt.py::_dyt_fwd_kernel")
def dyt(x_input, alpha_tensor, gamma_tensor, beta_tensor, HAVE_BETA):
    y = gamma_tensor * torch.tanh(alpha_tensor * x_input)
    return {"y_output": y + beta_tensor if HAVE_BETA else y}


@reference("cutile/transpose.py::_transpose_kernel")
def transpose(input):
    return {"output": input.T}
