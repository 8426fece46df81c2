"""Tile sizes by kernel, element type and number of sequences.  Kernels are compiled for each: a bundle of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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


KERNELS: Final = {"logits": "normed", "down": "add"}
"""What is the same kernel: logits are in float32 whatever the model's type is; ``down`` adds products of long rows."""


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
    def constants(self) -> tuple[int, ...]:
        return self.sequences, self.rows, self.ahead, self.columns

    def kernel(self, what: str) -> str:
        """Of the library: ``what`` is ``normed``, ``logits``, ``normed_gated``, ``add`` or ``largest``."""
        return f"decoding.{'steps' if self.tensor_cores else 'step'}_{KERNELS.get(what, what)}"

    def blocks(self, what: str, rows: int) -> int:
        """For so many rows of weights."""
        return -(-rows // self.rows)


@dataclass(frozen=True, slots=True)
class SeveralTile:
    """Rows of weights, columns and ``sequences`` in a tile of a step's product that memory streams to tensor cores.

    ``many``: by the kernel for many rows of weights.
    """

    sequences: int
    rows: int
    columns: int
    many: bool = False

    @property
    def constants(self) -> tuple[int, ...]:
        return self.sequences, self.rows, self.columns

    def kernel(self, what: str) -> str:
        """Of the library: ``what`` is ``normed``, ``normed_gated``, ``add`` or ``down``."""
        return f"decoding_several.several_{KERNELS.get(what, what)}{'_many' if self.many else ''}"

    def blocks(self, what: str, rows: int) -> int:
        """For so many rows of weights."""
        return -(-rows // self.rows)


LANES: Final = 1024
"""Columns that the 128 threads of a block read at once, 16 bytes each."""

RESIDENT: Final = 132 * 4
"""Blocks of `row_normed` that an H200 has room for: each takes several groups of rows, all about as many."""


@dataclass(frozen=True, slots=True)
class RowTile:
    """Rows of weights in a group, and ``tiles`` of `LANES` columns that a block reads at once: for one sequence.

    ``way``: what the name of the kernel ends in.
    """

    rows: int
    tiles: int
    way: str = ""

    @property
    def constants(self) -> tuple[int, ...]:
        return self.rows, LANES, self.tiles

    def kernel(self, what: str) -> str:
        """Of the library: ``what`` is ``normed``, ``logits``, ``normed_gated``, ``add`` or ``down``."""
        return f"decoding_rows.row_{KERNELS.get(what, what)}{self.way}"

    def blocks(self, what: str, rows: int) -> int:
        """For so many rows of weights."""
        groups = -(-rows // self.rows)
        return groups if KERNELS.get(what, what) == "add" else -(-groups // -(-groups // RESIDENT))


Tile = StepTile | RowTile | SeveralTile

TALL, STREAMED = RowTile(4, 2, "_tall"), RowTile(4, 2, "_streamed")
NARROW = RowTile(4, 1, "_streamed_narrow")

ROWS: Final[Mapping[int, Mapping[str, Tile]]] = {
    1: {"normed": RowTile(8, 1), "normed_gated": RowTile(4, 1), "add": RowTile(2, 2), "down": RowTile(2, 2)},
    2: {"normed": RowTile(4, 2), "normed_gated": RowTile(2, 2), "add": RowTile(2, 2), "down": RowTile(2, 2)},
    3: {"normed": RowTile(4, 3), "normed_gated": RowTile(2, 3), "add": TALL, "down": STREAMED},
    4: {"normed": RowTile(2, 4), "normed_gated": RowTile(1, 4), "add": NARROW, "down": NARROW},
    5: {"normed": RowTile(2, 5), "normed_gated": RowTile(1, 5), "add": STREAMED, "down": STREAMED},
}
"""One sequence, by how many times `LANES` the vectors have; the fastest of those that were compared on an H200."""

ONE: Final[Mapping[str, Tile]] = {
    "normed": StepTile(1, 8, 1024, 512, False),
    "normed_gated": StepTile(8, 64, 128, 128, True),
    "add": StepTile(8, 64, 256, 256, True),
    "largest": StepTile(8, 128, 128, 128, True),
}
"""One sequence of other models, and the head of all: enough rows for tensor cores."""

EXACT: Final[Mapping[str, Tile]] = {
    "normed": StepTile(1, 8, 1024, 512, False),
    "normed_gated": StepTile(1, 4, 1024, 512, False),
    "add": StepTile(1, 8, 1024, 512, False),
    "largest": StepTile(1, 8, 1024, 512, False),
}
"""One sequence in float32, of which tensor cores take fewer bits."""

SEVERAL: Final[Mapping[str, StepTile | SeveralTile]] = {
    "normed": SeveralTile(8, 64, 256),
    "logits": StepTile(8, 64, 128, 128, True),
    "normed_gated": SeveralTile(8, 64, 128),
    "add": SeveralTile(8, 64, 256),
    "largest": StepTile(8, 64, 256, 256, True),
}
"""Several sequences by tensor cores, by the least rows that these take at their full rate; measured, too."""

WIDE: Final = 4 * LANES
"""Vectors with more numbers have matrices with many rows."""

MANY: Final[Mapping[str, SeveralTile]] = {
    "normed_gated": SeveralTile(8, 64, 256, many=True),
    "add": SeveralTile(8, 64, 256, many=True),
}
"""Instead, for those."""

ALTERNATIVES: Final[Mapping[str, tuple[Tile, ...]]] = {
    "normed": (
        StepTile(1, 16, 256, 256, False),
        StepTile(8, 64, 256, 256, True),
        StepTile(8, 64, 256, 128, True),
        StepTile(16, 32, 128, 128, True),
    ),
    "normed_gated": (
        StepTile(1, 16, 256, 256, False),
        StepTile(8, 64, 64, 64, True),
        StepTile(8, 64, 256, 128, True),
        StepTile(8, 128, 64, 64, True),
        StepTile(16, 32, 128, 128, True),
    ),
    "add": (
        RowTile(2, 2),
        TALL,
        STREAMED,
        NARROW,
        StepTile(1, 8, 2048, 512, False),
        StepTile(8, 64, 256, 256, True),
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


def step_tile(what: str, dtype: str, sequences: int, hidden: int) -> Tile:
    """For a model whose vectors have ``hidden`` numbers.  Raises `EngineError` for more sequences than a tile holds."""
    if sequences > MOST_SEQUENCES[dtype]:
        raise EngineError(f"{sequences} sequences at once are too many: up to {MOST_SEQUENCES[dtype]} of {dtype}")
    kernel = KERNELS.get(what, what)
    if sequences == 1:
        if dtype == "f32":
            return EXACT[kernel]
        rows = ROWS.get(-(-hidden // LANES), {}) if hidden % 16 == 0 else {}
        return rows.get(what) or rows.get(kernel) or ONE[kernel]
    held = 1 << (sequences - 1).bit_length()
    if dtype == "f32":
        return StepTile(8, 8, 64, 64, False)
    tile = (MANY.get(kernel) if hidden > WIDE else None) or SEVERAL["add" if kernel == "add" else what]
    if held <= tile.sequences:
        return tile
    return replace(tile, sequences=held) if isinstance(tile, SeveralTile) else StepTile(held, tile.rows, 128, 128, True)


def attention_kernel(sequences: int) -> str:
    """Of a step, in the library."""
    return f"decoding.{'step' if sequences == 1 else 'steps'}_attention"


def product_tiles(dtype: str) -> tuple[int, int, int]:
    """Rows of activations, rows of weights and columns in a tile of a prompt's product."""
    return (32, 64, 16) if dtype == "f32" else (128, 128, 64)


def attention_tiles(dtype: str) -> tuple[int, int]:
    """Queries and keys in a tile of a prompt's attention."""
    return (16, 32) if dtype == "f32" else (64, 128)
