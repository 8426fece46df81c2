"""Keys and values of several sequences, and the cosines and sines of their positions; both grow as texts do."""

from __future__ import annotations

import numpy as np

from .config import Config
from .launches import Launches
from .memory import Array, Memory
from .tiles import COPIED


class Cache:
    """``keys`` and ``values`` of each layer: [B, HK, capacity, D]; ``cos`` and ``sin`` f32[capacity, D / 2]."""

    def __init__(self, config: Config, memory: Memory, launches: Launches, sequences: int, capacity: int) -> None:
        self._config, self._memory, self._launches = config, memory, launches
        self.sequences, self.capacity = sequences, capacity
        self.keys, self.values = self._empty(capacity), self._empty(capacity)
        self.cos, self.sin = self._angles()

    def grow(self, capacity: int) -> None:
        """To more positions; arrays that were taken from it before are its own no longer."""
        before, self.capacity = self.capacity, capacity
        config, rows = self._config, self.sequences * self._config.kv_heads
        for arrays in (self.keys, self.values):
            for layer, old in enumerate(arrays):
                (new,) = self._empty(self.capacity, layers=1)
                kept = before * config.head_width
                target = new.reshape(rows, self.capacity * config.head_width)[:, :kept]
                grid = (-(-kept // COPIED), rows)
                self._launches("decoding_tokens.copy_rows", grid, old.reshape(rows, kept), target, COPIED)
                arrays[layer] = new
        self.cos, self.sin = self._angles()

    def _empty(self, capacity: int, layers: int | None = None) -> list[Array]:
        config = self._config
        shape = (self.sequences, config.kv_heads, capacity, config.head_width)
        count = config.layers if layers is None else layers
        return [self._memory.empty(shape, config.dtype) for _ in range(count)]

    def _angles(self) -> tuple[Array, Array]:
        """In float32, as the model was trained with."""
        width = self._config.head_width
        powers = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
        frequencies = np.float32(1) / np.float32(self._config.rope_base) ** powers
        angles = np.outer(np.arange(self.capacity, dtype=np.float32), frequencies)
        return self._memory.put(np.cos(angles)), self._memory.put(np.sin(angles))
