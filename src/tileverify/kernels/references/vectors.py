"""Products of a matrix with one vector or a few: see `tileverify.kernels.device.vectors`."""

from __future__ import annotations

import numpy as np

from .kinds import Array, Floats
from .products import matmul


def silu(x: Floats) -> Floats:
    """``x / (1 + exp(-x))``"""
    return x / (1.0 + np.exp(-x))


def normed(x: Array, scales: Array, eps: float) -> Floats:
    """``scales * x / sqrt(mean(x²) + eps)``"""
    wide = x.astype(np.float64)
    result: Floats = scales.astype(np.float64) * wide / np.sqrt(np.mean(wide * wide) + eps)
    return result


def matvec(x: Array, weights: Array) -> Floats:
    """``weights x``"""
    return matmul(weights, x)


def matvec_add(x: Array, weights: Array, residual: Array) -> Floats:
    """``weights x + residual``"""
    return matmul(weights, x) + residual.astype(np.float64)


def matvec_gated(x: Array, gates: Array, weights: Array) -> Floats:
    """``silu(gates x) * (weights x)``"""
    return silu(matmul(gates, x)) * matmul(weights, x)


def matvec_normed(x: Array, scales: Array, weights: Array, eps: float) -> Floats:
    """``weights normed(x)``"""
    return matmul(weights, normed(x, scales, eps))


def matvec_normed_gated(x: Array, scales: Array, gates: Array, weights: Array, eps: float) -> Floats:
    """``silu(gates normed(x)) * (weights normed(x))``"""
    return matvec_gated(normed(x, scales, eps), gates, weights)


def matvecs(x: Array, weights: Array) -> Floats:
    """``x weightsᵀ``"""
    return matmul(x, weights.T)


def matvecs_add(x: Array, weights: Array, residual: Array) -> Floats:
    """``x weightsᵀ + residual``"""
    return matmul(x, weights.T) + residual.astype(np.float64)


def matvecs_gated(x: Array, gates: Array, weights: Array) -> Floats:
    """``silu(x gatesᵀ) * (x weightsᵀ)``"""
    return silu(matmul(x, gates.T)) * matmul(x, weights.T)


def matvec_experts(x: Array, weights: Array, experts: Array) -> Floats:
    """``weights[experts[c]] x[c]``; zero where there is no such expert."""
    out = np.zeros((x.shape[0], weights.shape[1]))
    for c, expert in enumerate(experts):
        if 0 <= expert < weights.shape[0]:
            out[c] = matmul(weights[expert], x[c])
    return out
