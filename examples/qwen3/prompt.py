"""Prompts: all tokens of a sequence at once, in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from .cache import Cache
from .config import Config
from .launches import Launches
from .memory import Array, Memory
from .tiles import COPIED, EMBEDDING, GATED, NORM, PROMPT_HEADS, attention_tiles, product_tiles
from .weights import Layer, Weights

PIECE: Final = 4096
"""Tokens of a prompt that are computed at once: what lies between the layers takes memory."""

SHARED_ROWS: Final = 8
"""Rows of tiles that go by together, so that they share weights in the L2 cache."""


class Prompt:
    """Fills a cache, and gives what the last token becomes."""

    def __init__(self, config: Config, weights: Weights, memory: Memory, launches: Launches, cache: Cache) -> None:
        self._config, self._weights, self._memory = config, weights, memory
        self._launch, self._cache = launches, cache

    def fill(self, sequence: int, numbers: Sequence[int], last: Array) -> None:
        """Put a text's keys and values at the beginning of a sequence.

        ``last`` [1, K]: its last token, behind all layers.  ``numbers``: at least one, and room for all in the cache.
        """
        x = None
        for start in range(0, len(numbers), PIECE):
            x = self._piece(sequence, start, numbers[start : start + PIECE])
        assert x is not None
        self._launch("decoding_tokens.copy_rows", (-(-self._config.hidden // COPIED), 1), x[-1:], last, COPIED)

    def _piece(self, sequence: int, start: int, numbers: Sequence[int]) -> Array:
        config, count = self._config, len(numbers)
        ids = self._memory.put(np.array(numbers, np.int32))
        used = self._memory.put(np.array([start + count], np.int32))
        x = self._empty(count, config.hidden)
        grid = (-(-config.hidden // EMBEDDING), count)
        self._launch("decoding_tokens.token_rows", grid, self._weights.embedding, ids, x, EMBEDDING)
        room = Room(self, count)
        for number, layer in enumerate(self._weights.layers):
            self._attention(layer, number, sequence, start, used, x, room)
            self._feed(layer, x, room)
            x, room.x = room.x, x
        return x

    def _attention(
        self, layer: Layer, number: int, sequence: int, start: int, used: Array, x: Array, room: Room
    ) -> None:
        """``room.middle = x + attention(norm(x))``"""
        config, cache, count = self._config, self._cache, room.count
        heads, kv_heads, width = config.heads, config.kv_heads, config.head_width
        self._norm(x, layer.attention_norm, room)
        self._product(room.normed, layer.qkv, room.qkv)
        packed = room.qkv.reshape(count, config.packed_heads, width)
        keys, values = cache.keys[number], cache.values[number]
        self._launch(
            "decoding.prompt_heads", (count,),
            packed[:, :heads], packed[:, heads : heads + kv_heads], packed[:, heads + kv_heads :],
            layer.q_norm, layer.k_norm, cache.cos, cache.sin, start,
            room.queries, keys[sequence], values[sequence], config.eps, PROMPT_HEADS, width // 2,
        )  # fmt: skip
        rows, columns = attention_tiles(config.dtype)
        by_head = room.attended.reshape(1, count, heads, width).swapaxes(1, 2)
        self._launch(
            "attention.attention_cached", (-(-count // rows), heads),
            room.queries.reshape(1, heads, count, width),
            keys[sequence : sequence + 1], values[sequence : sequence + 1], used,
            by_head, width**-0.5, config.group, rows, columns, width, True,
        )  # fmt: skip
        self._product(room.attended, layer.output, room.middle, x)

    def _feed(self, layer: Layer, x: Array, room: Room) -> None:
        """``room.x = room.middle + feed(norm(room.middle))``"""
        inner, count = self._config.intermediate, room.count
        self._norm(room.middle, layer.feed_norm, room)
        self._product(room.normed, layer.gate_up, room.gate_up)
        rows, columns = GATED
        grid = (-(-inner // columns), -(-count // rows))
        packed = room.gate_up.reshape(count, 2, inner)
        self._launch("activations.silu_mul_packed", grid, packed, room.fed, rows, columns)
        self._product(room.fed, layer.down, room.x, room.middle)

    def _norm(self, x: Array, weight: Array, room: Room) -> None:
        rows, columns = NORM
        grid = (-(-room.count // rows),)
        self._launch("norms.rms_norm", grid, x, weight, room.normed, room.rstd, self._config.eps, rows, columns)

    def _product(self, x: Array, weights: Array, out: Array, residual: Array | None = None) -> None:
        tile = product_tiles(self._config.dtype)
        rows, columns = -(-x.shape[0] // tile[0]), -(-weights.shape[0] // tile[1])
        shared = min(SHARED_ROWS, rows)
        grid = (shared, columns, -(-rows // shared))
        if residual is None:
            self._launch("products.matmul_transposed", grid, x, weights, out, *tile)
        else:
            self._launch("products.matmul_add", grid, x, weights, residual, out, *tile)

    def _empty(self, *shape: int) -> Array:
        return self._memory.empty(shape, self._config.dtype)


class Room:
    """What lies between the steps of a layer, for ``count`` tokens; all layers use the same."""

    def __init__(self, prompt: Prompt, count: int) -> None:
        config, empty = prompt._config, prompt._empty
        width, inner = config.head_width, config.intermediate
        self.count = count
        self.x, self.middle, self.normed = (empty(count, config.hidden) for _ in range(3))
        self.rstd = prompt._memory.empty((count,), "f32")
        self.qkv = empty(count, config.packed_heads * width)
        self.queries = empty(config.heads, count, width)
        self.attended = empty(count, config.heads * width)
        self.gate_up, self.fed = empty(count, 2 * inner), empty(count, inner)
