"""A model's weights, as the kernels take them, and the names by which Hugging Face's files know their parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .config import Config
from .memory import Array, Memory

Progress = Callable[[int, int], None]
"""Told how many numbers of how many are there."""

Source = Callable[[str, Array], None]
"""Fills an array with the numbers of a name."""


@dataclass(frozen=True, slots=True)
class Layer:
    """``qkv`` [packed heads * D, K] and ``gate_up`` [2 * I, K] hold several matrices, one after the other.

    ``output`` [K, heads * D], ``down`` [K, I], norms [K], head norms [D].
    """

    attention_norm: Array
    qkv: Array
    q_norm: Array
    k_norm: Array
    output: Array
    feed_norm: Array
    gate_up: Array
    down: Array


@dataclass(frozen=True, slots=True)
class Weights:
    """``embedding`` and ``head`` [V, K]: one array, where they are tied."""

    embedding: Array
    layers: tuple[Layer, ...]
    norm: Array
    head: Array


def weights_from(config: Config, memory: Memory, source: Source, progress: Progress | None = None) -> Weights:
    """Arrays for all weights, filled from ``source`` name by name."""
    weights = _unfilled(config, memory)
    done = 0
    for name, target in named(weights, config):
        source(name, target)
        done += int(target.shape[0]) * (int(target.shape[1]) if len(target.shape) > 1 else 1)
        if progress is not None:
            progress(done, config.parameters)
    return weights


def random_weights(config: Config, memory: Memory, seed: int, progress: Progress | None = None) -> Weights:
    """Normal numbers: norms about 1, matrices about 0, as models begin."""
    small = memory.normal(seed, 0.02)

    def source(name: str, target: Array) -> None:
        small(target)
        if name.endswith("norm.weight"):
            target += 1

    return weights_from(config, memory, source, progress)


def named(weights: Weights, config: Config) -> Iterator[tuple[str, Array]]:
    """Every part by its name in Hugging Face's files; a part of a larger array is a view of it."""
    width = config.head_width
    q_rows, k_rows = config.heads * width, config.kv_heads * width
    yield "model.embed_tokens.weight", weights.embedding
    for number, layer in enumerate(weights.layers):
        at = f"model.layers.{number}"
        yield f"{at}.input_layernorm.weight", layer.attention_norm
        yield f"{at}.self_attn.q_proj.weight", layer.qkv[:q_rows]
        yield f"{at}.self_attn.k_proj.weight", layer.qkv[q_rows : q_rows + k_rows]
        yield f"{at}.self_attn.v_proj.weight", layer.qkv[q_rows + k_rows :]
        yield f"{at}.self_attn.q_norm.weight", layer.q_norm
        yield f"{at}.self_attn.k_norm.weight", layer.k_norm
        yield f"{at}.self_attn.o_proj.weight", layer.output
        yield f"{at}.post_attention_layernorm.weight", layer.feed_norm
        yield f"{at}.mlp.gate_proj.weight", layer.gate_up[: config.intermediate]
        yield f"{at}.mlp.up_proj.weight", layer.gate_up[config.intermediate :]
        yield f"{at}.mlp.down_proj.weight", layer.down
    yield "model.norm.weight", weights.norm
    if not config.tied:
        yield "lm_head.weight", weights.head


def _unfilled(config: Config, memory: Memory) -> Weights:
    hidden, width, inner = config.hidden, config.head_width, config.intermediate

    def array(*shape: int) -> Array:
        return memory.empty(shape, config.dtype)

    layers = tuple(
        Layer(
            attention_norm=array(hidden),
            qkv=array(config.packed_heads * width, hidden),
            q_norm=array(width),
            k_norm=array(width),
            output=array(hidden, config.heads * width),
            feed_norm=array(hidden),
            gate_up=array(2 * inner, hidden),
            down=array(hidden, inner),
        )
        for _ in range(config.layers)
    )
    embedding = array(config.vocabulary, hidden)
    head = embedding if config.tied else array(config.vocabulary, hidden)
    return Weights(embedding, layers, array(hidden), head)
