"""Normalisations and their gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from . import reference


def _rstd(x: Tensor, eps: float) -> Tensor:
    return torch.rsqrt(x.float().pow(2).mean(-1) + eps)


def _rms(x: Tensor, eps: float) -> Tensor:
    return x * _rstd(x, eps)[..., None]


def _over_programs(rows: Tensor, partial: Tensor) -> Tensor:
    """The sums of rows that program after program takes, each the same number of rows."""
    programs = partial.shape[0]
    each = -(-rows.shape[0] // programs)
    return F.pad(rows, (0, 0, 0, each * programs - rows.shape[0])).view(programs, each, -1).sum(1)


def _norm_backward(dy: Tensor, x_hat: Tensor, rstd: Tensor, centred: bool = True) -> Tensor:
    """Of a normalisation without weights; ``dy`` is the gradient behind the weights."""
    shared = x_hat * (dy * x_hat).mean(-1, keepdim=True)
    return rstd[:, None] * (dy - shared - (dy.mean(-1, keepdim=True) if centred else 0))


# ------------------------------------------------------------------------------------------------ layers
@reference("cutile/layer_norm.py::_layer_norm_fwd_kernel")
def layer_norm_columns(x, w, b, EPS, WEIGHT_SHIFT):
    rows = x.transpose(1, 2)
    y = F.layer_norm(rows, (x.shape[1],), w + WEIGHT_SHIFT, b, EPS)
    variance, mean = torch.var_mean(rows, -1, correction=0)
    return {"y": y.transpose(1, 2), "mean": mean, "rstd": torch.rsqrt(variance + EPS)}


@reference("cutile/layer_norm.py::_layer_norm_fwd_kernel_gather")
def layer_norm_flat(x, w, b, EPS, WEIGHT_SHIFT, C):
    y, mean, rstd = torch.native_layer_norm(x.view(-1, C), (C,), w + WEIGHT_SHIFT, b, EPS)
    return {"y": y.view(-1), "mean": mean.view(-1), "rstd": rstd.view(-1)}


@reference("cutile/layer_norm_legacy.py::_layer_norm_fwd_kernel")
def layer_norm_legacy(X, W, B, EPS, WEIGHT_SHIFT, N):
    y, mean, rstd = torch.native_layer_norm(X, (N,), W + WEIGHT_SHIFT, B, EPS)
    return {"Y": y, "Mean": mean.view(-1), "Rstd": rstd.view(-1)}


@reference("cutile/layer_norm_legacy.py::_persistent_layer_norm_fwd_kernel")
def layer_norm_persistent(X, W, B, EPS, D):
    y, mean, rstd = torch.native_layer_norm(X, (D,), W, B, EPS)
    return {"Y": y, "Mean": mean.view(-1), "Rstd": rstd.view(-1)}


@reference("cutile/layer_norm.py::_layer_norm_fwd_kernel_ct")
def liger_layer_norm(x, weight, bias, eps, n_cols):
    y, mean, rstd = torch.native_layer_norm(x, (n_cols,), weight, bias, eps)
    return {"y": y, "mean_out": mean.view(-1), "rstd_out": rstd.view(-1)}


@reference("cutile/layer_norm.py::_layer_norm_bwd_dx_kernel_ct")
def liger_layer_norm_dx(x, dy, weight, mean, rstd):
    x_hat = (x - mean[:, None]) * rstd[:, None]
    return {"dx": _norm_backward(dy * weight, x_hat, rstd)}


@reference(
    "cutile/layer_norm.py::_layer_norm_bwd_combined_kernel_ct", grid=["3"],
    args={
        "x": "bf16[5, 64]", "dy": "bf16[5, 64]", "weight": "bf16[64]", "mean": "bf16[5]", "rstd": "bf16[5]",
        "dx": "bf16[5, 64]", "dw_partial": "f32[3, 64]", "db_partial": "f32[3, 64]", "n_rows": 5, "n_cols": 64,
        "num_programs": 3, "rows_per_program": 2, "BLOCK_SIZE": 64,
    },
)  # fmt: skip
def liger_layer_norm_backward(x, dy, weight, mean, rstd, dw_partial, db_partial):
    x_hat = (x - mean[:, None]) * rstd[:, None]
    return {
        "dx": _norm_backward(dy * weight, x_hat, rstd),
        "dw_partial": _over_programs(dy * x_hat, dw_partial),
        "db_partial": _over_programs(dy, db_partial),
    }


@reference("cutile/layernorm.py::_layernorm_forward_ct_1d")
def unsloth_layer_norm(X, W, b, eps, n_cols):
    y, mean, rstd = torch.native_layer_norm(X, (n_cols,), W, b, eps)
    return {"Y": y, "mu": mean.view(-1), "r": rstd.view(-1)}


@reference("cutile/layernorm.py::_layernorm_backward_ct_1d")
def unsloth_layer_norm_backward(dY, X, W, r, mu):
    return {"dX": _norm_backward(dY * W, (X - mu[:, None]) * r[:, None], r)}


@reference("cutile/group_norm.py::_group_norm_fwd_kernel")
def group_norm(x_input, weight, bias, NUM_CHANNELS, NUM_GROUPS, TOTAL_HIDDEN_SIZE, eps):
    x = x_input.view(-1, NUM_CHANNELS, TOTAL_HIDDEN_SIZE)
    y, mean, rstd = torch.native_group_norm(
        x, weight, bias, x.shape[0], NUM_CHANNELS, TOTAL_HIDDEN_SIZE, NUM_GROUPS, eps
    )
    return {"y_output": y.view(-1, TOTAL_HIDDEN_SIZE), "mean_stats": mean.view(-1), "rstd_stats": rstd.view(-1)}


@reference("cutile/group_norm.py::_group_norm_bwd_kernel")
def group_norm_backward(x_input, upstream, weight, mean_stats, rstd_stats, NUM_CHANNELS, NUM_GROUPS, TOTAL_HIDDEN_SIZE):
    batch = x_input.shape[0] // NUM_CHANNELS
    rows = (batch * NUM_GROUPS, -1)
    x_hat = (x_input.view(rows) - mean_stats[:, None]) * rstd_stats[:, None]
    dy = upstream.view(batch, NUM_CHANNELS, TOTAL_HIDDEN_SIZE)
    dx = _norm_backward((dy * weight[:, None]).view(rows), x_hat, rstd_stats)
    dw = (dy * x_hat.view(dy.shape)).sum(-1)
    return {"dx_output": dx.view(x_input.shape), "dw_partial": dw, "db_partial": dy.sum(-1)}


# ------------------------------------------------------------------------------------------ mean of squares
@reference("cutile/rms_norm.py::_rms_norm_kernel_gather")
def rms_norm(x, w, EPS, OFFSET):
    return {"out": _rms(x, EPS) * (w + OFFSET), "Rstd": _rstd(x, EPS)}


@reference("cutile/rms_norm.py::_rms_norm_kernel_multi_wave_cached")
def rms_norm_cached(x, w, eps, offset):
    return {"out": _rms(x, eps) * (w + offset), "Rstd": _rstd(x, eps)}


@reference("cutile/rms_norm.py::_rms_norm_kernel_static_persistent")
def rms_norm_persistent(X, W, EPS, OFFSET):
    return {"Y": F.rms_norm(X, (X.shape[-1],), W + OFFSET, EPS), "Rstd": _rstd(X, EPS)}


@reference("cutile/rms_norm.py::_rms_bwd_kernel")
def rms_norm_backward(dy, x, weight, Rstd):
    x_hat = x * Rstd[:, None]
    dx = _norm_backward(dy * weight, x_hat, Rstd, centred=False)
    return {"dx": dx, "dw_partial": (dy * x_hat).sum(0, keepdim=True)}


@reference("cutile/rms_norm.py::_rms_norm_fwd_ct")
def liger_rms_norm(X, W, eps, offset, elementwise_affine):
    y = _rms(X, eps)
    return {"Y": y * (W + offset) if elementwise_affine else y, "RSTD": _rstd(X, eps)}


@reference(
    "cutile/rms_norm.py::_rms_norm_bwd_large_ct", grid=["3"],
    args={
        "dY": "bf16[5, 64]", "dX": "bf16[5, 64]", "X": "bf16[5, 64]", "RSTD": "f32[5]", "n_cols": 64,
        "rows_per_program": 2, "BLOCK_SIZE": 64,
    },
)  # fmt: skip
def liger_rms_norm_dx(dY, X, RSTD):
    return {"dX": _norm_backward(dY, X * RSTD[:, None], RSTD, centred=False)}


@reference(
    "cutile/rms_norm.py::_rms_norm_bwd_w_large_ct", grid=["3"],
    args={
        "dY": "bf16[5, 64]", "dX": "bf16[5, 64]", "X": "bf16[5, 64]", "W": "bf16[64]", "RSTD": "f32[5]",
        "dW_partial": "f32[3, 64]", "n_cols": 64, "rows_per_program": 2, "BLOCK_SIZE": 64,
    },
)  # fmt: skip
def liger_rms_norm_backward(dY, X, W, RSTD, dW_partial, offset):
    x_hat = X * RSTD[:, None]
    dx = _norm_backward(dY * (W + offset), x_hat, RSTD, centred=False)
    return {"dX": dx, "dW_partial": _over_programs(dY * x_hat, dW_partial)}


@reference("cutile/rms_layernorm.py::_rms_layernorm_forward_ct_1d")
def unsloth_rms_norm(X, W, eps, OFFSET):
    return {"Y": _rms(X, eps) * (W + OFFSET), "r": _rstd(X, eps)}


@reference("cutile/rms_layernorm.py::_rms_layernorm_backward_ct_1d")
def unsloth_rms_norm_backward(dY, X, W, r, OFFSET):
    return {"dX": _norm_backward(dY * (W + OFFSET), X * r[:, None], r, centred=False)}


@reference("cutile/fused_add_rms_norm.py::_fused_add_rms_norm_fwd_ct")
def liger_add_rms_norm(X, R, W, eps, offset):
    total = X + R
    return {"S": total, "Y": _rms(total, eps) * (W + offset), "RSTD": _rstd(total, eps)}


@reference("cutile/fused_add_rms_norm.py::_fused_add_rms_norm_bwd_persistent_ct")
def liger_add_rms_norm_backward(dY, dS_out, S, W, RSTD, dW_partial, offset):
    x_hat = S * RSTD[:, None]
    dx = _norm_backward(dY * (W + offset), x_hat, RSTD, centred=False) + dS_out
    return {"dX": dx, "dW_partial": _over_programs(dY * x_hat, dW_partial)}


@reference(
    "cutile/fused_add_rms_norm.py::_fused_add_rms_norm_bwd_persistent_2c_ct", grid=["4"],
    args={
        "dY": "bf16[4, 128]", "dS_out": "bf16[4, 128]", "dX": "bf16[4, 128]", "S": "bf16[4, 128]", "W": "bf16[128]",
        "RSTD": "f32[4]", "dW_partial": "f32[4, 128]", "n_cols": 128, "num_iters": 1, "sm_count": 4, "n_rows": 4,
        "CHUNK_SIZE": 64,
    },
)  # fmt: skip
def liger_add_rms_norm_backward_in_chunks(dY, dS_out, S, W, RSTD, dW_partial, offset):
    return liger_add_rms_norm_backward(dY, dS_out, S, W, RSTD, dW_partial, offset)


@reference("cutile/modulated_rms_norm.py::_modulated_rms_norm_fwd_ct")
def modulated_rms_norm(X, W, Scale, Shift, eps, offset, elementwise_affine, has_shift):
    y = _rms(X, eps)
    y = (y * (W + offset) if elementwise_affine else y) * (1 + Scale)
    return {"Y": y + Shift if has_shift else y, "RSTD": _rstd(X, eps)}


@reference("kernels/dual_rms_norm.py::_dual_rms_norm_kernel", "kernels/dual_rms_norm.py::_olmoe_dual_rms_norm_kernel")
def dual_rms_norm(q, k, q_weight, k_weight, eps):
    return {"q": _rms(q, eps) * q_weight, "k": _rms(k, eps) * k_weight}


@reference("kernels/rms_norm_residual_add.py::_rms_norm_residual_add_kernel")
def rms_norm_residual_add(x, residual, weight, eps):
    return {"out": residual + _rms(x, eps) * weight}


@reference("kernels/residual_add_rms_norm.py::_olmoe_residual_add_rms_norm_kernel")
def residual_add_rms_norm(residual, x, weight, eps):
    total = residual + x
    return {"sum_out": total, "normed_out": _rms(total, eps) * weight}


@reference("kernels/residual_add_rms_norm.py::_residual_add_rms_norm_kernel")
def residual_add_rms_norm_offset(residual, x, weight, eps, offset):
    total = residual + x
    return {"sum_out": total, "normed_out": _rms(total, eps) * (weight + offset)}


@reference("kernels/rms_norm_gated.py::_rms_norm_gated_silu_kernel")
def rms_norm_gated(hidden_states, gate, weight, eps):
    return {"output": weight * _rms(hidden_states, eps) * F.silu(gate)}


# ---------------------------------------------------------------------------------------- of three powers
@reference("cutile/poly_norm.py::_poly_norm_fwd_kernel_sc_large")
def poly_norm(x_input, weights, bias, eps):
    x = x_input
    y = weights[0] * _rms(x**3, eps) + weights[1] * _rms(x**2, eps) + weights[2] * _rms(x, eps) + bias
    return {"y_output": y, "rstd3": _rstd(x**3, eps), "rstd2": _rstd(x**2, eps), "rstd1": _rstd(x, eps)}


@reference(
    "cutile/poly_norm.py::_poly_norm_fwd_kernel", grid=["3"],
    args={
        "x_input": "bf16[3, 256]", "y_output": "bf16[3, 256]", "rstd3": "f32[3]", "rstd2": "f32[3]", "rstd1": "f32[3]",
        "N_COLS": 256, "BLOCK_SIZE": 64,
    },
)  # fmt: skip
def poly_norm_in_chunks(x_input, weights, bias, eps):
    return poly_norm(x_input, weights, bias, eps)


@reference("cutile/poly_norm.py::_poly_norm_bwd_kernel")
def poly_norm_backward(dy, x_input, weights, rstd3, rstd2, rstd1, dwdb_output):
    """The ``rstd`` are inputs here, so the gradient is written down, not taken by torch; sums go on top of what is
    there."""
    dx, dw = 0, []
    for place, (power, rstd) in enumerate(((3, rstd3), (2, rstd2), (1, rstd1))):
        inner = x_input**power
        hat = inner * rstd[:, None]
        dx = dx + _norm_backward(dy * weights[place], hat, rstd, centred=False) * power * x_input ** (power - 1)
        dw.append((dy * hat).sum())
    return {"dx": dx, "dwdb_output": dwdb_output + torch.stack([*dw, dy.sum()])}
