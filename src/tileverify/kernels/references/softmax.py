"""Softmax, its logarithm and cross entropy along the last axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .kinds import Array, Floats, Integers


def softmax(x: ArrayLike) -> Floats:
    """``out = exp(x - max(x)) / sum(exp(x - max(x)))``"""
    return np.exp(log_softmax(x))


softmax_short = softmax
softmax_row = softmax
softmax_three = softmax


def softmax_backward(dout: ArrayLike, out: ArrayLike) -> Floats:
    """``dx = out * (dout - sum(out * dout))``"""
    dout, out = np.asarray(dout, np.float64), np.asarray(out, np.float64)
    return np.asarray(out * (dout - np.sum(out * dout, axis=-1, keepdims=True)))


def log_softmax(x: ArrayLike) -> Floats:
    """``out = x - log(sum(exp(x)))``"""
    x = np.asarray(x, np.float64)
    return np.asarray(x - _log_sum(x)[..., None])


def log_softmax_backward(dout: ArrayLike, out: ArrayLike) -> Floats:
    """``dx = dout - exp(out) * sum(dout)``"""
    dout = np.asarray(dout, np.float64)
    return np.asarray(dout - np.exp(np.asarray(out, np.float64)) * dout.sum(axis=-1, keepdims=True))


def cross_entropy(logits: ArrayLike, labels: Integers) -> tuple[Floats, Floats]:
    """``loss = lse - logits[label]``, 0 where the label is negative, and ``lse = log(sum(exp(logits)))``."""
    logits = np.asarray(logits, np.float64)
    lse = _log_sum(logits)
    return np.where(labels >= 0, lse - logits[np.arange(len(labels)), labels], 0), lse


def cross_entropy_backward(dloss: ArrayLike, logits: ArrayLike, labels: Integers, lse: ArrayLike) -> Floats:
    """``dlogits = dloss * (exp(logits - lse) - (column == label))``, 0 where the label is negative."""
    logits = np.asarray(logits, np.float64)
    hit = np.arange(logits.shape[1]) == labels[:, None]
    result = np.exp(logits - np.asarray(lse, np.float64)[:, None]) - hit
    return np.where(labels[:, None] >= 0, np.asarray(dloss, np.float64)[:, None] * result, 0)


def _log_sum(x: Array) -> Floats:
    """The logarithm of the sum of exponentials along the last axis."""
    peak = x.max(axis=-1)
    return np.asarray(peak + np.log(np.sum(np.exp(x - peak[..., None]), axis=-1)))
