"""What the entries in the shape of cuTile Rust's compute, with NumPy alone, and with which numbers (`references`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .problems import Numbers

Array = NDArray[Any]
Arrays = Mapping[str, Array]
Values = Mapping[str, Any]
Reference = Callable[[Arrays, Values], Arrays]

LANES: Final = 128
SCORES: Final = 256


def _rms_norm(a: Arrays, v: Values) -> Arrays:
    scale = 1 / np.sqrt((a["x"] ** 2).mean(axis=1, keepdims=True) + v["eps"])
    return {"out": a["x"] * scale * a["weight"]}


def _layer_norm(a: Arrays, v: Values) -> Arrays:
    moved = a["x"] - a["x"].mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((moved**2).mean(axis=1, keepdims=True) + v["eps"])
    return {"out": moved * scale * a["weight"] + a["bias"]}


def _softmax(a: Arrays, _: Values) -> Arrays:
    powers = np.exp(a["x"] - a["x"].max(axis=1, keepdims=True))
    return {"out": powers / powers.sum(axis=1, keepdims=True)}


def _merge(a: Arrays, _: Values) -> Arrays:
    return {"out": a["partial"].sum(axis=0)}


def _rope(a: Arrays, _: Values) -> Arrays:
    start, tokens = int(a["pos"][0]), len(a["x"])
    cos, sin = (a[name][start : start + tokens, None] for name in ("cos", "sin"))
    first, second = a["x"][..., :32], a["x"][..., 32:]
    return {"out": np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)}


def _cache_update(a: Arrays, _: Values) -> Arrays:
    cache, start = a["cache"].copy(), int(a["pos"][0])
    cache[:, start : start + len(a["new"])] = a["new"].swapaxes(0, 1)
    return {"cache": cache}


def _attention(a: Arrays, v: Values) -> Arrays:
    queries, keys = len(a["q"]), a["k"].shape[1]
    scores = np.einsum("shd,hld->hsl", a["q"], a["k"]) * v["scale"]
    seen = np.arange(queries)[:, None] + int(a["pos"][0]) >= np.arange(keys)
    scores = np.where(seen, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return {"out": np.einsum("hsl,hld->shd", powers / powers.sum(axis=-1, keepdims=True), a["v"])}


def _embedding(a: Arrays, _: Values) -> Arrays:
    """A block stops at an id that is no row."""
    out, ids = a["out"].copy(), a["ids"]
    known = (ids >= 0) & (ids < len(a["table"]))
    out[known] = a["table"][ids[known]]
    return {"out": out}


def _axpy(a: Arrays, v: Values) -> Arrays:
    """Tiles of y whose tile of x is none stay as they are; x is 0 behind its end."""
    y, start = a["y"].copy(), int(a["start"][0])
    for block in range(-(-len(y) // LANES)):
        if 0 <= (start + block) * LANES < len(a["x"]):
            tile = a["x"][(start + block) * LANES :][:LANES]
            part = y[block * LANES :][:LANES]
            part += v["a"] * np.pad(tile, (0, LANES - len(tile)))[: len(part)]
    return {"y": y}


def _product(a: Arrays, _: Values) -> Arrays:
    return {"c": a["a"] @ a["b"]}


def _silu_and_mul(a: Arrays, _: Values) -> Arrays:
    gate, factor = np.split(a["source"], 2, axis=1)
    return {"out": gate / (1 + np.exp(-gate)) * factor}


def _argmax_blocks(a: Arrays, _: Values) -> Arrays:
    tiles = a["scores"].reshape(-1, SCORES)
    return {"best": tiles.max(axis=1), "place": tiles.argmax(axis=1) + SCORES * np.arange(len(tiles))}


RUST_REFERENCES: Final[Mapping[str, Reference]] = {
    "rms_norm_f16_entry": _rms_norm,
    "layer_norm_f32_entry": _layer_norm,
    "softmax_f32_entry": _softmax,
    "splitk_reduce_merge_entry": _merge,
    "rope_seq_dynpos_f16_entry": _rope,
    "kv_cache_update_seq_dynpos_f16_entry": _cache_update,
    "flash_attn_causal_seq_dynpos_f16_entry": _attention,
    "embedding_batch_f16_entry": _embedding,
    "axpy_within_f32_entry": _axpy,
    "gemm_f16_entry": _product,
    "matmul_swizzled_f16_entry": _product,
    "silu_and_mul_f16_entry": _silu_and_mul,
    "argmax_blocks_f16_entry": _argmax_blocks,
}

_ROWS, _POSITIONS, _TILES = (f"cutile_rust/{name}.tileirbc::" for name in ("rows", "positions", "tiles"))

RUST_NUMBERS: Final[Mapping[str, Numbers]] = {
    f"{_ROWS}rms_norm_f16_entry[any-size]": Numbers({"M": 1, "eps": 0.125}),
    f"{_ROWS}layer_norm_f32_entry[any-size]": Numbers({"M": 1, "N": 16, "eps": 0.125}),
    f"{_ROWS}softmax_f32_entry[any-size]": Numbers({"M": 1, "N": 8}),
    f"{_ROWS}splitk_reduce_merge_entry[any-size]": Numbers({"M": 1, "SPLITS": 1}),
    f"{_POSITIONS}rope_seq_dynpos_f16_entry[any-size]": Numbers({"S": 1, "P": 3}),
    f"{_POSITIONS}kv_cache_update_seq_dynpos_f16_entry[any-size]": Numbers({"S": 1, "L": 3}),
    f"{_POSITIONS}flash_attn_causal_seq_dynpos_f16_entry[any-size]": Numbers({"S": 2, "L": 4, "scale": 0.125}),
    f"{_POSITIONS}embedding_batch_f16_entry[assertions-stop]": Numbers(
        {"B": 1, "V": 2}, asserted=("range(ids, 0, 16 * V)",)
    ),
    f"{_POSITIONS}axpy_within_f32_entry[assertions-stop]": Numbers(
        {"N": 20, "X": 60, "a": 0.5}, asserted=("range(start, 0, 5)",)
    ),
    f"{_TILES}gemm_f16_entry[any-size]": Numbers({"M": 3, "N": 5, "K": 3}),
    f"{_TILES}matmul_swizzled_f16_entry[any-size]": Numbers({"M": 19, "N": 5, "K": 3}),
    f"{_TILES}silu_and_mul_f16_entry[any-size]": Numbers({"M": 5, "H": 100}),
    f"{_TILES}argmax_blocks_f16_entry[any-size]": Numbers({"B": 1}),
}
