"""What kernels compute of elements, rows and columns, in NumPy and float64."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray


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


# ---------------------------------------------------------------------------------------------------------------- norms
# Normalisation of rows; statistics and gradients are those of the last axis.


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


# -------------------------------------------------------------------------------------------------------------- softmax
# Softmax, its logarithm and cross entropy along the last axis.


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


# --------------------------------------------------------------------------------------------------------------- moving
# What moves numbers, and sums along an axis.


def fill(size: int, value: float) -> Floats:
    """``out = value``"""
    return np.full(size, value, np.float64)


def cast(x: ArrayLike) -> Floats:
    """``out = x``"""
    return np.asarray(x, np.float64)


def embedding(table: ArrayLike, ids: Integers) -> Floats:
    """``out[t] = table[ids[t]]``"""
    return np.asarray(table, np.float64)[ids]


def gather_rows(x: ArrayLike, rows: Integers) -> Floats:
    """``out[t] = x[rows[t]]``, and zeros where ``x`` has no such row."""
    x = np.asarray(x, np.float64)
    there = (rows >= 0) & (rows < len(x))
    return np.where(there[:, None], x[np.where(there, rows, 0)], 0)


def to_stack(x: ArrayLike, stack: ArrayLike, layer: int) -> Floats:
    """``stack[layer] = x``"""
    found = np.array(stack, np.float64)
    found[layer] = x
    return found


def from_stack(stack: ArrayLike, layer: int) -> Floats:
    """``out = stack[layer]``"""
    return np.asarray(np.asarray(stack, np.float64)[layer])


def transpose(x: ArrayLike) -> Floats:
    """``out[n, m] = x[m, n]``"""
    return np.asarray(x, np.float64).T


def swap_heads(x: ArrayLike) -> Floats:
    """``out[b, h, r] = x[b, r, h]``"""
    return np.swapaxes(np.asarray(x, np.float64), 1, 2)


def row_sums(x: ArrayLike) -> Floats:
    """``out = sum of x`` for each row."""
    return np.asarray(np.asarray(x, np.float64).sum(axis=1))


def row_means(x: ArrayLike) -> Floats:
    """``out = mean of x`` for each row."""
    return np.asarray(np.asarray(x, np.float64).mean(axis=1))


def row_maxima(x: ArrayLike) -> Floats:
    """``out = maximum of x`` for each row."""
    return np.asarray(np.asarray(x, np.float64).max(axis=1))


def column_sums(x: ArrayLike) -> Floats:
    """``out = sum of x`` for each column."""
    return np.asarray(np.asarray(x, np.float64).sum(axis=0))


def column_sum_partials(x: ArrayLike, groups: int, tile_m: int) -> Floats:
    """``out[g] = sum of x`` over tiles g, g + groups, ... of ``tile_m`` rows."""
    x = np.asarray(x, np.float64)
    group = np.arange(len(x)) // tile_m % groups
    return np.stack([x[group == g].sum(axis=0) for g in range(groups)])


# ---------------------------------------------------------------------------------------------------------------- scans
# Prefix sums, histograms and reductions: see `tileverify.kernels.device.scans`.


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


# -------------------------------------------------------------------------------------------------------------- sorting
# Stable sorting: see `tileverify.kernels.device.sorting`.


E = TypeVar("E", bound=np.generic)


def digits(keys: Integers, shift: int) -> Integers:
    """Bits ``shift`` to ``shift + 3``, the sign bit turned over."""
    flipped = keys.astype(np.int64) + 2**31
    return (flipped >> shift) & 15


def digit_counts(keys: Integers, shift: int, tile: int) -> Integers:
    """How often digit d occurs in tile i, at [d, i]"""
    own = digits(keys, shift)
    return np.stack([np.bincount(own[i : i + tile], minlength=16) for i in range(0, len(keys), tile)], axis=1)


def digit_places(keys: Integers, shift: int) -> Integers:
    """Where a stable sort by the digit puts each key, if starts are the prefix sums of the counts"""
    places = np.empty(len(keys), np.int64)
    places[np.argsort(digits(keys, shift), kind="stable")] = np.arange(len(keys))
    return places


def move(x: NDArray[E], places: Integers) -> NDArray[E]:
    """``out[places[i]] = x[i]``"""
    out = np.empty_like(x)
    out[places] = x
    return out


def sort_tiles(keys: Integers, values: Integers, tile: int) -> tuple[Integers, Integers]:
    """Keys in rising order within each tile, equal ones as they were, and the values that belong to them"""
    order = np.lexsort((np.arange(len(keys)), keys, np.arange(len(keys)) // tile))
    return keys[order], values[order]


def merge_runs(keys: Integers, values: Integers, bits: int) -> tuple[Integers, Integers]:
    """The same in tiles of ``2 ** (bits + 1)``, which is to merge two sorted halves"""
    return sort_tiles(keys, values, 2 ** (bits + 1))


# ----------------------------------------------------------------------------------------------------------------- join
# Joins of two columns of keys: see `tileverify.kernels.device.join`.


def pairs(left: Integers, keys: Integers) -> list[tuple[int, int]]:
    """All (i, j) with ``left[i] == keys[j]``, in order: those of `write_from_chains` may come in another one."""
    return [(int(i), int(j)) for i, key in enumerate(left) for j in np.flatnonzero(keys == key)]


def count_in_chains(left: Integers, keys: Integers) -> Integers:
    """How many j there are with ``left[i] == keys[j]``"""
    return count_in_sorted(left, np.sort(keys))[1]


def count_in_sorted(left: Integers, keys: Integers) -> tuple[Integers, Integers]:
    """The first such j among sorted keys, and how many there are"""
    first = np.searchsorted(keys, left, side="left")
    return first, np.searchsorted(keys, left, side="right") - first


# ---------------------------------------------------------------------------------------------------------------- kinds
# Arrays that references take and give.


Array: TypeAlias = NDArray[np.generic]
"""Of any elements, which a reference converts or moves."""

Floats: TypeAlias = NDArray[np.float64]
"""What references compute in."""

Reals: TypeAlias = NDArray[np.floating[Any]]
Integers: TypeAlias = NDArray[np.integer[Any]]
"""Of any width."""
