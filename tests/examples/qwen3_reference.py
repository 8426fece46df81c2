"""Qwen3 in NumPy and float64, straight from its definition: a whole text at once, without a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from examples.qwen3.config import Config
from numpy.typing import NDArray

Array = NDArray[np.float64]


def logits(config: Config, weights: Mapping[str, NDArray[Any]], text: Sequence[int]) -> Array:
    """f64[V]: of what follows the text; ``weights`` by Hugging Face's names."""

    def of(name: str) -> Array:
        return np.asarray(weights[f"{name}.weight"], np.float64)

    x = of("model.embed_tokens")[list(text)]
    for number in range(config.layers):
        at = f"model.layers.{number}"
        normed = rms(x, of(f"{at}.input_layernorm"), config.eps)
        q, k, v = (heads(normed @ of(f"{at}.self_attn.{each}_proj").T, config) for each in "qkv")
        q = turned(rms(q, of(f"{at}.self_attn.q_norm"), config.eps), config)
        k = turned(rms(k, of(f"{at}.self_attn.k_norm"), config.eps), config)
        attended = attention(q, np.repeat(k, config.group, axis=0), np.repeat(v, config.group, axis=0))
        x = x + np.swapaxes(attended, 0, 1).reshape(len(text), -1) @ of(f"{at}.self_attn.o_proj").T
        normed = rms(x, of(f"{at}.post_attention_layernorm"), config.eps)
        gate, up = (normed @ of(f"{at}.mlp.{each}_proj").T for each in ("gate", "up"))
        x = x + (gate / (1 + np.exp(-gate)) * up) @ of(f"{at}.mlp.down_proj").T
    head = of("model.embed_tokens" if config.tied else "lm_head")
    result: Array = rms(x[-1], of("model.norm"), config.eps) @ head.T
    return result


def rms(x: Array, weight: Array, eps: float) -> Array:
    result: Array = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight
    return result


def heads(x: Array, config: Config) -> Array:
    """(token, head * number) as (head, token, number)."""
    return np.swapaxes(x.reshape(len(x), -1, config.head_width), 0, 1)


def turned(x: Array, config: Config) -> Array:
    width = config.head_width
    angles = np.arange(x.shape[1])[:, None] * config.rope_base ** -(np.arange(0, width, 2) / width)
    low, high = x[..., : width // 2], x[..., width // 2 :]
    c, s = np.cos(angles), np.sin(angles)
    return np.concatenate([low * c - high * s, high * c + low * s], axis=-1)


def attention(q: Array, k: Array, v: Array) -> Array:
    scores = q @ np.swapaxes(k, 1, 2) / np.sqrt(q.shape[-1])
    scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Array = powers / powers.sum(axis=-1, keepdims=True) @ v
    return result
