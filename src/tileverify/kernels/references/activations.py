"""Activations, gated activations with their gradients, and dropout; element by element."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .kinds import Array, Floats


def sigmoid(x: ArrayLike) -> Floats:
    """``1 / (1 + exp(-x))``"""
    return np.asarray(1 / (1 + np.exp(-np.asarray(x, np.float64))))


def silu(x: ArrayLike) -> Floats:
    """``out = x * sigmoid(x)``"""
    return np.asarray(x, np.float64) * sigmoid(x)


def silu_backward(dout: ArrayLike, x: ArrayLike) -> Floats:
    """``dx = dout * s * (1 + x * (1 - s))`` with ``s = sigmoid(x)``."""
    s = sigmoid(x)
    return np.asarray(np.asarray(dout, np.float64) * s * (1 + np.asarray(x, np.float64) * (1 - s)))


def gelu(x: ArrayLike) -> Floats:
    """``out = x / 2 * (1 + tanh(u))`` with ``u = sqrt(2 / pi) * (x + 0.044715 * x^3)``."""
    x = np.asarray(x, np.float64)
    return np.asarray(x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def gelu_backward(dout: ArrayLike, x: ArrayLike) -> Floats:
    """``dx = dout * ((1 + tanh(u)) / 2 + x / 2 * (1 - tanh(u)^2) * u')``, u as in `gelu`."""
    x = np.asarray(x, np.float64)
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    rise = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return np.asarray(np.asarray(dout, np.float64) * ((1 + t) / 2 + x / 2 * (1 - t**2) * rise))


def relu(x: ArrayLike) -> Floats:
    """``out = max(x, 0)``"""
    return np.maximum(np.asarray(x, np.float64), 0)


def relu_backward(dout: ArrayLike, x: ArrayLike) -> Floats:
    """``dx = dout * (x > 0)``"""
    return np.where(np.asarray(x, np.float64) > 0, np.asarray(dout, np.float64), 0)


def add(x: ArrayLike, y: ArrayLike) -> Floats:
    """``out = x + y``"""
    return np.asarray(x, np.float64) + np.asarray(y, np.float64)


def silu_mul(gate: ArrayLike, up: ArrayLike) -> Floats:
    """``out = silu(gate) * up``"""
    return silu(gate) * np.asarray(up, np.float64)


def silu_mul_packed(gate_up: Array) -> Floats:
    """``out = silu(gate_up[:, 0]) * gate_up[:, 1]``"""
    return silu_mul(gate_up[:, 0], gate_up[:, 1])


def silu_mul_backward(dout: ArrayLike, gate: ArrayLike, up: ArrayLike) -> tuple[Floats, Floats]:
    """``dgate = dout * up * silu'(gate)`` and ``dup = dout * silu(gate)``."""
    return silu_backward(dout, gate) * np.asarray(up, np.float64), np.asarray(dout, np.float64) * silu(gate)


def silu_mul_packed_backward(dout: ArrayLike, gate_up: Array) -> Floats:
    """`silu_mul_backward`, gradients packed as ``gate_up`` is."""
    return np.stack(silu_mul_backward(dout, gate_up[:, 0], gate_up[:, 1]), axis=1)


def gelu_mul(gate: ArrayLike, up: ArrayLike) -> Floats:
    """``out = gelu(gate) * up``"""
    return gelu(gate) * np.asarray(up, np.float64)


def gelu_mul_backward(dout: ArrayLike, gate: ArrayLike, up: ArrayLike) -> tuple[Floats, Floats]:
    """``dgate = dout * up * gelu'(gate)`` and ``dup = dout * gelu(gate)``."""
    return gelu_backward(dout, gate) * np.asarray(up, np.float64), np.asarray(dout, np.float64) * gelu(gate)


def random_words(count: int, stream: int, seed: int, rounds: int = 7) -> NDArray[np.uint32]:
    """Philox 2x32 (Salmon and others, 2011): first words for counters ``(index, stream)`` and the key ``seed``."""
    low, high = np.arange(count, dtype=np.uint64), np.full(count, stream % 2**32, np.uint64)
    key = seed % 2**32
    for _ in range(rounds):
        product = low * np.uint64(0xD256D193)
        low, high = (product >> np.uint64(32)) ^ np.uint64(key) ^ high, product & np.uint64(0xFFFFFFFF)
        key = (key + 0x9E3779B9) % 2**32
    return low.astype(np.uint32)


def dropout(x: ArrayLike, keep: float, stream: int, seed: int) -> Floats:
    """``out = x / keep`` where ``(word >> 8) / 2^24 < keep``, else 0; ``word`` as `random_words` says."""
    x = np.asarray(x, np.float64)
    uniform = (random_words(x.size, stream, seed) >> np.uint32(8)) / 2**24
    return np.where(uniform < keep, x / keep, 0)
