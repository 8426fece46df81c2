"""Products of many matrices, without tiles: see `tileverify.kernels.device.grouped_products`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from .kinds import Array, Floats
from .products import matmul


def matmul_list(a: Sequence[Array], b: Sequence[Array]) -> list[Floats]:
    """``a[i] b[i]``"""
    return [matmul(one, other) for one, other in zip(a, b, strict=True)]


def matmul_experts(x: Array, weights: Array, experts: Array, tile: int) -> Floats:
    """``weights[experts[r // tile]] x[r]`` for each row r; zero where there is no such expert."""
    out = np.zeros((x.shape[0], weights.shape[1]))
    for r in range(x.shape[0]):
        if 0 <= (expert := experts[r // tile]) < weights.shape[0]:
            out[r] = matmul(weights[expert], x[r])
    return out


def matmul_segments(x: Array, weights: Array, offsets: Array) -> Floats:
    """``weights[e] x[r]`` for ``offsets[e] <= r < offsets[e + 1]``; zero for other rows."""
    out = np.zeros((x.shape[0], weights.shape[1]))
    for e, (start, stop) in enumerate(itertools.pairwise(offsets)):
        out[start:stop] = matmul(x[start:stop], weights[e].T)
    return out
