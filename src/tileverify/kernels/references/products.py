"""Matrix products, without tiles: see `tileverify.kernels.device.products`."""

from __future__ import annotations

import math

import numpy as np

from .kinds import Array, Floats, Reals


def matmul(a: Array, b: Array) -> Floats:
    """``a b``"""
    result: Floats = a.astype(np.float64) @ b.astype(np.float64)
    return result


def matmul_transposed(a: Array, b: Array) -> Floats:
    """``a bᵀ``"""
    return matmul(a, b.T)


def matmul_add(a: Array, b: Array, residual: Array) -> Floats:
    """``a bᵀ + residual``"""
    return matmul(a, b.T) + residual.astype(np.float64)


def matmul_batched(a: Array, b: Array) -> Floats:
    """``a[i] b[i]``"""
    return matmul(a, b)


def matmul_splits(a: Array, b: Array, splits: int, tile: int) -> Floats:
    """The product over each share of K, in whole tiles."""
    each = math.ceil(math.ceil(a.shape[1] / tile) / splits) * tile
    return np.stack([matmul(a[:, i * each : (i + 1) * each], b[i * each : (i + 1) * each]) for i in range(splits)])


def matmul_transposed_splits(a: Array, b: Array, splits: int, tile: int) -> Floats:
    """The same of ``a bᵀ``."""
    return matmul_splits(a, b.T, splits, tile)


def sum_splits(parts: Array) -> Floats:
    """``Σ parts[i]``"""
    result: Floats = parts.astype(np.float64).sum(axis=0)
    return result


def matmul_scaled(a: Array, b: Array, a_scales: Reals, b_scales: Reals, tile_n: int, tile_k: int) -> Floats:
    """``a' b'ᵀ`` for ``a'[m, k] = a[m, k] a_scales[m, k // tile_k]``, b' in blocks of tile_n by tile_k."""
    rows, columns = a.shape[1], b.shape[0]
    wide_a = np.repeat(a_scales, tile_k, axis=1)[:, :rows]
    wide_b = np.repeat(np.repeat(b_scales, tile_n, axis=0), tile_k, axis=1)[:columns, :rows]
    return matmul(a.astype(np.float64) * wide_a, (b.astype(np.float64) * wide_b).T)
