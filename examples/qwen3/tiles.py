"""Tile sizes by kernel, element type and number of sequences.  Kernels are compiled for each: a bundle of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .errors import EngineError

MOST_SEQUENCES: Final = {"bf16": 64, "f16": 64, "f32": 8}
"""At once: beyond, the sums of a tile do not fit registers."""

SPLIT: Final = 64
"""Keys that a block of a step's attention looks at."""

PARTS: Final = 16
"""Tiles of keys that are merged at once."""

GROUP_TILE: Final = 16
"""Query heads in a tile of a step's attention: the least that tensor cores take."""

EMBEDDING: Final = 1024
COPIED: Final = 2048
NORM: Final = (1, 2048)
GATED: Final = (1, 2048)
PROMPT_HEADS: Final = 8
LARGEST: Final = 1024
"""Candidates that are merged at once."""

VOCABULARY: Final = 2048
CANDIDATES: Final = 64
"""Of tokens that are sampled from, where not all are."""

ALL: Final = 4096
"""Columns of a tile where all tokens are sampled from."""


@dataclass(frozen=True, slots=True)
class StepTile:
    """Rows of weights, columns and ``sequences`` in a tile of a step's product; by tensor cores, or not.

    ``ahead``: columns that are loaded before the kernel waits for the one ahead of it.
    """

    sequences: int
    rows: int
    ahead: int
    columns: int
    tensor_cores: bool

    @property
    def constants(self) -> tuple[int, int, int, int]:
        return self.sequences, self.rows, self.ahead, self.columns

    def kernel(self, what: str) -> str:
        """Of the library: ``what`` is ``normed``, ``normed_gated``, ``add`` or ``largest``."""
        return f"{'steps' if self.tensor_cores else 'step'}_{what}"


ONE: Final = {
    "normed": StepTile(1, 16, 256, 256, False),
    "normed_gated": StepTile(1, 16, 256, 256, False),
    "add": StepTile(1, 8, 2048, 512, False),
    "largest": StepTile(8, 128, 128, 128, True),
}
"""One sequence: a tile holds 8 KB of weights; the fastest of those that were compared on an H200."""

WIDE_FROM: Final = 5120
WIDE: Final = {
    "normed": StepTile(1, 8, 1024, 512, False),
    "normed_gated": StepTile(8, 64, 128, 128, True),
    "add": StepTile(8, 64, 256, 256, True),
    "largest": StepTile(8, 128, 128, 128, True),
}
"""The same for models whose vectors have so many numbers, and more: enough rows for tensor cores."""

EXACT: Final = {
    "normed": StepTile(1, 8, 1024, 512, False),
    "normed_gated": StepTile(1, 4, 1024, 512, False),
    "add": StepTile(1, 8, 1024, 512, False),
    "largest": StepTile(1, 8, 1024, 512, False),
}
"""One sequence in float32, of which tensor cores take fewer bits."""

SEVERAL: Final = {
    "normed": StepTile(8, 64, 128, 128, True),
    "normed_gated": StepTile(8, 64, 128, 128, True),
    "add": StepTile(16, 32, 256, 256, True),
    "largest": StepTile(8, 64, 256, 256, True),
}
"""Several sequences by tensor cores: 64 rows by 8 sequences, or 32 by 16 where there are few rows; measured, too."""

ALTERNATIVES: Final = {
    "normed": (
        StepTile(1, 8, 1024, 512, False),
        StepTile(1, 16, 512, 256, False),
        StepTile(1, 32, 256, 256, False),
        StepTile(8, 64, 256, 256, True),
        StepTile(8, 64, 256, 128, True),
        StepTile(16, 32, 128, 128, True),
    ),
    "normed_gated": (
        StepTile(1, 4, 1024, 512, False),
        StepTile(1, 8, 256, 256, False),
        StepTile(1, 8, 512, 512, False),
        StepTile(8, 64, 64, 64, True),
        StepTile(8, 64, 256, 128, True),
        StepTile(8, 128, 64, 64, True),
        StepTile(16, 32, 128, 128, True),
    ),
    "add": (
        StepTile(1, 8, 1024, 512, False),
        StepTile(1, 8, 2048, 256, False),
        StepTile(1, 16, 2048, 256, False),
        StepTile(8, 64, 256, 256, True),
        StepTile(8, 64, 512, 256, True),
        StepTile(16, 32, 128, 128, True),
        StepTile(16, 64, 256, 256, True),
    ),
    "largest": (
        StepTile(1, 32, 256, 128, False),
        StepTile(8, 64, 128, 128, True),
        StepTile(8, 128, 128, 128, True),
        StepTile(8, 256, 64, 64, True),
    ),
}
"""What `benchmarks/gpu/qwen3.py tiles` compares with those above; ones for 8 sequences serve a single one, too."""


def step_tile(what: str, dtype: str, sequences: int, hidden: int) -> StepTile:
    """For a model whose vectors have ``hidden`` numbers.  Raises `EngineError` for more sequences than a tile holds."""
    if sequences > MOST_SEQUENCES[dtype]:
        raise EngineError(f"{sequences} sequences at once are too many: up to {MOST_SEQUENCES[dtype]} of {dtype}")
    if sequences == 1:
        return (EXACT if dtype == "f32" else WIDE if hidden >= WIDE_FROM else ONE)[what]
    held = 1 << (sequences - 1).bit_length()
    if dtype == "f32":
        return StepTile(8, 8, 64, 64, False)
    tile = SEVERAL[what]
    return tile if held <= tile.sequences else StepTile(held, tile.rows, 128, 128, True)


def product_tiles(dtype: str) -> tuple[int, int, int]:
    """Rows of activations, rows of weights and columns in a tile of a prompt's product."""
    return (32, 64, 16) if dtype == "f32" else (128, 128, 64)


def attention_tiles(dtype: str) -> tuple[int, int]:
    """Queries and keys in a tile of a prompt's attention."""
    return (16, 32) if dtype == "f32" else (64, 128)
