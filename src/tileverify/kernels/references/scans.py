"""Prefix sums, histograms and reductions: see `tileverify.kernels.device.scans`."""

from __future__ import annotations

import numpy as np

from .kinds import Array, Floats, Integers


def block_sums(x: Array, tile: int) -> Floats:
    """``Σ x[i * tile : (i + 1) * tile]``"""
    return np.array([x[i : i + tile].sum(dtype=np.float64) for i in range(0, len(x), tile)])


def scan_sums(sums: Array) -> Floats:
    """``Σ sums[:i]`` for i up to the length"""
    return np.concatenate([[0.0], np.cumsum(sums, dtype=np.float64)])


def scan_blocks(x: Array, exclusive: bool) -> Floats:
    """What comes of all three kernels: ``Σ x[: i + 1]``, or ``Σ x[:i]`` if exclusive."""
    prefix = scan_sums(x)
    return prefix[:-1] if exclusive else prefix[1:]


def histogram(values: Integers, bins: Integers) -> Integers:
    """``bins[v]`` and the number of times that v occurs"""
    return bins + np.bincount(values[(values >= 0) & (values < len(bins))], minlength=len(bins))


def array_sum(x: Array, blocks: int, tile: int) -> Floats:
    """``Σ x[j]`` over the tiles i, i + blocks, ..."""
    owner = np.arange(len(x)) // tile % blocks
    return np.array([x[owner == i].sum(dtype=np.float64) for i in range(blocks)])


def array_maximum(x: Array, blocks: int, tile: int) -> Floats:
    """The same with the maximum"""
    owner = np.arange(len(x)) // tile % blocks
    return np.array([x[owner == i].astype(np.float64).max(initial=-np.inf) for i in range(blocks)])
