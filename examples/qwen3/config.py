"""What a model looks like: from Hugging Face's ``config.json``, or one of the sizes that Qwen3 comes in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .errors import EngineError

DTYPES: Final = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}
"""Element types as ``config.json`` calls them, and as launch specs do."""


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes of a dense Qwen3; ``group`` query heads share a head of keys and values."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int = 151_936
    head_width: int = 128
    tied: bool = False
    eps: float = 1e-6
    rope_base: float = 1e6
    positions: int = 40_960
    dtype: str = "bf16"

    def __post_init__(self) -> None:
        if min(self.layers, self.hidden, self.heads, self.kv_heads, self.intermediate, self.vocabulary) < 1:
            raise EngineError("every size of the model has to be at least 1")
        if self.heads % self.kv_heads or self.group > 16:
            raise EngineError(f"{self.heads} query heads over {self.kv_heads} of keys: 1 to 16 of them can share one")
        if self.head_width < 8 or self.head_width & (self.head_width - 1):
            raise EngineError(f"heads of {self.head_width} numbers: kernels take powers of two from 8 on")

    @property
    def group(self) -> int:
        return self.heads // self.kv_heads

    @property
    def packed_heads(self) -> int:
        """Queries, keys and values, as one product makes them."""
        return self.heads + 2 * self.kv_heads

    @property
    def parameters(self) -> int:
        """Numbers that the model holds."""
        width = self.head_width
        layer = self.hidden * (width * (self.packed_heads + self.heads) + 3 * self.intermediate + 2) + 2 * width
        return self.layers * layer + self.hidden * (1 + self.vocabulary * (1 if self.tied else 2))

    def read_in_a_step(self, cached: int, sequences: int = 1) -> int:
        """Bytes that one step has to read: all weights but unused rows of the embedding, and what is cached."""
        size = 4 if self.dtype == "f32" else 2
        unused = 0 if self.tied else self.vocabulary * self.hidden
        keys = 2 * self.layers * self.kv_heads * self.head_width * cached * sequences
        return size * (self.parameters - unused + keys)


SIZES: Final[Mapping[str, Config]] = {
    "tiny": Config(2, 64, 4, 2, 96, vocabulary=256, head_width=16, positions=512, dtype="f32"),
    "0.6B": Config(28, 1024, 16, 8, 3072, tied=True),
    "1.7B": Config(28, 2048, 16, 8, 6144, tied=True),
    "4B": Config(36, 2560, 32, 8, 9728, tied=True),
    "8B": Config(36, 4096, 32, 8, 12288),
    "14B": Config(40, 5120, 40, 8, 17408),
    "32B": Config(64, 5120, 64, 8, 25600),
}
"""The published sizes, and one for machines without a GPU."""


def read_config(folder: Path) -> Config:
    """From ``config.json``; raises `EngineError` for what is missing, and for models that this engine cannot run."""
    file = folder / "config.json"
    found = read_json(file)
    if found.get("model_type") != "qwen3":
        raise EngineError(f"{file}: a model of type {found.get('model_type')!r}, and this engine runs 'qwen3'")
    rope = found.get("rope_parameters") or {}
    scaling = found.get("rope_scaling") or (rope if rope.get("rope_type", "default") != "default" else None)
    for key, fine in (("attention_bias", (False, None)), ("hidden_act", ("silu", None))):
        if found.get(key) not in fine:
            raise EngineError(f"{file}: {key} = {found[key]!r} is nothing that this engine runs")
    if scaling or found.get("use_sliding_window"):
        raise EngineError(f"{file}: scaled positions and sliding windows are nothing that this engine runs")
    name = found.get("dtype") or found.get("torch_dtype") or "bfloat16"
    if name not in DTYPES:
        raise EngineError(f"{file}: element type {name!r} is none of {', '.join(DTYPES)}")
    try:
        return Config(
            layers=found["num_hidden_layers"],
            hidden=found["hidden_size"],
            heads=found["num_attention_heads"],
            kv_heads=found["num_key_value_heads"],
            intermediate=found["intermediate_size"],
            vocabulary=found["vocab_size"],
            head_width=found.get("head_dim") or 128,
            tied=bool(found.get("tie_word_embeddings", False)),
            eps=float(found.get("rms_norm_eps", 1e-6)),
            rope_base=float(found.get("rope_theta") or rope.get("rope_theta", 1e6)),
            positions=found.get("max_position_embeddings", 40_960),
            dtype=DTYPES[name],
        )
    except KeyError as missing:
        raise EngineError(f"{file}: {missing.args[0]} is missing") from None


def stop_tokens(folder: Path) -> frozenset[int]:
    """What ends a text, from ``generation_config.json`` or ``config.json``."""
    for name in ("generation_config.json", "config.json"):
        if (folder / name).is_file():
            found = read_json(folder / name).get("eos_token_id")
            if found is not None:
                return frozenset(found if isinstance(found, list) else [found])
    return frozenset()


def read_json(file: Path) -> dict[str, Any]:
    """An object; raises `EngineError` where there is none."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise EngineError(f"cannot read '{file}': {error.strerror or error}") from None
    except ValueError as error:
        raise EngineError(f"'{file}' is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise EngineError(f"'{file}' holds no object")
    return found
