"""Losses with their gradients, and what mixtures of experts count."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from . import reference


@reference("cutile/kl_div.py::_kldiv_fwd_none_ct")
def kl_div(Y, GT, eps, LOG_TARGET):
    return {"LOSS": GT.exp() * (GT - Y) if LOG_TARGET else GT * (GT.clamp(min=eps).log() - Y)}


@reference("cutile/kl_div.py::_kldiv_fwd_reduce_ct")
def kl_div_rows(Y, GT, eps, LOG_TARGET):
    return {"LOSS": kl_div(Y, GT, eps, LOG_TARGET)["LOSS"].sum(-1)}


@reference("cutile/kl_div.py::_kldiv_bwd_ct")
def kl_div_backward(GT, scale, LOG_TARGET):
    return {"GRADS": -(GT.exp() if LOG_TARGET else GT) * scale}


@reference("cutile/jsd.py::_jsd_kernel")
def jsd(x, y, beta, inv_n_non_ignore):
    """``x`` and ``y`` hold logarithms; of three kinds of divergence, ``beta`` says which."""
    q, p = x.exp(), y.exp()
    if beta == 0.0:
        loss, dx = p * (y - x), -p
    elif beta == 1.0:
        loss, dx = q * (x - y), q * (x - y) + q
    else:
        mixed = beta * p + (1 - beta) * q
        loss = beta * p * y + (1 - beta) * q * x - mixed * mixed.log()
        dx = (1 - beta) * q * (x - mixed.log())
    return {"loss": loss * inv_n_non_ignore, "dx": dx * inv_n_non_ignore}


@reference(
    "cutile/tvd.py::_tv_distance_kernel_ct_aligned", "cutile/tvd.py::_tv_distance_kernel_ct_gather", grid=["4"],
    args={
        "P": "f32[4, 128]", "Q": "f32[4, 128]", "LOSS": "f32[4]", "GRADS": "f32[4, 128]", "n_rows": 4, "n_cols": 128,
        "BLOCK_SIZE": 128,
    },
)  # fmt: skip
def total_variation(P, Q, scale):
    sign = (P > Q).float() * 2 - 1
    return {"LOSS": 0.5 * (P - Q).abs().sum(-1) * scale, "GRADS": 0.5 * sign * scale}


@reference(
    "cutile/cross_entropy_loss.py::_cross_entropy_forward_ct", grid=["6"],
    args={
        "logits": "bf16[6, 200]", "loss": "f32[6]", "logsumexp_out": "f32[6]", "labels": "i64[6]", "VOCAB_SIZE": 200,
        "BLOCK_SIZE": 256,
    },
    without=("observed",),
)  # fmt: skip
def cross_entropy(logits, labels):
    return {
        "loss": F.cross_entropy(logits, labels, reduction="none"),
        "logsumexp_out": torch.logsumexp(logits, -1),
    }


@reference(
    "cutile/cross_entropy_loss.py::_cross_entropy_backward_ct", grid=["6", "2"],
    args={
        "logits": "bf16[6, 200]", "grad_logits": "bf16[6, 200]", "dloss": "f32[6]", "logsumexp_in": "f32[6]",
        "labels": "i64[6]", "VOCAB_SIZE": 200, "BLOCK_SIZE": 128,
    },
    without=("observed",),
)  # fmt: skip
def cross_entropy_backward(logits, dloss, logsumexp_in, labels):
    hot = labels[:, None] == torch.arange(logits.shape[1])
    upstream = torch.where(labels == -100, 0.0, dloss)
    return {"grad_logits": upstream[:, None] * ((logits - logsumexp_in[:, None]).exp() - hot.float())}


@reference(
    "experimental/fused_linear_cross_entropy.py::_ce_online_kernel", grid=["4"],
    args={
        "logits": "bf16[6, 200]", "loss_out": "f32[6]", "target_logits": "f32[6]", "N_ROWS": 6, "VOCAB_SIZE": 200,
        "TILE_V": 64,
    },
)  # fmt: skip
def cross_entropy_online(logits, target_logits):
    return {"loss_out": torch.logsumexp(logits, -1) - target_logits, "logits": torch.softmax(logits, -1)}


@reference(
    "cutile/dyt.py::_dyt_bwd_kernel",
    grid=["1", "8"],
    args={
        **dict.fromkeys(("dy_input", "dx_output", "x_input"), "bf16[4, 128]"),
        "da_partial": "f32[8, 1]",
        **dict.fromkeys(("dg_partial", "db_partial"), "f32[8, 128]"),
        "gamma_tensor": "bf16[128]",
        "HAVE_BETA": 1,
        "M": 4,
        "BLOCK_N": 128,
        "NUM_SMS": 8,
    },
)
def dyt_backward(dy_input, x_input, alpha_tensor, gamma_tensor, da_partial, dg_partial, db_partial, HAVE_BETA):
    """Rows ``i, i + NUM_SMS, ...`` go to row ``i`` of the partial sums; here there are fewer rows than that."""
    tanh = torch.tanh(alpha_tensor * x_input)
    inner = (1 - tanh**2) * dy_input * gamma_tensor
    rows = (0, 0, 0, dg_partial.shape[0] - x_input.shape[0])
    found = {
        "dx_output": alpha_tensor * inner,
        "dg_partial": F.pad(dy_input * tanh, rows),
        "da_partial": F.pad((x_input * inner).sum(-1, keepdim=True), rows),
    }
    return {**found, "db_partial": F.pad(dy_input, rows)} if HAVE_BETA else found


@reference("cutile/moe_align_block.py::_moe_align_block_size_stage1_kernel")
def count_tokens(topk_ids, tokens_cnts, NUM_EXPERTS, TOKENS_PER_THREAD):
    ids = torch.where((topk_ids < 0) | (topk_ids > NUM_EXPERTS), NUM_EXPERTS, topk_ids)
    hot = F.one_hot(ids.long(), NUM_EXPERTS + 1)[:, :NUM_EXPERTS]
    counted = hot.view(-1, TOKENS_PER_THREAD, NUM_EXPERTS).sum(1)
    tokens_cnts[NUM_EXPERTS:] = counted.reshape(-1).int()


@reference("cutile/moe_align_block.py::_moe_align_block_size_stage2_kernel")
def sum_tokens(tokens_cnts, NUM_EXPERTS):
    rows = tokens_cnts.view(-1, NUM_EXPERTS)[1:]
    rows.copy_(rows.cumsum(0).int())
