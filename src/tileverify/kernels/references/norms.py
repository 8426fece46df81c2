"""Normalisation of rows; statistics and gradients are those of the last axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .kinds import Floats
from .moving import column_sum_partials


def rms_norm(x: ArrayLike, weight: ArrayLike, eps: float) -> tuple[Floats, Floats]:
    """``out = x * rstd * weight`` and ``rstd = 1 / sqrt(mean(x^2) + eps)``."""
    x, weight = np.asarray(x, np.float64), np.asarray(weight, np.float64)
    rstd = 1 / np.sqrt(np.mean(x * x, axis=-1) + eps)
    return x * rstd[..., None] * weight, rstd


rms_norm_short = rms_norm
rms_norm_row = rms_norm
rms_norm_three = rms_norm


def rms_norm_backward(dout: ArrayLike, x: ArrayLike, weight: ArrayLike, rstd: ArrayLike) -> Floats:
    """``dx = rstd * (g - y * mean(g * y))`` with ``g = dout * weight`` and ``y = x * rstd``."""
    scale = np.asarray(rstd, np.float64)[:, None]
    g = np.asarray(dout, np.float64) * np.asarray(weight, np.float64)
    y = np.asarray(x, np.float64) * scale
    return np.asarray(scale * (g - y * np.mean(g * y, axis=1, keepdims=True)))


def rms_norm_weight_partials(dout: ArrayLike, x: ArrayLike, rstd: ArrayLike, groups: int, tile_m: int) -> Floats:
    """``dweight[g] = sum of dout * x * rstd`` over tiles g, g + groups, ... of ``tile_m`` rows."""
    products = np.asarray(dout, np.float64) * np.asarray(x, np.float64) * np.asarray(rstd, np.float64)[:, None]
    return column_sum_partials(products, groups, tile_m)


def add_rms_norm(x: ArrayLike, residual: ArrayLike, weight: ArrayLike, eps: float) -> tuple[Floats, Floats]:
    """``total = x + residual`` and ``out = total / sqrt(mean(total^2) + eps) * weight``."""
    total = np.asarray(x, np.float64) + np.asarray(residual, np.float64)
    return total, rms_norm(total, weight, eps)[0]


add_rms_norm_short = add_rms_norm


def layer_norm(x: ArrayLike, weight: ArrayLike, bias: ArrayLike, eps: float) -> tuple[Floats, Floats, Floats]:
    """``out = (x - mean) * rstd * weight + bias``, ``mean`` and ``rstd = 1 / sqrt(var(x) + eps)``."""
    x = np.asarray(x, np.float64)
    mean = x.mean(axis=1)
    rstd = 1 / np.sqrt(x.var(axis=1) + eps)
    y = (x - mean[:, None]) * rstd[:, None]
    return y * np.asarray(weight, np.float64) + np.asarray(bias, np.float64), mean, rstd


layer_norm_short = layer_norm
layer_norm_row = layer_norm
layer_norm_three = layer_norm


def layer_norm_backward(dout: ArrayLike, x: ArrayLike, weight: ArrayLike, mean: ArrayLike, rstd: ArrayLike) -> Floats:
    """``dx = rstd * (g - mean(g) - y * mean(g * y))`` with ``g = dout * weight`` and ``y = (x - mean) * rstd``."""
    scale = np.asarray(rstd, np.float64)[:, None]
    g = np.asarray(dout, np.float64) * np.asarray(weight, np.float64)
    y = (np.asarray(x, np.float64) - np.asarray(mean, np.float64)[:, None]) * scale
    return np.asarray(scale * (g - g.mean(axis=1, keepdims=True) - y * np.mean(g * y, axis=1, keepdims=True)))


def layer_norm_weight_partials(
    dout: ArrayLike, x: ArrayLike, mean: ArrayLike, rstd: ArrayLike, groups: int, tile_m: int
) -> tuple[Floats, Floats]:
    """``dweight[g] = sum of dout * y`` and ``dbias[g] = sum of dout`` over tiles g, g + groups, ... of rows."""
    dout = np.asarray(dout, np.float64)
    distance = np.asarray(x, np.float64) - np.asarray(mean, np.float64)[:, None]
    y = distance * np.asarray(rstd, np.float64)[:, None]
    return column_sum_partials(dout * y, groups, tile_m), column_sum_partials(dout, groups, tile_m)


def qk_norm(q: ArrayLike, k: ArrayLike, q_weight: ArrayLike, k_weight: ArrayLike, eps: float) -> tuple[Floats, Floats]:
    """`rms_norm` of every head of queries and keys."""
    return rms_norm(q, q_weight, eps)[0], rms_norm(k, k_weight, eps)[0]
