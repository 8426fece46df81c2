"""What the corpus' kernels compute, written with NumPy alone, and the numbers that each launch is computed with.

A reference takes the array arguments (float64 for floats) and the numbers of the launch, and returns the arguments
that change with all their values after the launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .problems import Numbers
from .rust_references import RUST_NUMBERS, RUST_REFERENCES

Array = NDArray[Any]
Arrays = Mapping[str, Array]
Values = Mapping[str, Any]
Reference = Callable[[Arrays, Values], Arrays]


def _copy(a: Arrays, _: Values) -> Arrays:
    return {"out": a["x"]}


def _relu_into(a: Arrays, _: Values) -> Arrays:
    return {"out": np.maximum(a["x"], 0)}


def _product(a: Arrays, _: Values) -> Arrays:
    return {"C": a["A"] @ a["B"]}


def _largest_of_rows(a: Arrays, _: Values) -> Arrays:
    return {"out": a["x"].max(axis=1)}


def _sum_of_rows(a: Arrays, _: Values) -> Arrays:
    return {"out": a["x"].sum(axis=1)}


def _largest_magnitude_of_rows(a: Arrays, _: Values) -> Arrays:
    return {"out": np.abs(a["x"]).max(axis=1)}


def _last_of_largest_of_rows(a: Arrays, _: Values) -> Arrays:
    return {"out": a["x"].shape[1] - 1 - a["x"][:, ::-1].argmax(axis=1)}


def _one_where_any(a: Arrays, _: Values) -> Arrays:
    return {"out": np.where((a["flags"] > 0).any(axis=1), 1, a["out"])}


def _softmax(a: Arrays, _: Values) -> Arrays:
    shifted = np.exp(a["x"] - a["x"].max(axis=1, keepdims=True))
    return {"out": shifted / shifted.sum(axis=1, keepdims=True)}


def _first_columns(count: int, change: Callable[[Array], Array]) -> Reference:
    def reference(a: Arrays, _: Values) -> Arrays:
        out = a["out"].copy()
        out[:, :count] = change(a["x"][:, :count])
        return {"out": out}

    return reference


def _write_at(a: Arrays, v: Values) -> Arrays:
    cache = a["cache"].copy()
    cache[:, v["position"]] = a["new"]
    return {"cache": cache}


def _running_sum(a: Arrays, _: Values) -> Arrays:
    rows, columns = a["x"].shape
    return {"out": a["x"].reshape(rows, -1, 128).cumsum(axis=1).reshape(rows, columns)}


def _mean_of_three(a: Arrays, _: Values) -> Arrays:
    padded = np.pad(a["in_"], 1)
    return {"out": (padded[:-2] + padded[1:-1] + padded[2:]) / 3}


def _gather_rows(a: Arrays, v: Values) -> Arrays:
    ids, table = a["ids"], a["table"]
    known = (ids >= 0) & (ids < len(table))
    return {"out": np.where(known[:, None], table[np.where(known, ids, 0)], a["out"])}


def _norm_backward(a: Arrays, _: Values) -> Arrays:
    inverse = a["scale"][:, None]
    weighted = a["dy"] * a["weight"]
    share = inverse**2 * (weighted * a["x"]).sum(axis=1, keepdims=True) / a["x"].shape[1]
    return {"dx": inverse * (weighted - share * a["x"]), "parts": a["dy"] * a["x"] * inverse}


def _parts(a: Arrays, _: Values) -> Arrays:
    rows, columns = a["x"].shape
    room = np.zeros((-(-rows // 128) * 128, columns), a["x"].dtype)
    room[:rows] = a["x"]
    return {"parts": np.concatenate(np.split(room, columns // 32, axis=1))}


def _put_back(a: Arrays, v: Values) -> Arrays:
    out = a["out"].copy()
    kept = a["slots"] < v["count"]
    out[a["slots"][kept]] = a["rows"][kept]
    return {"out": out}


def _softmax_rows(a: Arrays, _: Values) -> Arrays:
    shifted = np.exp(a["in_"] - a["in_"].max(axis=1, keepdims=True))
    return {"out": shifted / shifted.sum(axis=1, keepdims=True)}


def _rms_norm_rows(a: Arrays, v: Values) -> Arrays:
    scale = 1 / np.sqrt((a["x"] ** 2).mean(axis=1) + v["eps"])
    return {"rstd": scale, "y": a["x"] * scale[:, None] * a["weight"]}


def _attention_of_head(a: Arrays, v: Values) -> Arrays:
    """Keys behind the last are 0 and count: the last tile is loaded whole."""
    missing = -len(a["k"]) % 64
    scores = np.pad(a["q"] @ a["k"].T * v["scale"], ((0, 0), (0, missing)))
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"out": powers @ np.pad(a["v"], ((0, missing), (0, 0))) / powers.sum(axis=1, keepdims=True)}


def _header_and_lines(a: Arrays, v: Values) -> Arrays:
    out = a["out"].copy()
    out[0, :64] = v["value"]
    out[1:, :64] = 0
    return {"out": out}


def _embedding(a: Arrays, _: Values) -> Arrays:
    ids, table = a["ids"], a["table"]
    known = (ids >= 0) & (ids < len(table))
    return {"out": np.where(known[:, None], table[np.where(known, ids, 0)], 0)}


def _histogram(a: Arrays, _: Values) -> Arrays:
    values, bins = a["values"], a["bins"]
    counted = values[(values >= 0) & (values < len(bins))]
    return {"bins": bins + np.bincount(counted, minlength=len(bins)).astype(bins.dtype)}


def _number_tiles(a: Arrays, _: Values) -> Arrays:
    return {"out": np.broadcast_to(np.arange(a["out"].shape[1]) // 64, a["out"].shape).astype(a["out"].dtype)}


def _clear_below(a: Arrays, v: Values) -> Arrays:
    return {"out": np.zeros_like(a["out"]) if a["count"][0] < v["limit"] else a["out"]}


def _double_first_of_rows(a: Arrays, v: Values) -> Arrays:
    out, x = (a[name].reshape(-1, v["length"]).copy() for name in ("out", "x"))
    out[:, :64] = 2 * x[:, :64]
    return {"out": out.reshape(-1)}


def _write_spaced(a: Arrays, v: Values) -> Arrays:
    out = a["out"].copy()
    places = np.add.outer(np.arange(len(out)) * v["step"], np.arange(16)).reshape(-1)
    out[places[places < len(out)]] = 1
    return {"out": out}


def _append(a: Arrays, v: Values) -> Arrays:
    cache = a["cache"].copy()
    cache[:, :, v["position"]] = a["new"]
    return {"cache": cache}


def _append_at(a: Arrays, _: Values) -> Arrays:
    cache = a["cache"].copy()
    for sequence, position in enumerate(a["positions"]):
        cache[sequence, :, position] = a["new"][sequence]
    return {"cache": cache}


def _reverse_tiles(a: Arrays, _: Values) -> Arrays:
    return {"out": a["x"].reshape(-1, 256)[::-1].reshape(-1)}


def _scatter(a: Arrays, _: Values) -> Arrays:
    out, target = a["out"].copy(), a["target"]
    inside = (target >= 0) & (target < len(out))
    out[target[inside]] = a["x"][inside]
    return {"out": out}


def _silu_and_mul(a: Arrays, _: Values) -> Arrays:
    gate, up = np.split(a["x"], 2, axis=1)
    return {"out": gate / (1 + np.exp(-gate)) * up}


def _sliding_maximum(a: Arrays, _: Values) -> Arrays:
    return {"out": np.array([a["x"][start : start + 128].max() for start in range(0, len(a["x"]), 64)])}


def _listed(a: Arrays, name: str, each: Callable[[int, Any], Any]) -> Arrays:
    """What becomes of every array of a list, by its number and contents."""
    count = sum(array.startswith(f"{name}[") for array in a)
    return {f"{name}[{i}]": each(i, a[f"{name}[{i}]"]) for i in range(count)}


def _rows_of_list(a: Arrays, _: Values) -> Arrays:
    return _listed(a, "xs", lambda i, x: np.broadcast_to(8 * i + np.arange(8)[:, None], x.shape))


def _first(count: int, array: Any, source: Any) -> Any:
    """``array`` with its first elements replaced, by a number or those of another array."""
    changed = array.copy()
    changed[:count] = source if isinstance(source, int) else source[:count]
    return changed


def _last_tiles(a: Arrays, _: Values) -> Arrays:
    """Tiles of 128, the last one filled up with zeros."""
    lists = [a[f"xs[{row}]"] for row in range(len(a["out"]))]
    last = [np.pad(x[(len(x) - 1) // 128 * 128 :], (0, -len(x) % 128)) for x in lists]
    return {"out": np.array(last)}


def _smooth(a: Arrays, _: Values) -> Arrays:
    padded = np.pad(a["x"], 1)
    return {"out": (padded[:-2] + padded[1:-1] + padded[2:]) / 3}


def _clear_even_halves(a: Arrays, _: Values) -> Arrays:
    return {"x": np.where(np.arange(len(a["x"])) % 128 < 64, 0, a["x"])}


def _fill(a: Arrays, _: Values) -> Arrays:
    return {"out": np.arange(len(a["out"])) // 1024}


def _clear_first_half(a: Arrays, _: Values) -> Arrays:
    return {"out": np.where(np.arange(256) < 128, 0, a["out"])}


def _last_round(tiles: int) -> Reference:
    """Round k writes k into the tile of 64 whose number among a block's own is ``k mod tiles``; 0: a row of tiles."""

    def reference(a: Arrays, v: Values) -> Arrays:
        own = tiles or -(-a["out"].shape[-1] // 64)
        tile = np.arange(a["out"].shape[-1]) // 64 % own
        last = v["rounds"] - 1 - (v["rounds"] - 1 - tile) % own
        return {"out": np.where(last >= 0, last, a["out"])}

    return reference


def _attention(a: Arrays, v: Values) -> Arrays:
    query, key, value = a["Q"], np.repeat(a["K"], 4, axis=1), np.repeat(a["V"], 4, axis=1)
    scores = query @ key.swapaxes(2, 3) * v["scale"]
    scores = np.where(np.tri(query.shape[2], dtype=np.bool_), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=3, keepdims=True))
    return {"Out": weights / weights.sum(axis=3, keepdims=True) @ value}


def _layer_norm(a: Arrays, v: Values) -> Arrays:
    mean, variance = a["x"].mean(axis=1), a["x"].var(axis=1)
    rstd = 1 / np.sqrt(variance + v["eps"])
    normal = (a["x"] - mean[:, None]) * rstd[:, None]
    return {"out": normal * a["weight"] + a["bias"], "mean": mean, "rstd": rstd}


def _rope(a: Arrays, _: Values) -> Arrays:
    low, high = np.split(a["q"], 2, axis=3)
    cos, sin = a["cos"], a["sin"]
    return {"q": np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=3)}


def _fold_pairs(a: Arrays, _: Values) -> Arrays:
    pairs = a["x"].reshape(-1, 2, 128)
    return {"x": np.stack([pairs.sum(axis=1), pairs[:, 1]], axis=1).reshape(-1)}


def _fill_symmetric(a: Arrays, _: Values) -> Arrays:
    tile = np.arange(len(a["out"])) // 16
    return {"out": np.maximum(tile[:, None], tile)}


def _fill_chunk(a: Arrays, v: Values) -> Arrays:
    return {"out": np.arange(len(a["out"])) // (64 * v["count"])}


def _own_totals(a: Arrays, _: Values) -> Arrays:
    parts = np.pad(a["x"], (0, -len(a["x"]) % 256)).reshape(-1, 256).sum(axis=1)
    return {"out": a["out"] + parts}


def _pack(a: Arrays, _: Values) -> Arrays:
    return {"packed": np.concatenate([a["q"], a["k"], a["v"]], axis=1)}


def _sum_past_and_append(a: Arrays, v: Values) -> Arrays:
    past, cache = v["past"], a["cache"].copy()
    cache[past : past + len(a["new"])] = a["new"]
    return {"cache": cache, "out": a["new"] + a["cache"][:past].sum(axis=0)}


def _fill_then_clear_rest(a: Arrays, v: Values) -> Arrays:
    tile = np.arange(len(a["out"])) // 128
    return {"out": np.where(tile < v["kept"], tile, 0)}


def _fill_first_128_of_rows(a: Arrays, v: Values) -> Arrays:
    row, column = np.divmod(np.arange(len(a["out"])), v["width"])
    return {"out": np.where(column < 128, row, a["out"])}


def _add_gradient(a: Arrays, _: Values) -> Arrays:
    table, ids = a["table"].copy(), a["ids"]
    known = (ids >= 0) & (ids < len(table))
    np.add.at(table, ids[known], a["gradient"][known])
    return {"table": table}


def _fill_range(a: Arrays, v: Values) -> Arrays:
    tile = np.arange(len(a["out"])) // 64 - v["start"]
    blocks = min(132, len(a["out"]))
    return {"out": np.where((tile >= 0) & (tile < v["length"]), tile % blocks, a["out"])}


def _fill_by_one_number(a: Arrays, _: Values) -> Arrays:
    rows, columns = (np.arange(size) // 16 for size in a["out"].shape)
    return {"out": (3 * rows[:, None] + columns) % 2}


def _swap(a: Arrays, _: Values) -> Arrays:
    return {"out": a["x"].reshape(-1, 2, 128)[:, ::-1].reshape(-1)}


def _copy_previous(a: Arrays, _: Values) -> Arrays:
    return {"out": np.concatenate([a["out"][:128], a["x"][:-128]])}


def _add_optional_bias(a: Arrays, v: Values) -> Arrays:
    return {"out": a["x"] + a["bias"] if v["use_bias"] else a["x"]}


def _negate_first_tiles(a: Arrays, _: Values) -> Arrays:
    return {"out": np.where(np.arange(len(a["x"])) < 384, -a["x"], a["out"])}


def _block_numbers(tile: int) -> Reference:
    return lambda a, v: {"out": np.arange(len(a["out"])) // tile}


def _own_row(tile: int, place: Callable[[Values], int]) -> Reference:
    """Every row gets its number in one tile of its columns."""

    def reference(a: Arrays, v: Values) -> Arrays:
        out, start = a["out"].copy(), place(v) * tile
        out[:, start : start + tile] = np.arange(len(out))[:, None]
        return {"out": out}

    return reference


def _sum_all(a: Arrays, v: Values) -> Arrays:
    """What lies behind the end of an array is 0."""
    out = np.zeros_like(a["out"])
    for name, x in a.items():
        if name.startswith("xs["):
            out[: len(x)] += x[: len(out)]
    return {"out": out}


def _mark_own_clamped(a: Arrays, v: Values) -> Arrays:
    out = a["out"].copy()
    out[64 * np.arange(len(a["x"])) + np.clip(a["x"].astype(np.int32), 0, 63)] = 1
    return {"out": out}


def _move_by_float(a: Arrays, v: Values) -> Arrays:
    out, first = a["out"].copy(), 64 * min(max(int(np.asarray(v["scale"]).astype(np.int32)), 0), 3)
    out[first : first + len(a["x"])] = a["x"]
    return {"out": out}


def _swizzle_columns(a: Arrays, v: Values) -> Arrays:
    out = a["out"].copy()
    for i in range(-(-len(out) // 8)):
        for j in range(out.shape[1] // 8):
            place = 8 * (j ^ (i & 7))
            out[8 * i : 8 * i + 8, place : place + 8] = a["x"][8 * i : 8 * i + 8, 8 * j : 8 * j + 8]
    return {"out": out}


def _to_tiles(target: Callable[[int, int, Values], int]) -> Reference:
    """Tile i of 64 elements goes to the tile that i, the number of tiles and the arguments say."""

    def reference(a: Arrays, v: Values) -> Arrays:
        out, count = a["out"].copy(), len(a["x"]) // 64
        for i in range(count):
            place = 64 * target(i, count, v)
            out[place : place + 64] = a["x"][64 * i : 64 * i + 64]
        return {"out": out}

    return reference


def _reverse(tile: int) -> Reference:
    return lambda a, v: {"out": a["x"].reshape(-1, tile)[::-1].reshape(-1)}


def _load_at_remainder(a: Arrays, _: Values) -> Arrays:
    blocks = np.arange(-(-len(a["out"]) // 64), dtype=np.int32) * np.int32(2_000_000_000) % 1000
    return {"out": a["x"].reshape(-1, 64)[blocks].reshape(-1)[: len(a["out"])]}


def _write_tile_of_groups(a: Arrays, _: Values) -> Arrays:
    out = a["out"].copy()
    out.reshape(-1, 4)[a["numbers"]] = np.arange(len(a["numbers"]))[:, None] // 4
    return {"out": out}


def _write_groups(a: Arrays, _: Values) -> Arrays:
    out = a["out"].copy()
    out.reshape(-1, 4)[a["numbers"]] = np.arange(len(a["numbers"]))[:, None]
    return {"out": out}


def _place_rows(a: Arrays, _: Values) -> Arrays:
    """Rows of 8192 that hold their block's number, as far as they lie inside."""
    out = a["out"].copy()
    for block, start in enumerate(a["starts"].tolist()):
        out[max(start, 0) : max(start + 8192, 0)] = block
    return {"out": out}


def _write_first(a: Arrays, _: Values) -> Arrays:
    (chosen,) = np.flatnonzero(a["mask"]) if a["mask"].any() else (a["out"],)
    return {"out": np.broadcast_to(chosen, a["out"].shape)}


def _write_owned(a: Arrays, _: Values) -> Arrays:
    return {"out": np.where((a["owner"] >= 0) & (a["owner"] < 4), a["owner"], a["out"])}


def _rows_of_used_experts(a: Arrays, _: Values) -> Arrays:
    out, used = a["out"].copy(), a["counts"] > 0
    out[a["rows"][used]] = a["x"][used]
    return {"out": out}


def _rows_within_capacity(a: Arrays, _: Values) -> Arrays:
    out, rows = a["out"].copy(), a["places"] - a["offsets"][a["experts"]]
    kept = rows < a["buffers"].shape[1]
    out[kept] = a["buffers"][a["experts"][kept], rows[kept]]
    return {"out": out}


def _double_chunks(a: Arrays, _: Values) -> Arrays:
    out = a["out"].copy()
    for sequence, chunk in a["table"]:
        begin, end = a["offsets"][sequence : sequence + 2]
        own = slice(begin + 32 * chunk, max(min(begin + 32 * chunk + 32, end), begin + 32 * chunk))
        out[own] = 2 * a["x"][own]
    return {"out": out}


def _fill_segments(a: Arrays, _: Values) -> Arrays:
    out, offsets = a["out"].copy(), a["offsets"]
    for e, (start, end) in enumerate(pairwise(offsets)):
        out[max(start, 0) : max(end, 0)] = e
    return {"out": out}


def _scatter_by_rank(a: Arrays, _: Values) -> Arrays:
    out, keys = a["out"].copy(), a["keys"]
    buckets = np.arange(len(keys)) // 16 * 4 + keys
    places = a["base"][buckets] + a["ranks"]
    inside = (places >= 0) & (places < len(out))
    out[places[inside]] = np.flatnonzero(inside)
    return {"out": out}


def _fill_sequences(a: Arrays, _: Values) -> Arrays:
    out = a["out"].copy()
    for b, (start, length) in enumerate(zip(a["starts"], a["lengths"], strict=False)):
        out[start : start + length] = b
    return {"out": out}


def _add_bias_by_group(a: Arrays, v: Values) -> Arrays:
    """Groups lie behind each other; rows behind the last one are in none."""
    y, first = a["y"].copy(), 0
    for size in a["sizes"].tolist():
        rows = slice(first, first + max(size, 0))
        y[rows] = a["x"][rows] + np.tile(a["biases"][v["chosen"]], 2)
        first += size
    return {"y": y}


def _fill_shares(a: Arrays, _: Values) -> Arrays:
    out, counts = a["out"].copy(), a["counts"]
    for e, count in enumerate(counts):
        start = counts[: min(e, 3)].sum()
        out[start : start + count] = e
    return {"out": out}


def _write_tokens(a: Arrays, _: Values) -> Arrays:
    out, tokens = a["out"].copy(), a["tokens"]
    known = (tokens >= 0) & (tokens < len(out))
    out[tokens[known]] = np.flatnonzero(known)
    return {"out": out}


def _write_tokens_of_two(a: Arrays, v: Values) -> Arrays:
    return _write_tokens({**a, "tokens": a["tokens"] // 2}, v)


def _write_named_tokens(a: Arrays, v: Values) -> Arrays:
    return _write_tokens({**a, "tokens": np.where(a["tokens"] == -1, -1, a["tokens"] + 1)}, v)


def _pick_labelled(a: Arrays, v: Values) -> Arrays:
    labels = a["labels"]
    kept = labels != v["ignored"]
    return {"out": np.where(kept, a["x"][np.arange(len(labels)), np.where(kept, labels, 0)], 0)}


def _clear_pages(a: Arrays, _: Values) -> Arrays:
    pages = a["pages"].copy()
    for b, row in enumerate(a["table"]):
        pages[row[row >= 0]] = b
    return {"pages": pages}


def _write_far_apart(a: Arrays, _: Values) -> Arrays:
    out, places = a["out"].copy(), a["places"].astype(np.int64) * 8192
    known = places < len(out)
    out[places[known]] = np.flatnonzero(known)
    return {"out": out}


def _append_to_page(a: Arrays, v: Values) -> Arrays:
    pages = a["pages"].copy()
    pages[a["table"], v["slot"]] = a["new"]
    return {"pages": pages}


def _where_eight_fit(a: Arrays, v: Values) -> Arrays:
    out, start = a["out"].copy(), int(v["start"])
    if 0 <= start <= out.shape[1] - 8:
        out[:, start] = np.arange(len(out))
    return {"out": out}


def _append_at_positions(a: Arrays, _: Values) -> Arrays:
    pages, (page, slot) = a["pages"].copy(), np.divmod(a["positions"], 16)
    pages[a["table"][np.arange(len(page)), page], slot] = a["new"]
    return {"pages": pages}


def _scale_by_expert(a: Arrays, _: Values) -> Arrays:
    out, tokens = a["out"].copy(), a["tokens"]
    known = (tokens >= 0) & (tokens < len(out))
    weights = np.repeat(a["weights"][a["experts"]], 4, axis=0)
    out[tokens[known]] = a["x"][tokens[known]] * weights[known]
    return {"out": out}


def _scatter_through_two(a: Arrays, _: Values) -> Arrays:
    out, first, second = a["out"].copy(), a["first"], a["second"]
    for lane, number in enumerate(first):
        place = second[number] if 0 <= number < len(second) else -1
        if 0 <= place < len(out):
            out[place] = lane
    return {"out": out}


def _write_in_ring(a: Arrays, _: Values) -> Arrays:
    heads, out = a["heads"].copy(), a["out"].copy()
    for block in range(len(heads)):
        for k in range(40):
            out[16 * block + heads[block]] = k
            heads[block] = (heads[block] + 1) % 16
    return {"heads": heads, "out": out}


def _number_by_kind(a: Arrays, _: Values) -> Arrays:
    """The counters hold 0 at first, or are set to it."""
    counts, out = np.zeros_like(a["counts"]), a["out"].copy()
    for place, kind in enumerate(a["kinds"]):
        block = place // 32
        out[32 * block + counts[8 * block + kind]] = place % 32
        counts[8 * block + kind] += 1
    return {"counts": counts, "out": out}


def _write_by_eighths(a: Arrays, _: Values) -> Arrays:
    out = a["out"].copy()
    out.reshape(-1, 8)[:, :7] = np.arange(7)
    return {"counts": np.full_like(a["counts"], 7 * 2**28), "out": out}


def _sum_prefixes(a: Arrays, _: Values) -> Arrays:
    kept = np.arange(a["x"].shape[1]) < 32 * a["lengths"][:, None]
    return {"out": np.where(kept, a["x"], 0).sum(axis=1)}


def _scatter_in_parts(a: Arrays, v: Values) -> Arrays:
    out, rows = a["out"].copy(), np.arange(len(a["places"]))[:, None]
    out[rows * v["size"] + a["places"]] = rows
    return {"out": out}


def _mark_slots(a: Arrays, _: Values) -> Arrays:
    out = a["out"].copy()
    (taken,) = np.nonzero(a["slots"] < len(out))
    out[a["slots"][taken]] = taken
    return {"out": out}


def _scatter_unchecked(a: Arrays, _: Values) -> Arrays:
    out = a["out"].copy()
    out[a["places"]] = a["x"]
    return {"out": out}


def _fill_both_then_read(a: Arrays, _: Values) -> Arrays:
    blocks = np.arange(len(a["out"]))
    return {"words": np.stack([blocks, np.full_like(blocks, 3)], axis=1).reshape(-1), "out": blocks}


def _own_number(name: str) -> Reference:
    return lambda a, v: {name: np.arange(len(a[name]))}


def _sum_by_last(a: Arrays, _: Values) -> Arrays:
    parts = a["x"].reshape(-1, 64).sum(axis=1, dtype=np.int32)
    return {"parts": parts, "counter": np.array([len(parts)]), "out": parts.sum(dtype=np.int32, keepdims=True)}


def _sum_rows_by_last(a: Arrays, _: Values) -> Arrays:
    parts = a["x"].reshape(len(a["x"]), -1, 64).sum(axis=2, dtype=np.int32)
    return {"parts": parts, "counters": np.full(len(parts), parts.shape[1]), "out": parts.sum(axis=1, dtype=np.int32)}


def _hand_over_in_two_steps(a: Arrays, _: Values) -> Arrays:
    first, second = a["x"][:32], a["x"][32:]
    out = np.resize(first + second, len(a["out"]))
    return {"first": first, "second": second, "flag": np.array([2]), "out": out}


def _add_and_keep_last(a: Arrays, _: Values) -> Arrays:
    blocks = len(a["x"]) // 32
    return {"total": a["total"] + 3 * a["x"].sum(), "rounds_done": a["rounds_done"] + 3 * blocks}


def _fill_by_twos(a: Arrays, _: Values) -> Arrays:
    tile = np.arange(len(a["out"])) // 32
    return {"out": tile, "queue": np.array([2 * (tile[-1] // 2 + 1 + 8)])}


def _fill_share(a: Arrays, _: Values) -> Arrays:
    tile = np.arange(len(a["out"])) // 32
    return {"out": tile, "queue": np.array([4 * (tile[-1] // 4 + 1)])}


def _append_entries(a: Arrays, _: Values) -> Arrays:
    end, place = a["lengths"].sum(), np.arange(len(a["out"]))
    return {"out": np.where(place < end, place, a["out"]), "end": np.array([end])}


def _add_and_count(a: Arrays, _: Values) -> Arrays:
    return {"total": a["total"] + a["x"].sum(), "turn": np.array([len(a["x"]) // 32])}


def _sum_by_pairs(a: Arrays, _: Values) -> Arrays:
    parts = a["x"].reshape(-1, 32).sum(axis=1)
    pairs, leaves = parts.reshape(-1, 2).sum(axis=1), np.full_like(a["leaves"], 2)
    return {"parts": parts, "pairs": pairs, "leaves": leaves, "root": np.array([len(pairs)]), "out": [parts.sum()]}


def _sum_behind_producers(a: Arrays, _: Values) -> Arrays:
    parts = a["x"].reshape(-1, 32).sum(axis=1)
    return {"parts": parts, "done": np.array([len(parts)]), "out": np.full_like(a["out"], parts.sum())}


def _sum_behind_all_bits(a: Arrays, _: Values) -> Arrays:
    parts = a["x"].reshape(-1, 32).sum(axis=1)
    return {"parts": parts, "bits": np.array([15]), "out": np.full_like(a["out"], parts.sum())}


def _look_back_by_state(a: Arrays, _: Values) -> Arrays:
    sums = a["x"].reshape(-1, 32).sum(axis=1, dtype=np.int32)
    return {"sums": sums, "prefixes": sums.cumsum(dtype=np.int32), "states": np.full_like(sums, 2)}


def _sum_by_second_to_come(a: Arrays, _: Values) -> Arrays:
    parts = a["x"].reshape(-1, 32).sum(axis=1)
    return {"parts": parts, "met": np.ones_like(a["met"]), "out": parts.reshape(-1, 2).sum(axis=1)}


def _fill_by_claim(a: Arrays, _: Values) -> Arrays:
    pairs = len(a["out"])
    return {"claims": np.ones_like(a["claims"]), "out": a["x"].reshape(-1, 32).sum(axis=1)[:pairs]}


def _look_back_by_status(a: Arrays, _: Values) -> Arrays:
    sums = a["x"].reshape(-1, 32).sum(axis=1, dtype=np.int32)
    return {"aggregates": sums, "prefixes": sums.cumsum(dtype=np.int32), "status": np.full_like(sums, 2)}


def _served(a: Arrays, _: Values) -> Arrays:
    blocks = np.array([len(a["x"]) // 32])
    return {"total": a["total"] + a["x"].sum(), "tickets": blocks, "served": blocks}


def _fill_by_two_counters(a: Arrays, _: Values) -> Arrays:
    tiles = len(a["out"]) // 64
    return {"out": np.arange(len(a["out"])) // 128, "queue": np.full(2, tiles // 2)}


def _add_rows_in_turn(a: Arrays, _: Values) -> Arrays:
    parts = a["x"].shape[1] // 32
    return {"totals": a["totals"] + a["x"].sum(axis=1), "turns": np.full(len(a["x"]), parts)}


def _look_back(a: Arrays, _: Values) -> Arrays:
    sums = a["x"].reshape(-1, 32).sum(axis=1, dtype=np.int32).cumsum(dtype=np.int32)
    return {"sums": sums, "ready": np.ones_like(sums)}


def _hand_over(a: Arrays, _: Values) -> Arrays:
    return {"data": a["x"], "flag": np.ones(1), "out": np.resize(a["x"], len(a["out"]))}


def _by_ticket(drawn_beyond: int) -> Reference:
    """``drawn_beyond``: tickets that are drawn and find no tile."""

    def reference(a: Arrays, _: Values) -> Arrays:
        tile = np.arange(len(a["out"])) // 64
        return {"out": tile, "queue": np.array([tile[-1] + 1 + drawn_beyond])}

    return reference


def _store_named_rows(a: Arrays, _: Values) -> Arrays:
    out = a["out"].copy()
    out[a["numbers"]] = a["x"]
    return {"out": out}


def _pack_two(a: Arrays, _: Values) -> Arrays:
    return {"packed": np.concatenate([a["q"], a["k"]], axis=1)}


def _add_next(a: Arrays, _: Values) -> Arrays:
    return {"out": a["x"] + np.append(a["x"][1:], 0)}


def _fill_rows_of_32(a: Arrays, _: Values) -> Arrays:
    out = a["out"].copy()
    out.reshape(-1, 32)[:, :8] = 1
    return {"out": out}


def _running_states(a: Arrays, _: Values) -> Arrays:
    out = np.zeros_like(a["out"])
    for step in range(out.shape[1]):
        out[:, step] = a["x"][:, step] + (0.5 * out[:, step - 1] if step else 0)
    return {"out": out}


REFERENCES: Final[dict[str, Reference]] = {
    **RUST_REFERENCES,
    "add_after_looking": lambda a, v: {"total": a["total"] + a["x"].sum()},
    "add_and_count": _add_and_count,
    "add_and_keep_last": _add_and_keep_last,
    "add_by_owner": lambda a, v: {"total": a["total"] + a["x"].sum()},
    "add_by_permit": lambda a, v: {"total": a["total"] + a["x"].sum()},
    "add_from_turn_on": _add_and_count,
    "add_given_by_store": lambda a, v: {"total": a["total"] + a["x"].sum()},
    "add_hand_over_hand": lambda a, v: {"totals": a["totals"] + a["x"].sum()},
    "add_vectors": lambda a, v: {"c": a["a"] + a["b"]},
    "append_entries": _append_entries,
    "attention_of_head": _attention_of_head,
    "combine_within_capacity": _rows_within_capacity,
    "first_row": lambda a, v: {"out": np.pad(a["x"][:128], (0, max(128 - len(a["x"]), 0)))},
    "fill_by_claim": _fill_by_claim,
    "fill_by_twos": _fill_by_twos,
    "fill_within_some_tries": lambda a, v: {"table": np.full_like(a["table"], 7)},
    "read_behind_third": lambda a, v: {
        "data": a["x"],
        "first": np.array([1]),
        "second": np.array([1]),
        "out": np.concatenate([a["out"][:64], np.tile(a["x"], len(a["out"]) // 32 - 2)]),
    },
    "read_behind_leader": lambda a, v: {
        "data": a["x"],
        "arrived": np.array([3]),
        "go": np.array([1]),
        "out": np.concatenate([a["out"][:128], *(a["x"].reshape(3, 32)[i % 3] for i in range(4, len(a["out"]) // 32))]),
    },
    "fill_if_free": lambda a, v: {"table": np.full_like(a["table"], 7)},
    "fill_share": _fill_share,
    "fill_within_four_tries": lambda a, v: {"table": np.full_like(a["table"], 7)},
    "double_chunks": _double_chunks,
    "gather_rows": _gather_rows,
    "look_back_by_state": _look_back_by_state,
    "mean_of_three": _mean_of_three,
    "round_in_each_block": lambda a, v: {"out": (a["x"].astype("f4") + np.float32(3e7)) - np.float32(3e7)},
    "product": lambda a, v: {"c": a["a"] @ a["b"]},
    "product_in_parts": lambda a, v: {"c": a["c"] + a["a"] @ a["b"]},
    "rms_norm_rows": _rms_norm_rows,
    "softmax_rows": _softmax_rows,
    "sum_behind_all_bits": _sum_behind_all_bits,
    "sum_behind_producers": _sum_behind_producers,
    "sum_by_pairs": _sum_by_pairs,
    "sum_by_second_to_come": _sum_by_second_to_come,
    "sum_parts_by_tree": _sum_by_pairs,
    "sum_vector": lambda a, v: {"sum": a["sum"] + a["x"].sum()},
    "transposed": lambda a, v: {"out": a["in_"].T},
    "add_next": _add_next,
    "add_to_sum": lambda a, v: {"total": np.append(a["total"][:1] + a["x"].sum(dtype=np.int32), a["total"][1:])},
    "clamp": _relu_into,
    "copy_lanes_inside": _copy,
    "double_tiles_there_are": lambda a, v: {"out": 2 * a["x"]},
    "fill_rows_of_32": _fill_rows_of_32,
    "fill_singly": lambda a, v: {"out": np.arange(len(a["out"])) % 64},
    "keep_all": _copy,
    "gradient_of_all": lambda a, v: {
        "grad": np.where(np.arange(len(a["x"]))[:, None] < v["T"], 2 * a["x"], 0.0),
    },
    "through_scratch": lambda a, v: {"scratch": 2 * a["x"], "out": 2 * a["x"]},
    "sum_of_others": lambda a, v: {
        "parts": np.array([a["x"][128 * i : 128 * i + 128].sum() for i in range(len(a["parts"]))]),
        "count": np.array([len(a["parts"])]),
        "out": a["x"].sum(keepdims=True),
    },
    "double_all": lambda a, v: {"out": 2 * a["x"]},
    "add_to_zero": lambda a, v: {"total": a["x"].sum(axis=0)},
    "share_with_those_before": lambda a, v: {"out": v["work"] // (np.arange(len(a["out"])) + 1)},
    "square": lambda a, v: {"out": a["x"] ** 2},
    "add_bias": lambda a, v: {"out": a["x"] + a["bias"]},
    "add_gradient": _add_gradient,
    "add_gradient_plainly": _add_gradient,
    "add_in_turn": lambda a, v: {"total": a["total"] + a["x"].sum(), "turn": np.array([len(a["x"]) // 32])},
    "add_locked": lambda a, v: {"total": a["total"] + a["x"].sum()},
    "add_locked_by_exchange": lambda a, v: {"total": a["total"] + a["x"].sum()},
    "add_locked_while_held": lambda a, v: {"total": a["total"] + a["x"].sum()},
    "add_one": lambda a, v: {"out": a["x"] + 1},
    "mark_chosen": lambda a, v: {"out": np.append([v["n"]], a["out"][1:])},
    "add_optional_bias": _add_optional_bias,
    "add_pair": lambda a, v: {"out": a["pair[0]"] + a["pair[1]"]},
    "add_rows_in_turn": _add_rows_in_turn,
    "add_rows_locked": lambda a, v: {"totals": a["totals"] + a["x"].sum()},
    "add_served": _served,
    "add_rows": lambda a, v: {"out": a["out"] + a["x"].sum(axis=0, dtype=np.int32)},
    "append": _append,
    "append_at": _append_at,
    "append_at_positions": _append_at_positions,
    "append_to_page": _append_to_page,
    "axpy": lambda a, v: {"y": v["alpha"] * a["x"] + a["y"]},
    "batched_matmul": _product,
    "bytes_side_by_side": lambda a, v: {"words": np.full_like(a["words"], 0x07070707)},
    "clear_even_halves": _clear_even_halves,
    "clear_pages": _clear_pages,
    "constant_step": _copy,
    "copy_2d": _copy,
    "copy_and_mark": lambda a, v: {"out": a["x"], "marks": 4 * np.arange(len(a["marks"]))},
    "copy_in_chunks": _copy,
    "copy_previous_if_any": _copy_previous,
    "copy_rounded_shares": _copy,
    "copy_rows": _first_columns(512, lambda x: x),
    "copy_shares": _copy,
    "copy_shifted_tail": _copy,
    "copy_skipping": _copy,
    "count_in_variable": _own_number("out"),
    "double": lambda a, v: {"out": 2 * a["x"]},
    "double_arrays": lambda a, v: _listed(a, "xs", lambda i, x: 2 * x),
    "double_in_each_row": lambda a, v: {"out": 2 * a["x"]},
    "double_in_halves": lambda a, v: {"out": 2 * a["x"]},
    "double_in_halves_that_are_there": lambda a, v: {"out": 2 * a["x"]},
    "keep_last_tile_by_array": lambda a, v: {"out": np.concatenate([a["out"][:-16], a["x"][-16:]])},
    "norm_backward": _norm_backward,
    "put_back_without_padding": _put_back,
    "turn_keys_by_turned_index": lambda a, v: {"out": a["keys"].T},
    "write_parts": _parts,
    "double_asserted": lambda a, v: {"out": 2 * a["x"]},
    "double_rows": lambda a, v: _listed(a, "xs", lambda i, x: 2 * x),
    "embedding": _embedding,
    "exchange": _to_tiles(lambda i, n, v: i ^ 1),
    "fifth_clears_first_tile": _copy,
    "fill": _fill,
    "fill_and_step_before": lambda a, v: {"out": np.ones_like(a["out"])},
    "fill_both_then_read": _fill_both_then_read,
    "fill_by_byte_counter": _clear_first_half,
    "fill_by_one_number": _fill_by_one_number,
    "fill_by_queue": _by_ticket(8),
    "fill_by_signed_byte": _block_numbers(16),
    "fill_by_ticket": _by_ticket(0),
    "fill_by_two_counters": _fill_by_two_counters,
    "fill_by_unsigned_byte": _block_numbers(16),
    "fill_chunk": _fill_chunk,
    "copy_along_z_curve": _copy,
    "copy_own_rows": _copy,
    "swizzle_columns": _swizzle_columns,
    "copy_between_lists": lambda a, v: _listed(a, "ys", lambda i, y: _first(64, y, a[f"xs[{i}]"])),
    "fill_own_array": lambda a, v: _listed(a, "xs", lambda i, x: _first(64, x, i)),
    "fill_own_tile_of_all": lambda a, v: _listed(a, "xs", lambda i, x: np.full(512, i)),
    "fill_tiles_of_arrays": lambda a, v: _listed(a, "xs", lambda i, x: np.full(512, i)),
    "mark_own_array": lambda a, v: _listed(a, "xs", lambda i, x: _first(16, x, 1)),
    "fill_first_of_list": lambda a, v: {"xs[0]": np.arange(512) // 64},
    "fill_masked": lambda a, v: {"out": np.arange(len(a["out"])) // 96},
    "fill_own_row": lambda a, v: {"out": np.broadcast_to(np.arange(len(a["out"]))[:, None], a["out"].shape)},
    "fill_range": _fill_range,
    "fill_row": lambda a, v: {"out": np.full_like(a["out"], v["value"])},
    "fill_row_segments": _fill_segments,
    "fill_row_slices": _own_row(64, lambda v: 0),
    "fill_row_slices_64": _own_row(64, lambda v: 0),
    "fill_rows": _fill_first_128_of_rows,
    "fill_rows_spilling": _fill_first_128_of_rows,
    "fill_segments": _fill_segments,
    "fill_segments_by_whole_tiles": _fill_segments,
    "fill_tiles_in_turn": _fill_segments,
    "scatter_by_rank": _scatter_by_rank,
    "scatter_inside": _scatter_by_rank,
    "fill_rows_of_list": _rows_of_list,
    "scatter_rows_of_list": _rows_of_list,
    "place_rows": _place_rows,
    "fill_sequences": _fill_sequences,
    "fill_sequences_by_slices": _fill_sequences,
    "add_bias_by_group": _add_bias_by_group,
    "fill_shares": _fill_shares,
    "fill_symmetric": _fill_symmetric,
    "fill_then_clear_rest": _fill_then_clear_rest,
    "fill_then_double": lambda a, v: {"out": np.arange(len(a["out"])) // 128 * 2},
    "first_writes_total": lambda a, v: {"out": a["x"], "total": np.full(1, -(-len(a["x"]) // 128))},
    "flash_attention": _attention,
    "fold_pairs": _fold_pairs,
    "gather_unchecked": lambda a, v: {"out": a["x"][a["places"]]},
    "exchange_by_key": _to_tiles(lambda i, n, v: i ^ v["key"]),
    "rotate_by": _to_tiles(lambda i, n, v: i >> v["bits"] | i << 4 - v["bits"] & 15),
    "gray_code": _to_tiles(lambda i, n, v: i ^ i >> 1),
    "hand_over": _hand_over,
    "hand_over_in_two_steps": _hand_over_in_two_steps,
    "hand_over_across_system": _hand_over,
    "header_and_lines": _header_and_lines,
    "histogram": _histogram,
    "large_copy": _copy,
    "largest": lambda a, v: {"out": np.maximum(a["out"], a["x"].max())},
    "last_tiles": _last_tiles,
    "last_tiles_by_truncated_size": _last_tiles,
    "layer_norm": _layer_norm,
    "load_at_remainder": _load_at_remainder,
    "look_back": _look_back,
    "look_back_by_status": _look_back_by_status,
    "look_up_bytes": lambda a, v: {"out": a["x"][a["positions"]]},
    "mark_own_clamped": _mark_own_clamped,
    "move_by_float": _move_by_float,
    "double_by_place": _double_first_of_rows,
    "double_by_wide_place": _double_first_of_rows,
    "largest_of_row": _largest_of_rows,
    "largest_of_row_and_more": _largest_of_rows,
    "product_padded": _product,
    "product_padded_on_one_side": _product,
    "product_unpadded": _product,
    "row_largest_magnitude": _largest_magnitude_of_rows,
    "row_largest_masked": _largest_of_rows,
    "row_largest_padded": _largest_of_rows,
    "row_largest_unpadded": _largest_of_rows,
    "row_last_of_largest": _last_of_largest_of_rows,
    "row_sum_from_zero": _sum_of_rows,
    "row_sum_of_positive": lambda a, v: {"out": np.maximum(a["x"], 0).sum(axis=1)},
    "row_sum_times_mask": lambda a, v: {"out": a["x"].sum(axis=1)},
    "store_if_any": _one_where_any,
    "store_if_any_unpadded": _one_where_any,
    "matmul": _product,
    "matmul_swizzled": _product,
    "move_or_double": lambda a, v: {"moved": a["x"], "out": 2 * a["x"]},
    "negate_first_tiles": _negate_first_tiles,
    "negate_rows": _first_columns(128, np.negative),
    "own_clipped": lambda a, v: {"out": np.arange(len(a["out"])) // 128},
    "own_moved_back": lambda a, v: {"out": np.arange(len(a["out"])) // 128},
    "own_totals_in_block_scope": _own_totals,
    "own_with_step": lambda a, v: {"out": np.arange(len(a["out"])) // 128 % v["step"]},
    "pack": _pack,
    "pack_by_parts": _pack,
    "pack_by_parts_unmasked": _pack,
    "pack_by_side": _pack_two,
    "pack_two": _pack_two,
    "permute_heads": lambda a, v: {"dst": a["src"].swapaxes(1, 2)},
    "persistent_matmul": _product,
    "persistent_softmax": _softmax,
    "pick_labelled": _pick_labelled,
    "powers": _to_tiles(lambda i, n, v: 1 << i),
    "publish_from_first": _own_number("out"),
    "refine": lambda a, v: {"out": np.arange(len(a["out"])) // 8 % 2},
    "relaxed_pairs": lambda a, v: {"words": np.arange(len(a["words"])) % 32},
    "relaxed_twice": _own_number("words"),
    "relu": lambda a, v: {"x": np.maximum(a["x"], 0)},
    "relu_into": _relu_into,
    "reverse_by_full_size": _reverse(1024),
    "reverse_by_rounded_size": _reverse(256),
    "reverse_by_truncated_size": _reverse(1024),
    "reverse_in_scratch": lambda a, v: {"out": a["x"].reshape(-1, 64)[:, ::-1].reshape(-1)},
    "reverse_rows": lambda a, v: {"out": a["x"][:, ::-1]},
    "reverse_tiles": _reverse_tiles,
    "ring_of_three": _last_round(3),
    "swapped_buffers": _last_round(2),
    "cursor": _last_round(0),
    "running_states": _running_states,
    "add_columns": lambda a, v: {"out": a["out"] + a["x"].sum(axis=1)},
    "number_tiles": _number_tiles,
    "first_column_writes": lambda a, v: {"out": np.ones_like(a["out"])},
    "clear_unless_full": _clear_below,
    "write_rows_of_used_experts": _rows_of_used_experts,
    "write_spaced": _write_spaced,
    "double_one_by_one": lambda a, v: {"x": a["x"] * 2},
    "copy_second_half": lambda a, v: {"out": a["x"][len(a["out"]) :]},
    "double_by_stride": lambda a, v: {"x": a["x"] * 2},
    "fill_by_bytes": lambda a, v: {"out": np.arange(len(a["out"])) // 16 % 8},
    "rope": _rope,
    "rotate": _to_tiles(lambda i, n, v: (i - v["distance"]) % n),
    "rotate_bits": _to_tiles(lambda i, n, v: i >> 1 | (i & 1) << 3),
    "running_sum": _running_sum,
    "scale_by_expert": _scale_by_expert,
    "scale_columns": lambda a, v: {"out": a["x"] * a["scale"]},
    "scatter_elements": _scatter,
    "scatter_in_parts": _scatter_in_parts,
    "scatter_through_two": _scatter_through_two,
    "mark_slots": _mark_slots,
    "scatter_unchecked": _scatter_unchecked,
    "scratch_row": lambda a, v: {"scratch": a["x"], "out": a["x"][:, ::-1]},
    "turn_three_axes": lambda a, v: {
        "out": a["x"].reshape(v["na"], v["nb"], v["nc"], 64).transpose(2, 1, 0, 3).reshape(-1, 64)
    },
    "shuffle_tiles": _to_tiles(lambda i, n, v: (5 * (5 * i + 3) + 3) % n),
    "shuffle_by_table": _to_tiles(lambda i, n, v: (5 * (5 * i + 3) + 3) % n),
    "set_flag": lambda a, v: {"found": np.full(1, 7)},
    "shift_and_back": _copy,
    "silu_and_mul": _silu_and_mul,
    "sliding_maximum": _sliding_maximum,
    "smooth": _smooth,
    "softmax": _softmax,
    "split_k": lambda a, v: {"C": a["C"] + a["A"] @ a["B"]},
    "store_at_largest": _block_numbers(64),
    "store_named_rows": _store_named_rows,
    "store_own_rows": _copy,
    "store_twice": _copy,
    "sum_all": _sum_all,
    "sum_by_last": _sum_by_last,
    "sum_and_exchange": lambda a, v: {**_sum_by_last(a, v), "counter": np.zeros(1)},
    "sum_and_put_back": lambda a, v: {**_sum_by_last(a, v), "counter": np.zeros(1)},
    "put_own_back": lambda a, v: {"out": a["x"].reshape(-1, 64).sum(axis=1), "counters": np.zeros_like(a["counters"])},
    "sum_rows_by_last": _sum_rows_by_last,
    "sum_past_and_append": _sum_past_and_append,
    "number_by_kind": _number_by_kind,
    "number_from_zero": _number_by_kind,
    "write_by_eighths": _write_by_eighths,
    "write_in_ring": _write_in_ring,
    "sum_prefixes": _sum_prefixes,
    "sum_rows_by_wrong_axis": lambda a, v: {"out": a["x"].sum(axis=1)},
    "swap": _swap,
    "total": lambda a, v: {"out": a["out"] + a["x"].sum()},
    "total_device_and_system": lambda a, v: {"out": a["out"] + a["x"].sum()},
    "transpose": lambda a, v: {"out": a["x"].T},
    "vector_add": lambda a, v: {"out": a["x"] + a["y"]},
    "word_and_its_last_byte": lambda a, v: {"words": np.arange(len(a["words"])) + (1 << 24)},
    "word_by_address": _own_number("words"),
    "write_at": _write_at,
    "write_at_distance": _own_row(64, lambda v: abs(v["distance"])),
    "write_far_apart": _write_far_apart,
    "write_groups": _write_groups,
    "write_if_below_unsigned": _own_row(64, lambda v: v["position"]),
    "write_if_end_inside": _where_eight_fit,
    "write_if_start_inside": _where_eight_fit,
    "write_named_tokens": _write_named_tokens,
    "write_first": _write_first,
    "write_owned": _write_owned,
    "write_tile_of_groups": _write_tile_of_groups,
    "write_tokens": _write_tokens,
    "write_tokens_of_two": _write_tokens_of_two,
}
"""By kernel name: launches of one kernel compute the same."""

WITHOUT_REFERENCE: Final[dict[str, str]] = {
    **{
        f"determined/combined_by_hand.py::{kernel}[any-height]": "has no one result"
        for kernel in ("row_difference", "row_last_of_largest_from_zero", "row_sum_from_one")
    },
    "integers/list_sizes.py::last_tiles[beyond-31-bits]": "an array of the list has 2 GiB",
    "protocols/atomic_waits.py::rotate_behind_barrier[two-to-eight-blocks]": "blocks that run one by one never meet",
    "protocols/barriers_again.py::rotate_by_generation[two-to-eight-blocks]": "blocks that run one by one never meet",
    "protocols/barriers_again.py::rotate_in_place[two-to-eight-blocks]": "blocks that run one by one never meet",
    "protocols/barriers_again.py::rotate_rounds[two-to-eight-blocks]": "blocks that run one by one never meet",
    "protocols/flag_bits.py::rotate_by_bits[two-to-eight-blocks]": "blocks that run one by one never meet",
    "protocols/grid_barrier.py::rotate_behind_barrier[two-to-eight-blocks]": "blocks that run one by one never meet",
    "protocols/turns.py::add_from_turn_on[2-to-8-blocks]": "blocks that run one by one never meet",
    "protocols/grid_barrier.py::rotate_twice[two-to-eight-blocks]": "blocks that run one by one never meet",
}
"""Proved launches (label ids) that nothing is computed for, each with the reason."""


def _corners(x: int, y: int) -> tuple[tuple[int, int, int], ...]:
    return tuple((i, j, 0) for i in (0, x - 1) for j in (0, y - 1))


NUMBERS: Final[dict[str, Numbers]] = {
    **RUST_NUMBERS,
    "data/chunk_table.py::double_chunks[chunks-once]": Numbers({"N": 9, "M": 8, "T": 150}),
    "data/expert_buffers.py::combine_within_capacity[in-segments]": Numbers({"E": 5, "T": 40}),
    "data/used_experts.py::write_rows_of_used_experts[distinct-where]": Numbers({"E": 7, "R": 20}),
    "tile_cpp/heads.cu::attention_of_head[any-size]": Numbers({"queries": 70, "keys": 100, "scale": 0.125}),
    "tile_cpp/matrices.cu::product[any-size]": Numbers({"m": 40, "n": 70, "k": 50}),
    "tile_cpp/matrices.cu::product_in_parts[any-size]": Numbers({"m": 40, "n": 70, "k": 150}),
    "tile_cpp/matrices.cu::transposed[any-size]": Numbers({"rows": 40, "columns": 70}),
    "tile_cpp/rows.cu::rms_norm_rows[any-size]": Numbers({"M": 3, "n": 300, "eps": 0.125}),
    "tile_cpp/rows.cu::softmax_rows[any-size]": Numbers({"M": 3, "columns": 200, "in_stride": 210, "out_stride": 220}),
    "tile_cpp/vectors.cu::add_vectors[any-size]": Numbers({"n": 300}),
    "tile_cpp/vectors.cu::gather_rows[any-size]": Numbers({"B": 5, "rows": 7, "columns": 200}),
    "tile_cpp/vectors.cu::mean_of_three[any-size]": Numbers({"n": 300}),
    "tile_cpp/vectors.cu::sum_vector[any-size]": Numbers({"n": 300}),
    **{
        f"determined/combined_by_hand.py::{kernel}[any-height]": Numbers({"M": 7})
        for kernel in ("row_largest_magnitude", "row_last_of_largest", "row_sum_from_zero")
    },
    "determined/first_flag.py::store_if_any[up-to-64-flags]": Numbers({"M": 9, "N": 50}),
    "determined/first_flag.py::store_if_any_unpadded[up-to-64-flags]": Numbers({"M": 9, "N": 64}),
    "determined/product_tail.py::product_padded[any-depth]": Numbers({"M": 40, "N": 50, "K": 23}),
    "determined/product_tail.py::product_padded_on_one_side[any-depth]": Numbers({"M": 40, "N": 50, "K": 32}),
    "determined/product_tail.py::product_unpadded[any-depth]": Numbers({"M": 40, "N": 50, "K": 32}),
    "determined/product_tail.py::product_unpadded[whole-tiles-deep]": Numbers({"M": 40, "N": 50, "K": 32}),
    "determined/row_largest.py::row_largest_masked[any-width]": Numbers({"M": 7, "N": 200}),
    "determined/row_largest.py::row_largest_padded[any-width]": Numbers({"M": 7, "N": 200}),
    "determined/row_largest.py::row_largest_unpadded[any-width]": Numbers({"M": 7, "N": 256}),
    "determined/row_largest.py::row_largest_unpadded[rows-as-wide-as-the-tile]": Numbers({"M": 7}),
    "determined/row_largest.py::row_sum_of_positive[any-width]": Numbers({"M": 7, "N": 200}),
    "determined/row_largest.py::row_sum_times_mask[any-width]": Numbers({"M": 7, "N": 256}),
    "determined/row_largest.py::row_sum_times_mask[rows-as-wide-as-the-tile]": Numbers(
        {}, blocks=((0, 0, 0), (5, 0, 0), (4095, 0, 0))
    ),
    "explained/tv304.py::double_by_place[rows-of-a-tile-or-more]": Numbers({"M": 5, "N": 70}),
    "explained/tv304.py::double_by_wide_place[rows-of-a-tile-or-more]": Numbers({"M": 5, "N": 70}),
    "explained/tv403.py::largest_of_row[up-to-256-columns]": Numbers({"M": 7, "N": 200}),
    "explained/tv403.py::largest_of_row_and_more[up-to-256-columns]": Numbers({"M": 7, "N": 256}),
    "explained/tv101.py::keep_all[any-size]": Numbers({"N": 700}),
    "explained/tv102.py::add_next[any-size]": Numbers({"N": 700}),
    "explained/tv103.py::add_to_sum[any-size]": Numbers({"N": 700, "R": 3}),
    "explained/tv201.py::clamp[told]": Numbers({"N": 700}),
    "explained/tv202.py::fill_singly[any-size]": Numbers({"N": 200}),
    "explained/tv301.py::double_tiles_there_are[one-block-more]": Numbers({"N": 700}),
    "explained/tv302.py::copy_lanes_inside[ragged]": Numbers({"N": 641}),
    "explained/tv303.py::square[whole-tiles]": Numbers({"N": 640}),
    "explained/tv401.py::fill_rows_of_32[any-size]": Numbers({"M": 5}),
    "explained/tv402.py::share_with_those_before[any-size]": Numbers({"M": 7, "work": 100}),
    "contract/padded_gradient.py::gradient_of_all[padded]": Numbers({"P": 40, "T": 21}),
    "contract/scratch_rows.py::through_scratch[any-size]": Numbers({"M": 3, "N": 200}),
    "contract/scratch_rows.py::sum_of_others[any-size]": Numbers({"N": 300, "P": 3}),
    "explained/tv711.py::double_all[rounded-up]": Numbers({"N": 300}),
    "explained/tv712.py::add_to_zero[any-size]": Numbers({"P": 3, "N": 200}),
    "contract/access_behind_flag.py::add_optional_bias[bias-if-used]": Numbers({"N": 700, "B": 700, "use_bias": 1}),
    "contract/access_behind_flag.py::add_optional_bias[no-bias]": Numbers({"N": 700, "use_bias": 0}),
    "contract/any_grid.py::add_one[any-grid]": Numbers({"N": 300}, grid=(3, 1, 1)),
    "contract/empty_rows.py::negate_rows[rows-may-be-empty]": Numbers({"M": 5, "N": 200}),
    "contract/fewer_blocks_than_tiles.py::negate_first_tiles[prefix]": Numbers({"N": 700}, grid=(3, 1, 1)),
    "contract/guarded_work.py::clear_unless_full[any-limit]": Numbers({"N": 150, "limit": 100}),
    "contract/read_axes.py::add_columns[any-grid]": Numbers({"M": 5, "N": 150}, grid=(5, 3, 1)),
    "contract/read_axes.py::number_tiles[any-grid]": Numbers({"M": 5, "N": 150}, grid=(5, 3, 1)),
    "contract/read_axes.py::first_column_writes[any-grid]": Numbers({"M": 5}, grid=(5, 3, 1)),
    "contract/row_spacing.py::write_spaced[rows-apart]": Numbers({"N": 70, "step": 20}),
    "contract/unchecked_position.py::write_at[position-inside]": Numbers({"B": 5, "S": 7, "position": 3}),
    "data/expert_shares.py::fill_shares[shares]": Numbers({"N": 150}),
    "data/expert_shares.py::fill_shares[shares-and-a-fourth-expert]": Numbers({"N": 150}),
    "data/groups_in_turns.py::add_bias_by_group[observed]": Numbers({"chosen": 3}),
    "data/groups.py::write_groups[injective-and-range]": Numbers({"N": 12, "P": 15}),
    "data/groups.py::write_tile_of_groups[injective-and-range]": Numbers({"N": 12, "P": 15}),
    "data/ignored_labels.py::pick_labelled[range-or-ignored]": Numbers({"M": 40, "N": 9, "ignored": -100}),
    "data/long_rows.py::place_rows[whole-rows]": Numbers({"R": 4, "N": 40_000}),
    "data/masked_blocks.py::write_first[one-of-all]": Numbers({"R": 5}),
    "data/own_counters.py::number_by_kind[from-zero]": Numbers({"B": 5}),
    "data/own_counters.py::number_from_zero[any-counts]": Numbers({"B": 5}),
    "data/own_counters.py::write_by_eighths[seven]": Numbers({"B": 5}),
    "data/own_counters.py::write_in_ring[starts-inside]": Numbers({"B": 5}),
    "data/own_pages.py::clear_pages[disjoint-rows]": Numbers({"B": 5, "P": 30}),
    "data/own_parts.py::scatter_in_parts[injective-and-range]": Numbers({"B": 4, "S": 40}),
    "data/owner_mask.py::write_owned[any-owners]": Numbers({"N": 150}),
    "data/packed_sequences.py::fill_sequences[segments]": Numbers({"B": 6, "N": 70}),
    "data/packed_sequences.py::fill_sequences_by_slices[segments]": Numbers({"B": 6, "N": 170}),
    "data/padded_tokens.py::write_tokens[injective-below-rows]": Numbers({"P": 48, "N": 30}),
    "data/padded_tokens.py::write_tokens_of_two[even-and-injective]": Numbers({"P": 48, "N": 60}),
    "data/padded_tokens.py::write_named_tokens[injective-but-for-none]": Numbers({"P": 48, "N": 30}),
    "data/pages.py::append_to_page[injective-and-range]": Numbers({"B": 5, "P": 9, "slot": 7}),
    "data/pages.py::append_at_positions[injective-and-ranges]": Numbers({"B": 4, "P": 40}),
    "data/row_lengths.py::sum_prefixes[range]": Numbers({"M": 6, "N": 160}),
    "data/running_count.py::fill_tiles_in_turn[whole-tiles]": Numbers({}),
    "data/routed_tokens.py::scatter_by_rank[ranks-and-buckets]": Numbers({"N": 70, "M": 60}),
    "data/routed_tokens.py::scatter_inside[buckets-inside]": Numbers({"N": 70, "M": 90}),
    "data/segments.py::fill_row_segments[nondecreasing-and-range]": Numbers({"E": 5, "M": 30}),
    "data/segments.py::fill_segments[nondecreasing]": Numbers({"E": 60, "N": 50}),
    "data/segments.py::fill_segments_by_whole_tiles[whole-tiles]": Numbers({"E": 7, "N": 256}),
    "data/sorted_tokens.py::scale_by_expert[injective-and-range]": Numbers({"N": 24, "T": 22, "E": 3}),
    "data/two_levels.py::scatter_through_two[both-injective]": Numbers({"N": 50, "M": 48, "P": 45}),
    "data/unchecked_places.py::gather_unchecked[range]": Numbers({"N": 24, "P": 40}),
    "data/padded_slots.py::mark_slots[no-row-for-padding]": Numbers({}),
    "data/unchecked_places.py::scatter_unchecked[injective-and-range]": Numbers({"N": 24, "P": 40}),
    "data/wrapped_places.py::write_far_apart[fits]": Numbers({"N": 20000}),
    "data/float_places.py::mark_own_clamped[any-values]": Numbers({"B": 5}),
    "data/float_places.py::move_by_float[any-scale]": Numbers({"B": 5, "scale": 2.75}),
    "twins/equal_stores.py::double_in_each_row[allowed]": Numbers({"N": 300, "M": 3}),
    "twins/equal_stores.py::copy_shifted_tail[allowed]": Numbers({}),
    "twins/equal_stores.py::round_in_each_block[allowed]": Numbers({"M": 3}),
    "twins/equal_stores.py::first_row[allowed]": Numbers({"N": 100, "M": 3}),
    "twins/named_strides.py::copy_own_rows[two-strides]": Numbers(
        {"B": 3, "M": 5, "xb": 400, "xm": 72, "sb": 64, "sm": 200}
    ),
    "twins/named_strides.py::fill_rows_of_list[row-stride]": Numbers({"L": 3, "ld": 70}),
    "twins/named_strides.py::scatter_rows_of_list[row-stride]": Numbers({"L": 3, "ld": 70}),
    "contract/every_array_of_list.py::double_arrays[whole-tiles]": Numbers({"L": 3, "n": 192}),
    "contract/every_array_of_list.py::double_rows[rows-of-a-tile]": Numbers({"L": 3, "m": 5, "n": 64, "ld": 68}),
    "twins/list_targets.py::fill_own_array[one-block-an-array]": Numbers({"L": 3}),
    "twins/list_targets.py::fill_tiles_of_arrays[every-tile]": Numbers({"L": 3}),
    "twins/list_targets.py::fill_own_tile_of_all[every-tile]": Numbers({"L": 3}),
    "twins/list_targets.py::copy_between_lists[one-block-an-array]": Numbers({"L": 3}),
    "twins/list_targets.py::mark_own_array[one-block-an-array]": Numbers({"L": 3}),
    "integers/bit_patterns.py::exchange[whole-pairs]": Numbers({"N": 512}),
    "integers/bit_patterns.py::gray_code[sixteen-tiles]": Numbers({}),
    "integers/bit_patterns.py::rotate_bits[sixteen-tiles]": Numbers({}),
    "integers/bit_patterns.py::rotate_by[up-to-four-bits]": Numbers({"bits": 3}),
    "integers/bit_patterns.py::exchange_by_key[four-bits]": Numbers({"key": 11}),
    "integers/bit_patterns.py::powers[eight-blocks]": Numbers({}),
    "integers/block_curves.py::copy_along_z_curve[eight-by-eight]": Numbers({}),
    "integers/block_curves.py::swizzle_columns[whole-groups-of-columns]": Numbers({"M": 70, "N": 128}),
    "integers/end_that_wraps.py::write_if_end_inside[below-the-last-integers]": Numbers({"M": 4, "N": 20, "start": 12}),
    "integers/end_that_wraps.py::write_if_start_inside[any-start]": Numbers({"M": 4, "N": 20, "start": 12}),
    "integers/floor_of_negative.py::rotate[any-distance]": Numbers({"N": 512, "distance": 5}),
    "integers/floor_of_negative.py::shift_and_back[any-size]": Numbers({"N": 700}),
    "integers/largest_of_wrapped.py::store_at_largest[up-to-two-blocks]": Numbers({"N": 100}),
    "integers/list_sizes.py::last_tiles[within-31-bits]": Numbers({"L": 3}),
    "integers/list_sizes.py::last_tiles_by_truncated_size[within-31-bits]": Numbers({"L": 3}),
    "integers/narrow_block_number.py::fill_by_unsigned_byte[up-to-256-tiles]": Numbers({"N": 4000}),
    "integers/narrow_block_number.py::fill_by_signed_byte[up-to-128-tiles]": Numbers({"N": 2000}),
    "integers/position_check.py::write_if_below_unsigned[any-position]": Numbers({"M": 4, "N": 256, "position": 2}),
    "integers/remainder_of_wrapped.py::load_at_remainder[thousand-tiles-to-read]": Numbers({"N": 700}),
    "integers/rounded_up_size.py::reverse_by_rounded_size[smaller-sizes]": Numbers({"N": 1024}),
    "integers/signed_extension.py::fill_and_step_before[any-size]": Numbers({"N": 3000}),
    "integers/slice_offset.py::fill_row_slices[up-to-32768-rows]": Numbers({"M": 3}),
    "integers/slice_offset.py::fill_row_slices_64[any-rows]": Numbers({"M": 3}),
    "integers/smallest_integer.py::write_at_distance[any-other]": Numbers({"M": 4, "N": 256, "distance": -2}),
    "integers/truncated_size.py::reverse_by_full_size[any-size]": Numbers({"N": 4096}),
    "integers/truncated_size.py::reverse_by_truncated_size[within-31-bits]": Numbers({"N": 4096}),
    "order/joined_tokens.tileirbc::fill_both_then_read[any-size]": Numbers({"N": 9}),
    "order/loop_carried.py::running_sum[whole-tiles]": Numbers({"M": 6, "N": 640}),
    "order/parallel_stores.py::fill_row[any-size]": Numbers({"M": 5, "N": 300, "value": 2.5}),
    "order/relaxed_stores.tileirbc::relaxed_twice[any-size]": Numbers({"N": 9}),
    "order/relaxed_stores.tileirbc::relaxed_pairs[any-size]": Numbers({"N": 3}),
    "order/same_array_twice.py::relu_into[compiler-told]": Numbers({"N": 700}),
    "order/scratch_row.py::scratch_row[any-rows]": Numbers({"M": 9}),
    "order/two_stores.py::store_twice[any-size]": Numbers({"N": 500}),
    "out_of_bounds/asserted_bound.py::double_asserted[one-block-for-each-tile]": Numbers({"N": 700}),
    "out_of_bounds/byte_counter.py::fill_by_byte_counter[128-lanes]": Numbers({}),
    "out_of_bounds/unsigned_positions.py::look_up_bytes[whole-table]": Numbers({"N": 384}),
    "out_of_bounds/upper_bound_only.py::copy_previous_if_any[any-size]": Numbers({"N": 700}),
    "out_of_bounds/wrong_axis_bound.py::sum_rows_by_wrong_axis[square]": Numbers({"N": 100}),
    "protocols/atomic_waits.py::add_in_turn[two-to-eight-blocks]": Numbers({"N": 160}),
    "protocols/atomic_waits.py::add_served[two-to-eight-blocks]": Numbers({"N": 160}),
    "protocols/atomic_waits.py::look_back[two-to-eight-blocks]": Numbers({"N": 160}),
    "protocols/try_locks.py::fill_if_free[eight-blocks]": Numbers({"N": 32}),
    "protocols/try_locks.py::fill_within_four_tries[eight-blocks]": Numbers({"N": 32}),
    "protocols/try_locks.py::fill_within_some_tries[eight-blocks]": Numbers({"tries": 3}),
    "protocols/passed_on.py::read_behind_third[three-to-eight-blocks]": Numbers({"N": 5}),
    "protocols/passed_on.py::read_behind_leader[five-to-eight-blocks]": Numbers({"N": 6}),
    "protocols/lock_words.py::add_by_owner[two-to-eight-blocks]": Numbers({"G": 5}),
    "protocols/lock_words.py::add_given_by_store[two-to-eight-blocks]": Numbers({"G": 5}),
    "protocols/lock_words.py::add_by_permit[one-permit]": Numbers({"G": 5}),
    "protocols/locks_in_loops.py::add_and_keep_last[two-to-eight-blocks]": Numbers({"G": 5}),
    "protocols/locks_in_loops.py::add_hand_over_hand[two-to-eight-blocks]": Numbers({"G": 5, "M": 3}),
    "protocols/locks_in_loops.py::add_after_looking[two-to-eight-blocks]": Numbers({"G": 5}),
    "protocols/tickets_by_many.py::fill_by_twos[eight-blocks]": Numbers({"N": 700}),
    "protocols/tickets_by_many.py::fill_share[one-block-for-four-tiles]": Numbers({"N": 700}),
    "protocols/tickets_by_many.py::append_entries[two-to-eight-blocks]": Numbers({"G": 5, "N": 20}),
    "protocols/turns_by_addition.py::add_and_count[two-to-eight-blocks]": Numbers({"G": 5}),
    "protocols/turns_by_addition.py::add_from_turn_on[two-to-eight-blocks]": Numbers({"G": 5}),
    "protocols/counter_tree.py::sum_by_pairs[up-to-eight-pairs]": Numbers({"H": 3}),
    "protocols/counter_tree.py::sum_parts_by_tree[up-to-eight-pairs]": Numbers({"H": 3}),
    "protocols/threshold.py::sum_behind_producers[six-producers-at-most]": Numbers({"P": 3, "C": 2}),
    "protocols/flag_bits.py::sum_behind_all_bits[four-producers]": Numbers({"C": 2}),
    "protocols/look_back_states.py::look_back_by_state[two-to-eight-blocks]": Numbers({"G": 5}),
    "protocols/meetings.py::sum_by_second_to_come[up-to-eight-pairs]": Numbers({"H": 3}),
    "protocols/meetings.py::fill_by_claim[up-to-eight-pairs]": Numbers({"H": 3}),
    "protocols/hand_over.py::hand_over[one-consumer-or-more]": Numbers({"C": 4}),
    "protocols/hand_over.py::hand_over_across_system[one-consumer-or-more]": Numbers({"C": 4}),
    "protocols/last_block.py::sum_by_last[up-to-16-blocks]": Numbers({"N": 640}),
    "protocols/lock.py::add_locked[two-to-eight-blocks]": Numbers({"N": 160}),
    "protocols/lock.py::add_locked_by_exchange[two-to-eight-blocks]": Numbers({"N": 160}),
    "protocols/lock.py::add_locked_while_held[two-to-eight-blocks]": Numbers({"N": 160}),
    "protocols/look_back.py::look_back[two-to-eight-blocks]": Numbers({"N": 160}),
    "protocols/tickets.py::fill_by_ticket[one-block-for-each-tile]": Numbers({"N": 700}),
    "protocols/tickets.py::fill_by_queue[eight-blocks]": Numbers({"N": 700}),
    "protocols/turns.py::add_in_turn[up-to-8-blocks]": Numbers({"N": 160}),
    "protocols/turns.py::add_rows_in_turn[up-to-8-parts]": Numbers({"M": 3, "S": 4}),
    "protocols/last_block_again.py::put_own_back[two-rows-or-more]": Numbers({"M": 3}),
    "protocols/last_block_again.py::sum_and_exchange[up-to-16-blocks]": Numbers({"N": 640}),
    "protocols/last_block_again.py::sum_and_put_back[up-to-16-blocks]": Numbers({"N": 640}),
    "protocols/last_block.py::sum_rows_by_last[up-to-8-parts]": Numbers({"M": 3, "S": 5}),
    "protocols/hand_over.py::hand_over_in_two_steps[one-consumer-or-more]": Numbers({"C": 4}),
    "protocols/lock.py::add_rows_locked[two-to-eight-blocks]": Numbers({"N": 160, "M": 3}),
    "protocols/look_back.py::look_back_by_status[two-to-eight-blocks]": Numbers({"N": 160}),
    "protocols/ticket_lock.py::add_served[two-to-eight-blocks]": Numbers({"N": 160}),
    "protocols/tickets.py::fill_by_two_counters[as-many-even-as-odd]": Numbers({"N": 640}),
    "loops/stages.py::ring_of_three[three-tiles-a-block]": Numbers({"B": 5, "rounds": 7}),
    "loops/stages.py::swapped_buffers[two-tiles-a-block]": Numbers({"B": 5, "rounds": 7}),
    "loops/mixed_tiles.py::shuffle_tiles[sixteen-tiles]": Numbers({}),
    "loops/mixed_tiles.py::shuffle_by_table[counting-up]": Numbers({}),
    "loops/recurrence.py::running_states[any-grid]": Numbers({"R": 5, "T": 4}, grid=(2, 1, 1)),
    "loops/stages.py::cursor[row-by-row]": Numbers({"B": 3, "W": 170, "rounds": 8}),
    "loops/while_stride.py::double_one_by_one[any-grid]": Numbers({"N": 50}, grid=(3, 1, 1)),
    "loops/while_stride.py::double_by_stride[any-grid]": Numbers({"N": 1000}, grid=(3, 1, 1)),
    "loops/while_stride.py::fill_by_bytes[limit-a-step-inside-a-byte]": Numbers({"N": 1900}),
    "out_of_bounds/two_faults.py::copy_second_half[two-halves]": Numbers({"N": 192}),
    "race_free/axpy.py::axpy[any-size]": Numbers({"N": 1300, "alpha": 0.75}),
    "race_free/axpy.py::axpy[one-million]": Numbers({"alpha": -1.5}),
    "race_free/batched_matmul.py::batched_matmul[any-size]": Numbers({"Q": 3, "M": 100, "N": 72, "K": 136}),
    "race_free/early_return.py::copy_rows[more-blocks-than-rows]": Numbers({"M": 40, "N": 600}),
    "race_free/elementwise_2d.py::scale_columns[contiguous]": Numbers({"M": 50, "N": 300}),
    "race_free/elementwise_2d.py::scale_columns[padded-rows]": Numbers({"M": 50, "N": 300, "ldx": 312, "ldo": 305}),
    "race_free/elementwise_3d.py::add_bias[any-size]": Numbers({"B": 3, "M": 20, "N": 150}),
    "race_free/exclusive_branches.py::header_and_lines[any-rows]": Numbers({"M": 7, "N": 80, "value": -3.0}),
    "found/half_tiles.py::double_in_halves[long-tail]": Numbers({}),
    "found/half_tiles.py::double_in_halves_that_are_there[any-size]": Numbers({"N": 620}),
    "found/moving_window.py::keep_last_tile_by_array[four-tiles]": Numbers({}),
    "found/norm_backward.py::norm_backward[separate]": Numbers({"M": 7}),
    "found/norm_backward.py::norm_backward[in-place-and-told]": Numbers({"M": 7}),
    "found/padding_row.py::put_back_without_padding[row-for-padding]": Numbers({}),
    "found/split_parts.py::write_parts[room-for-tiles]": Numbers({"M": 200, "P": 3}),
    "found/turned_keys.py::turn_keys_by_turned_index[any-rows]": Numbers({"M": 200}),
    "race_free/gather_rows.py::embedding[ids-32-bit]": Numbers({"T": 40, "V": 30, "D": 200}),
    "race_free/gather_rows.py::embedding[ids-64-bit]": Numbers({"T": 40, "V": 30, "D": 200}),
    "race_free/histogram_atomic.py::histogram[any-data]": Numbers({"N": 1000, "C": 600}),
    "race_free/kv_cache_append.py::append[one-position]": Numbers({"B": 3, "H": 4, "S": 6, "position": 5}),
    "race_free/kv_cache_append.py::append_at[position-per-sequence]": Numbers({"B": 3, "H": 4, "S": 6}),
    "race_free/large_copy.py::large_copy[any-size]": Numbers({"N": 5000}),
    "race_free/list_of_arrays.py::sum_all[any-length]": Numbers({"N": 600, "L": 4}),
    "race_free/matmul.py::matmul[any-size]": Numbers({"M": 200, "N": 136, "K": 104}),
    "race_free/matmul.py::matmul[transposed-weights]": Numbers({"M": 100, "N": 136, "K": 200}),
    "race_free/matmul.py::matmul[square-4096]": Numbers({}, blocks=_corners(32, 64)),
    "race_free/persistent_matmul.py::persistent_matmul[any-size-132-blocks]": Numbers({"M": 1600, "N": 1500, "K": 72}),
    "race_free/persistent_softmax.py::persistent_softmax[528-blocks]": Numbers({"M": 700, "N": 1000}),
    "race_free/reduction_atomic.py::total[any-size]": Numbers({"N": 5000}),
    "race_free/relu_inplace.py::relu[one-argument]": Numbers({"N": 700}),
    "race_free/relu_inplace.py::relu_into[distinct-arrays]": Numbers({"N": 700}),
    "race_free/relu_inplace.py::relu_into[same-array-in-one-alias-group]": Numbers({"N": 700}),
    "race_free/reverse_tiles.py::reverse_tiles[any-size]": Numbers({"N": 1280}),
    "race_free/scatter_affine.py::reverse_rows[any-size]": Numbers({"M": 5, "N": 700}),
    "race_free/scatter_permutation.py::scatter_elements[injective]": Numbers({"N": 600, "P": 580}),
    "race_free/scatter_permutation.py::scatter_elements[permutation]": Numbers({"N": 600}),
    "race_free/silu_and_mul.py::silu_and_mul[whole-tiles]": Numbers({"M": 6, "N": 768}),
    "race_free/sliding_maximum.py::sliding_maximum[any-size]": Numbers({"N": 1000}),
    "race_free/split_k_atomic.py::split_k[four-parts]": Numbers({"M": 100, "N": 136, "K": 392}),
    "race_free/stencil.py::smooth[distinct-arrays]": Numbers({"N": 1000}),
    "race_free/strided_store.py::clear_even_halves[any-size]": Numbers({"N": 1000}),
    "race_free/tuple_arguments.py::add_pair[any-size]": Numbers({"N": 700}),
    "race_free/unchecked_bounds.py::double[whole-tiles]": Numbers({"N": 1024}),
    "race_free/while_loop.py::copy_in_chunks[any-size]": Numbers({"M": 5, "N": 700}),
    "racy/collapsed_rows.py::copy_2d[expanded-input]": Numbers({"M": 100, "N": 150}),
    "racy/index_wrap.py::fill[grid-that-fits]": Numbers({"N": 5000}),
    "racy/persistent_wrong_step.py::constant_step[as-many-blocks-as-the-step]": Numbers({"N": 150_000}),
    "showcase/flash_attention.py::flash_attention[grouped-causal]": Numbers(
        {"B": 2, "HK": 2, "S": 200, "scale": 0.125}
    ),
    "showcase/layer_norm.py::layer_norm[any-size]": Numbers({"M": 6, "N": 2500, "eps": 1e-5}),
    "showcase/matmul_swizzled.py::matmul_swizzled[any-size]": Numbers({"M": 1300, "N": 400, "K": 72}),
    "showcase/permute.py::permute_heads[any-size]": Numbers({"B": 2, "H": 5, "M": 100}),
    "showcase/rope.py::rope[heads-up-to-32]": Numbers({"B": 2, "H": 20, "S": 9}),
    "showcase/softmax.py::softmax[any-rows]": Numbers({"M": 9, "N": 1500}),
    "showcase/transpose.py::transpose[any-size]": Numbers({"M": 200, "N": 100}),
    "showcase/vector_add.py::vector_add[any-size]": Numbers({"N": 5000}),
    "twins/chosen_block.py::first_writes_total[any-size]": Numbers({"N": 700}),
    "twins/chosen_block.py::fifth_clears_first_tile[five-tiles]": Numbers({"N": 600}),
    "twins/chosen_by_float.py::mark_chosen[any-entry]": Numbers({"n": 5, "N": 4}),
    "twins/chunked_prefill.py::sum_past_and_append[any-past]": Numbers({"T": 4, "S": 12, "past": 5}),
    "twins/clamped_tail.py::own_clipped[any-size]": Numbers({"N": 700}),
    "twins/clamped_tail.py::own_moved_back[whole-tiles]": Numbers({"N": 512}),
    "twins/contiguous_shares.py::copy_shares[up-to-1024-blocks]": Numbers({"N": 1500}, grid=(5, 1, 1)),
    "twins/contiguous_shares.py::copy_rounded_shares[up-to-60-blocks]": Numbers({"N": 1500}, grid=(5, 1, 1)),
    "twins/embedding_gradient.py::add_gradient[any-ids]": Numbers({"T": 30, "V": 20, "D": 100}),
    "twins/embedding_gradient.py::add_gradient_plainly[distinct-ids]": Numbers({"T": 30, "V": 28, "D": 100}),
    "twins/flag_store.py::set_flag[whole-tiles]": Numbers({"N": 640}),
    "twins/fold.py::fold_pairs[whole-pairs]": Numbers({"N": 1024}),
    "twins/integer_addresses.tileirbc::word_by_address[any-size]": Numbers({"N": 9}),
    "twins/largest.py::largest[whole-tiles]": Numbers({"N": 1024}),
    "twins/list_targets.py::fill_first_of_list[one-array]": Numbers({}),
    "twins/mirrored_tiles.py::fill_symmetric[any-size]": Numbers({"N": 70}),
    "twins/mixed_coordinates.py::fill_by_one_number[three-columns]": Numbers({"M": 70}),
    "twins/mixed_widths.tileirbc::word_and_its_last_byte[any-size]": Numbers({"N": 9}),
    "twins/mixed_widths.tileirbc::bytes_side_by_side[any-size]": Numbers({"N": 5}),
    "twins/module_variable.tileirbc::count_in_variable[any-size]": Numbers({"N": 9}),
    "twins/module_variable.tileirbc::publish_from_first[any-size]": Numbers({"N": 9}),
    "twins/nested_tiles.py::refine[tiles-of-half-a-slab]": Numbers({"N": 160}),
    "twins/overhang.py::fill_rows[any-width]": Numbers({"M": 7, "W": 100}),
    "twins/overhang.py::fill_rows_spilling[wide-rows]": Numbers({"M": 7, "W": 150}),
    "twins/own_memory.tileirbc::reverse_in_scratch[any-size]": Numbers({"N": 5}),
    "twins/pack_qkv.py::pack[any-width]": Numbers({"M": 5, "D": 100}),
    "twins/pack_qkv.py::pack_by_parts[any-width]": Numbers({"M": 5, "D": 100}),
    "twins/pack_qkv.py::pack_by_parts_unmasked[as-wide-as-a-tile]": Numbers({"M": 5}),
    "twins/pack_slices.py::pack_two[up-to-64-columns]": Numbers({"M": 20, "D": 50}),
    "twins/pack_slices.py::pack_by_side[up-to-64-columns]": Numbers({"M": 20, "D": 50}),
    "twins/partial_masks.py::fill_masked[any-size]": Numbers({"N": 500}),
    "twins/roles.py::move_or_double[any-size]": Numbers({"N": 700}),
    "twins/rows_by_number.py::store_own_rows[whole-tiles]": Numbers({"M": 20}),
    "twins/rows_by_number.py::store_named_rows[injective-and-range]": Numbers({"M": 20, "R": 26}),
    "twins/rows_without_block.py::fill_own_row[three-blocks-too-many]": Numbers({"M": 7}),
    "twins/runtime_step.py::own_with_step[at-least-the-grid]": Numbers({"N": 700, "step": 3}, grid=(3, 1, 1)),
    "twins/scopes.py::total_device_and_system[any-size]": Numbers({"N": 1000}),
    "twins/scopes.py::own_totals_in_block_scope[one-accumulator-each]": Numbers({"N": 1000}),
    "twins/skipped_iteration.py::copy_skipping[any-size]": Numbers({"M": 4, "N": 300}),
    "twins/subrange.py::fill_range[range-inside]": Numbers({"N": 1500, "start": 2, "length": 15}),
    "twins/swapped_pairs.py::swap[whole-pairs]": Numbers({"N": 1024}),
    "twins/symbolic_trips.py::fill_chunk[any-count]": Numbers({"G": 5, "count": 3}),
    "twins/three_sizes.py::turn_three_axes[any-sizes]": Numbers({"A": 2, "B": 3, "C": 4}),
    "twins/two_outputs.py::copy_and_mark[any-size]": Numbers({"N": 700}),
    "twins/two_passes.py::fill_then_double[up-to-132-blocks]": Numbers({"N": 1000}),
    "twins/two_passes.py::fill_then_clear_rest[kept-is-a-multiple-of-the-grid]": Numbers({"N": 1500, "kept": 4}),
    "twins/view_atomics.py::add_rows[any-rows]": Numbers({"M": 9}),
}
"""By label id: sizes that give several blocks and, where the contract allows it, tiles that stick out."""
