"""One step: a token of each sequence through all layers, to the tokens that follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .cache import Cache
from .config import Config
from .memory import Array, Memory
from .tiles import (
    ALL,
    CANDIDATES,
    EMBEDDING,
    GROUP_TILE,
    LARGEST,
    PARTS,
    SPLIT,
    VOCABULARY,
    SeveralTile,
    Tile,
    attention_kernel,
    step_tile,
)
from .weights import Layer, Weights

Launch = Callable[..., None]
"""``launch("module.kernel", grid, *arguments)``: at once, or into a graph."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """``temperature`` 0 takes the likeliest token; ``top_p`` below 1 leaves out the least likely of 64.

    ``seed``: of the numbers that decide; those of a sequence depend on its number and on nothing else.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0

    def drawn(self, sequences: int, positions: int) -> np.ndarray[Any, Any]:
        """f32[sequences, positions] in [0, 1), by position: more of them begin with the same ones."""
        rows = [np.random.default_rng([self.seed, each]).random(positions, np.float32) for each in range(sequences)]
        return np.stack(rows)


class State:
    """Where each sequence is, in the memory of its device: a step leaves there what the next one begins with.

    ``ids`` and ``positions`` i32[B]: the last token of each sequence, and where it stands; ``x`` [B, K]: that token,
    behind all layers; ``history`` i32[B, capacity]: tokens by position.
    """

    def __init__(self, config: Config, memory: Memory, sampling: Sampling, cache: Cache) -> None:
        self.memory, self.sampling = memory, sampling
        self.ids, self.chosen, self.positions = (memory.empty((cache.sequences,), "i32") for _ in range(3))
        self.x = memory.empty((cache.sequences, config.hidden), config.dtype)
        self.uniforms = memory.empty((cache.sequences,), "f32")
        self.take_room(cache)

    def take_room(self, cache: Cache) -> None:
        """As much as the cache has; the history of before is gone."""
        self.drawn = self.memory.put(self.sampling.drawn(cache.sequences, cache.capacity))
        self.history = self.memory.put(np.full((cache.sequences, cache.capacity), -1, np.int32))

    def stand_at(self, positions: list[int]) -> None:
        """Each sequence at its position, with the number that decides what follows."""
        at = np.array(positions, np.int32)
        self.positions = self.memory.put(at)
        drawn = self.memory.numbers(self.drawn)
        self.uniforms = self.memory.put(drawn[np.arange(len(at)), at])


class Step:
    """All arrays between the launches of a step; `layers` and `choose` make the launches."""

    def __init__(self, config: Config, weights: Weights, memory: Memory, cache: Cache, state: State) -> None:
        self._config, self._weights, self._cache, self._state = config, weights, cache, state
        count, width, heads = cache.sequences, config.head_width, config.kv_heads
        self._splits = -(-cache.capacity // SPLIT)

        def empty(*shape: int, dtype: str = config.dtype) -> Array:
            return memory.empty((count, *shape), dtype)

        self._middle = empty(config.hidden)
        self._qkv = empty(config.packed_heads, width)
        self._attended = empty(heads, config.group, width)
        self._fed = empty(config.intermediate)
        self._parts = empty(heads, self._splits, config.group, width, dtype="f32")
        self._maxima, self._sums = (empty(heads, self._splits, config.group, dtype="f32") for _ in range(2))
        self._head = Head(config, weights, memory, state, count)

    def layers(self, launch: Launch) -> None:
        """``state.x`` becomes the tokens ``state.ids`` behind all layers; keys and values go to the cache."""
        layers, norm = self._weights.layers, self._weights.norm
        self._begin(launch, layers[0].attention_norm)
        for number, layer in enumerate(layers):
            self._attention(launch, number, layer)
            self._feed(launch, layer, layers[number + 1].attention_norm if number + 1 < len(layers) else norm)

    def choose(self, launch: Launch) -> None:
        """From ``state.x`` to the tokens that follow, and on to their positions."""
        self._head.choose(launch)
        state = self._state
        launch(
            "decoding_tokens.step_on", (self._cache.sequences,),
            state.chosen, state.drawn, state.ids, state.positions, state.uniforms, state.history,
        )  # fmt: skip

    def logits(self, launch: Launch) -> Array:
        """f32[B, V] of ``state.x``."""
        return self._head.logits(launch)

    def _attention(self, launch: Launch, number: int, layer: Layer) -> None:
        """``middle = x + attention(norm(x))``"""
        config, cache, state, count = self._config, self._cache, self._state, self._cache.sequences
        heads, kv_heads, group, width = config.heads, config.kv_heads, config.group, config.head_width
        self._normed(launch, state.x, layer.attention_norm, layer.qkv, self._qkv.reshape(count, -1))
        launch(
            attention_kernel(count), (self._splits, kv_heads, count),
            self._qkv[:, :heads].reshape(count, kv_heads, group, width),
            self._qkv[:, heads : heads + kv_heads].reshape(count, kv_heads, 1, width),
            self._qkv[:, heads + kv_heads :].reshape(count, kv_heads, 1, width),
            layer.q_norm, layer.k_norm, cache.cos, cache.sin, state.positions, cache.keys[number], cache.values[number],
            self._parts, self._maxima, self._sums, config.eps, width**-0.5, GROUP_TILE, SPLIT, width // 2,
        )  # fmt: skip
        launch(
            "decoding.step_merge", (group, kv_heads, count),
            self._parts, self._maxima, self._sums, state.positions, self._attended, PARTS, width, SPLIT,
        )  # fmt: skip
        x = self._attended.reshape(count, -1)
        self._add(launch, "add", x, layer.output, state.x, self._middle, layer.feed_norm)

    def _feed(self, launch: Launch, layer: Layer, following: Array) -> None:
        """``x = middle + feed(norm(middle))``; ``following``: scales of the norm behind it."""
        inner = self._config.intermediate
        gates, weights = layer.gate_up[:inner], layer.gate_up[inner:]
        self._gated(launch, self._middle, layer.feed_norm, gates, weights, self._fed)
        self._add(launch, "down", self._fed, layer.down, self._middle, self._state.x, following)

    def _begin(self, launch: Launch, following: Array) -> None:
        state = self._state
        grid = (-(-self._config.hidden // EMBEDDING), self._cache.sequences)
        launch("decoding_tokens.token_rows", grid, self._weights.embedding, state.ids, state.x, EMBEDDING)

    def _normed(self, launch: Launch, x: Array, scales: Array, weights: Array, out: Array) -> None:
        normed_product(launch, self._config, "normed", x, scales, weights, out)

    def _gated(self, launch: Launch, x: Array, scales: Array, gates: Array, weights: Array, out: Array) -> None:
        tile = self._tile("normed_gated")
        grid = (tile.blocks("normed_gated", weights.shape[0]),)
        launch(tile.kernel("normed_gated"), grid, x, scales, gates, weights, out, self._config.eps, *tile.constants)

    def _add(
        self, launch: Launch, what: str, x: Array, weights: Array, residual: Array, out: Array, following: Array
    ) -> None:
        tile = self._tile(what)
        grid = (tile.blocks(what, weights.shape[0]),)
        launch(tile.kernel(what), grid, x, weights, residual, out, *tile.constants)

    def _tile(self, what: str) -> Tile:
        return step_tile(what, self._config.dtype, self._cache.sequences, self._config.hidden)


class HandingOn(Step):
    """A step of several sequences by tensor cores: who computes a vector prepares it for the norm behind it."""

    def __init__(self, config: Config, weights: Weights, memory: Memory, cache: Cache, state: State) -> None:
        super().__init__(config, weights, memory, cache, state)
        self._scaled = memory.empty((cache.sequences, config.hidden), config.dtype)
        self._first = memory.empty((cache.sequences, -(-config.hidden // EMBEDDING)), "f32")
        parts = self._tile("add").blocks("add", config.hidden)
        self._squares = self._latest = memory.empty((cache.sequences, parts), "f32")

    def _begin(self, launch: Launch, following: Array) -> None:
        state, self._latest = self._state, self._first
        launch(
            "decoding_several.several_rows", (self._first.shape[1], self._cache.sequences),
            self._weights.embedding, state.ids, following, state.x, self._scaled, self._first, EMBEDDING,
        )  # fmt: skip

    def _normed(self, launch: Launch, x: Array, scales: Array, weights: Array, out: Array) -> None:
        tile = self._tile("normed")
        grid = (tile.blocks("normed", weights.shape[0]),)
        launch(tile.kernel("normed"), grid, self._scaled, self._latest, weights, out, self._config.eps, *tile.constants)

    def _gated(self, launch: Launch, x: Array, scales: Array, gates: Array, weights: Array, out: Array) -> None:
        tile = self._tile("normed_gated")
        launch(
            tile.kernel("normed_gated"), (tile.blocks("normed_gated", weights.shape[0]),),
            self._scaled, self._latest, gates, weights, out, self._config.eps, *tile.constants,
        )  # fmt: skip

    def _add(
        self, launch: Launch, what: str, x: Array, weights: Array, residual: Array, out: Array, following: Array
    ) -> None:
        tile, self._latest = self._tile(what), self._squares
        launch(
            tile.kernel(what), (tile.blocks(what, weights.shape[0]),),
            x, weights, residual, following, out, self._scaled, self._squares, *tile.constants,
        )  # fmt: skip


def step_of(config: Config, weights: Weights, memory: Memory, cache: Cache, state: State) -> Step:
    """The step for as many sequences as the cache has."""
    several = isinstance(step_tile("add", config.dtype, cache.sequences, config.hidden), SeveralTile)
    return (HandingOn if several else Step)(config, weights, memory, cache, state)


class Head:
    """From the last layer to a token of each sequence."""

    def __init__(self, config: Config, weights: Weights, memory: Memory, state: State, count: int) -> None:
        self._config, self._weights, self._memory, self._state, self._count = config, weights, memory, state, count
        vocabulary, self._rounds = config.vocabulary, list[tuple[Array, Array]]()
        if state.sampling.greedy:
            tile = step_tile("largest", config.dtype, count, config.hidden)
            blocks = tile.blocks("largest", vocabulary)
            self._rounds = [(memory.empty((count, blocks), "f32"), memory.empty((count, blocks), "i32"))]
            return
        self._logits = memory.empty((count, vocabulary), "f32")
        left, blocks = vocabulary, 2 if state.sampling.top_p < 1.0 else 1
        while blocks > 1:
            blocks = -(-left // VOCABULARY)
            shape = (count, blocks, CANDIDATES)
            self._rounds.append((memory.empty(shape, "f32"), memory.empty(shape, "i32")))
            left = blocks * CANDIDATES

    def logits(self, launch: Launch) -> Array:
        state = self._state
        out = (
            self._memory.empty((self._count, self._config.vocabulary), "f32") if state.sampling.greedy else self._logits
        )
        normed_product(launch, self._config, "logits", state.x, self._weights.norm, self._weights.head, out)
        return out

    def choose(self, launch: Launch) -> None:
        """Into ``state.chosen``."""
        state, sampling, count = self._state, self._state.sampling, self._count
        if sampling.greedy:
            ((maxima, places),) = self._rounds
            tile = step_tile("largest", self._config.dtype, count, self._config.hidden)
            launch(
                tile.kernel("largest"), (maxima.shape[1],),
                state.x, self._weights.norm, self._weights.head, maxima, places, self._config.eps, *tile.constants,
            )  # fmt: skip
            launch("head.argmax_merge", (count,), maxima, places, state.chosen, LARGEST)
            return
        logits = self.logits(launch)
        if not self._rounds:
            launch("head.sample", (count,), logits, state.uniforms, state.chosen, sampling.temperature, ALL)
            return
        values, named = logits, None
        for tops, places in self._rounds:
            grid = (tops.shape[1], count)
            if named is None:
                launch("head.top_k_blocks", grid, values, tops, places, VOCABULARY, CANDIDATES)
            else:
                launch("head.top_k_merge", grid, values, named, tops, places, VOCABULARY, CANDIDATES)
            values, named = tops.reshape(count, -1), places.reshape(count, -1)
        launch(
            "head.sample_top", (count,),
            values, named, state.uniforms, state.chosen, sampling.temperature, sampling.top_p, CANDIDATES,
        )  # fmt: skip


def normed_product(
    launch: Launch, config: Config, what: str, x: Array, scales: Array, weights: Array, out: Array
) -> None:
    """``what``: ``normed`` or ``logits``."""
    tile = step_tile(what, config.dtype, x.shape[0], config.hidden)
    grid = (tile.blocks(what, weights.shape[0]),)
    launch(tile.kernel(what), grid, x, scales, weights, out, config.eps, *tile.constants)
