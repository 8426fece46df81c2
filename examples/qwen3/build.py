"""Prove and build the bundles that the engine launches, each for all sizes of all models.

    python -m qwen3.build bundles --sign key.pem                   bf16, 1 and up to 8 sequences, every published model
    python -m qwen3.build bundles --sign key.pem --dtype f32 --sequences 1

Needs the compiler (``pip install 'tileverify[assemble,sign]'``); machines that run the bundles need neither that nor a
solver.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .config import SIZES
from .errors import EngineError
from .tiles import (
    ALL,
    ALTERNATIVES,
    CANDIDATES,
    COPIED,
    EMBEDDING,
    GATED,
    GROUP_TILE,
    LANES,
    LARGEST,
    NORM,
    PARTS,
    PROMPT_HEADS,
    SPLIT,
    VOCABULARY,
    RowTile,
    SeveralTile,
    StepTile,
    Tile,
    attention_kernel,
    attention_tiles,
    product_tiles,
    step_tile,
)  # fmt: skip

SHARED: Final = "min(8, cdiv(M, {0}))", "cdiv(N, {1})", "cdiv(cdiv(M, {0}), min(8, cdiv(M, {0})))"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A bundle: a kernel of a module, and the launches that it is proved for; no ``grid``: any."""

    module: str
    kernel: str
    name: str
    grid: tuple[str, ...]
    args: Mapping[str, object]
    requires: tuple[str, ...] = field(default=())

    def table(self) -> str:
        """As a launch spec says it; arrays begin at multiples of 16 bytes."""
        arrays = (name for name, kind in self.args.items() if isinstance(kind, str) and "[" in kind)
        requires = [*self.requires, *(f"{name}.address % 16 == 0" for name in arrays)]
        lines = ["[[launch]]", f'kernel = "{self.kernel}"', f'name = "{self.name}"']
        lines += [f"grid = {list(self.grid)}"] if self.grid else []
        lines += [f"requires = {requires}", "", "[launch.args]"]
        lines += [f"{name} = {_toml(value)}" for name, value in self.args.items()]
        return "\n".join(lines) + "\n"


def wanted(dtype: str, sequences: Sequence[int], width: int = 128, *, alternatives: bool = False) -> Iterator[Wanted]:
    """All that a model of this element type launches, whatever its sizes.

    ``sequences``: how many at once; a tile serves fewer, too, but one.
    ``width``: numbers in a head.  ``alternatives``: also the tiles that are compared with those in use.
    """
    yield from _of_prompts(dtype, width)
    yield from _of_attention(dtype, width, sequences)
    yield from _of_tokens()
    widths = {config.hidden for config in SIZES.values()}
    found: dict[tuple[str, str], Wanted] = {}
    for what in (*ALTERNATIVES, "down", *(() if dtype == "f32" else ("logits",))):
        tiles = [step_tile(what, dtype, each, hidden) for each in sequences for hidden in sorted(widths)]
        if alternatives:
            tiles += [each for each in ALTERNATIVES.get(what, ()) if dtype != "f32" or _elementwise(each)]
        for each in (_of_product(what, dtype, tile) for tile in dict.fromkeys(tiles)):
            found[each.kernel, each.name] = each
    yield from found.values()


def _elementwise(tile: Tile) -> bool:
    return isinstance(tile, StepTile) and not tile.tensor_cores


def _of_prompts(dtype: str, width: int) -> Iterator[Wanted]:
    t = dtype
    rows, columns = NORM
    yield Wanted(
        "norms", "rms_norm", t, ("M",),
        {"x": f"{t}[M, N]", "weight": f"{t}[N]", "out": f"{t}[M, N]", "rstd": "f32[M]", "eps": "f32",
         "TILE_M": rows, "TILE_N": columns},
        ("N % 8 == 0",),
    )  # fmt: skip
    tile = product_tiles(t)
    sizes = {"TILE_M": tile[0], "TILE_N": tile[1], "TILE_K": tile[2]}
    grid = tuple(axis.format(*tile) for axis in SHARED)
    products = {"a": f"{t}[M, K]", "b": f"{t}[N, K]"}
    whole = ("N % 8 == 0", "K % 8 == 0")
    yield Wanted("products", "matmul_transposed", t, grid, {**products, "out": f"{t}[M, N]", **sizes}, whole)
    added = {**products, "residual": f"{t}[M, N]", "out": f"{t}[M, N]", **sizes}
    yield Wanted("products", "matmul_add", t, grid, added, whole)
    rows, columns = GATED
    yield Wanted(
        "activations", "silu_mul_packed", t, (f"cdiv(N, {columns})", f"cdiv(M, {rows})"),
        {"gate_up": f"{t}[M, 2, N]", "out": f"{t}[M, N]", "TILE_M": rows, "TILE_N": columns},
        ("N % 8 == 0",),
    )  # fmt: skip
    heads = f"{width}; strides=(ld, {width}, 1)]"
    yield Wanted(
        "decoding", "prompt_heads", t, ("T",),
        {"q": f"{t}[T, HQ, {heads}", "k": f"{t}[T, HK, {heads}", "v": f"{t}[T, HK, {heads}",
         "q_weight": f"{t}[{width}]", "k_weight": f"{t}[{width}]",
         "cos": f"f32[R, {width // 2}]", "sin": f"f32[R, {width // 2}]", "start": "i32",
         "q_out": f"{t}[HQ, T, {width}]", "k_cache": f"{t}[HK, S, {width}]", "v_cache": f"{t}[HK, S, {width}]",
         "eps": "f32", "TILE_H": PROMPT_HEADS, "HALF": width // 2},
        ("0 <= start", "start + T <= S", "start + T <= R", "ld % 8 == 0"),
    )  # fmt: skip
    queries, keys = attention_tiles(t)
    many = "group * HK"
    yield Wanted(
        "attention", "attention_cached", t, (f"cdiv(T, {queries})", many),
        {"q": f"{t}[1, {many}, T, {width}]", "k": f"{t}[1, HK, S, {width}]", "v": f"{t}[1, HK, S, {width}]",
         "used": "i32[1]", "out": f"{t}[1, {many}, T, {width}; strides=(lb, {width}, ld, 1)]",
         "scale": "f32", "group": "i32", "TILE_M": queries, "TILE_N": keys, "TILE_D": width, "CAUSAL": True},
        ("1 <= group", f"ld >= {width} * {many}", "ld % 8 == 0", "lb % 8 == 0"),
    )  # fmt: skip
    table = {"table": f"{t}[V, N]", "ids": "i32[T]", "out": f"{t}[T, N]", "TILE_N": EMBEDDING}
    grid = (f"cdiv(N, {EMBEDDING})", "T")
    yield Wanted("decoding_tokens", "token_rows", t, grid, table, ("V >= 1", "N % 8 == 0"))
    handed = {"scales": f"{t}[N]", "scaled": f"{t}[T, N]", "squares": f"f32[T, cdiv(N, {EMBEDDING})]"}
    arrays = {**table, **handed}
    yield Wanted("decoding_several", "several_rows", t, grid, arrays, ("V >= 1", "N % 8 == 0"))
    copied = {"x": f"{t}[R, N; strides=(lx, 1)]", "out": f"{t}[R, N; strides=(lo, 1)]", "TILE_N": COPIED}
    yield Wanted("decoding_tokens", "copy_rows", t, (f"cdiv(N, {COPIED})", "R"), copied, ("lx % 8 == 0", "lo % 8 == 0"))


def _of_attention(dtype: str, width: int, sequences: Sequence[int]) -> Iterator[Wanted]:
    t, half = dtype, width // 2
    k, v = (f"{t}[B, HK, 1, {width}; strides=({ld}, {width}, {width}, 1)]" for ld in ("lk", "lv"))
    splits, whole = f"cdiv(S, {SPLIT})", min(width, 16)
    arrays = {
        "q": f"{t}[B, HK, G, {width}; strides=(lq, G * {width}, {width}, 1)]", "k": k, "v": v,
        "q_weight": f"{t}[{width}]", "k_weight": f"{t}[{width}]", "cos": f"f32[R, {half}]", "sin": f"f32[R, {half}]",
        "positions": "i32[B]", "k_cache": f"{t}[B, HK, S, {width}]", "v_cache": f"{t}[B, HK, S, {width}]",
        "parts": f"f32[B, HK, {splits}, G, {width}]", "maxima": f"f32[B, HK, {splits}, G]",
        "sums": f"f32[B, HK, {splits}, G]", "eps": "f32", "scale": "f32",
        "TILE_H": GROUP_TILE, "TILE_N": SPLIT, "HALF": half,
    }  # fmt: skip
    strides = (f"{stride} % {whole} == 0" for stride in ("lq", "lk", "lv"))
    requires = ("1 <= G", f"G <= {GROUP_TILE}", "S >= 1", "R >= 1", *strides)
    for kernel in dict.fromkeys(attention_kernel(each) for each in sequences):
        module, name = kernel.split(".")
        yield Wanted(module, name, t, (splits, "HK", "B"), arrays, requires)
    yield Wanted(
        "decoding", "step_merge", t, ("G", "HK", "B"),
        {"parts": f"f32[B, HK, P, G, {width}]", "maxima": "f32[B, HK, P, G]", "sums": "f32[B, HK, P, G]",
         "positions": "i32[B]", "out": f"{t}[B, HK, G, {width}]", "TILE_P": PARTS, "TILE_D": width, "TILE_N": SPLIT},
        ("P >= 1",),
    )  # fmt: skip


def _of_tokens() -> Iterator[Wanted]:
    """From logits, in float32 whatever the model's type is, to the next step."""
    chosen = {"uniforms": "f32[B]", "out": "i32[B]", "temperature": "f32"}
    tops = f"cdiv(N, {VOCABULARY}), {CANDIDATES}]"
    found = {"tops": f"f32[B, {tops}", "places": f"i32[B, {tops}", "TILE_N": VOCABULARY, "TILE_K": CANDIDATES}
    grid = (f"cdiv(N, {VOCABULARY})", "B")
    yield Wanted(
        "head", "argmax_merge", "any", ("B",),
        {"maxima": "f32[B, P]", "places": "i32[B, P]", "out": "i32[B]", "TILE_P": LARGEST},
    )  # fmt: skip
    yield Wanted("head", "sample", "any", ("B",), {"logits": "f32[B, N]", **chosen, "TILE_N": ALL})
    yield Wanted("head", "top_k_blocks", "any", grid, {"values": "f32[B, N]", **found})
    merged = {"values": "f32[B, N]", "value_places": "i32[B, N]", **found}
    yield Wanted("head", "top_k_merge", "any", grid, merged)
    candidates = {"values": f"f32[B, {CANDIDATES}]", "places": f"i32[B, {CANDIDATES}]"}
    yield Wanted("head", "sample_top", "any", ("B",), {**candidates, **chosen, "top_p": "f32", "TILE_K": CANDIDATES})
    yield Wanted(
        "decoding_tokens", "step_on", "any", ("B",),
        {"chosen": "i32[B]", "drawn": "f32[B, S]", "ids": "i32[B]", "positions": "i32[B]", "uniforms": "f32[B]",
         "history": "i32[B, S]"},
        ("S >= 1",),
    )  # fmt: skip


def _of_product(what: str, dtype: str, tile: Tile) -> Wanted:
    t, x, scales = dtype, {"x": f"{dtype}[B, K]"}, {"scales": f"{dtype}[K]"}
    weights, out = {"weights": f"{t}[N, K]"}, {"out": f"{t}[B, N]"}
    blocks = f"cdiv(N, {tile.rows})"
    if isinstance(tile, SeveralTile):
        return _of_several(what, dtype, tile, blocks)
    largest = {"maxima": f"f32[B, {blocks}]", "places": f"i32[B, {blocks}]"}
    arrays: dict[str, dict[str, object]] = {
        "normed": {**x, **scales, **weights, **out, "eps": "f32"},
        "logits": {**x, **scales, **weights, "out": "f32[B, N]", "eps": "f32"},
        "normed_gated": {**x, **scales, "gates": f"{t}[N, K]", **weights, **out, "eps": "f32"},
        "add": {**x, **weights, "residual": f"{t}[B, N]", **out},
        "largest": {**x, **scales, **weights, **largest, "eps": "f32"},
    }
    grid, constants, requires = _of_rows(what, tile, blocks) if isinstance(tile, RowTile) else _of_steps(tile, blocks)
    module, kernel = tile.kernel(what).split(".")
    name = f"{t}-{_shown(tile)}{'-logits' if what == 'logits' else ''}"
    return Wanted(module, kernel, name, grid, {**arrays["add" if what == "down" else what], **constants}, requires)


def _of_several(what: str, dtype: str, tile: SeveralTile, blocks: str) -> Wanted:
    t, constants = dtype, dict(zip(("TILE_B", "TILE_N", "TILE_K"), tile.constants, strict=True))
    x, weights, out = {"x": f"{t}[B, K]"}, {"weights": f"{t}[N, K]"}, {"out": f"{t}[B, N]"}
    squares = {"squares": "f32[B, P]"}
    arrays: dict[str, dict[str, object]] = {
        "normed": {**x, **squares, **weights, **out, "eps": "f32"},
        "normed_gated": {**x, **squares, "gates": f"{t}[N, K]", **weights, **out, "eps": "f32"},
        "add": {**x, **weights, "residual": f"{t}[B, N]", "scales": f"{t}[N]", **out, "scaled": f"{t}[B, N]",
                "squares": f"f32[B, {blocks}]"},
    }  # fmt: skip
    module, kernel = tile.kernel(what).split(".")
    requires = ("1 <= B", f"B <= {tile.sequences}", "K >= 1", "K % 8 == 0")
    return Wanted(
        module,
        kernel,
        f"{t}-{_shown(tile)}",
        (blocks,),
        {**arrays["add" if what == "down" else what], **constants},
        requires,
    )


def _shown(tile: Tile) -> str:
    return "x".join(map(str, tile.constants))


Made = tuple[tuple[str, ...], dict[str, int], tuple[str, ...]]
"""A grid, if one is asked for, constants, and what is required."""


def _of_steps(tile: StepTile, blocks: str) -> Made:
    names = "TILE_B", "TILE_N", "AHEAD", "TILE_K"
    held = "B == 1" if tile.sequences == 1 else f"B <= {tile.sequences}"
    constants = dict(zip(names, tile.constants, strict=True))
    return (blocks,), constants, ("1 <= B", held, "K >= 1", "K % 8 == 0")


def _of_rows(what: str, tile: RowTile, blocks: str) -> Made:
    constants = dict(zip(("TILE_N", "TILE_K", "TILES"), tile.constants, strict=True))
    requires = ("B == 1", "K >= 1", "K % 16 == 0")
    if what in ("add", "down"):
        return (blocks,), constants, requires
    return (), constants, (*requires, f"K <= {LANES * tile.tiles}", "grid.y == 1", "grid.z == 1")


def build(folder: Path, bundles: Sequence[Wanted], options: Sequence[str]) -> None:
    """Into the folder; ``options`` of `tileverify build`.  Raises `EngineError` where one is not proved."""
    import tileverify.kernels.device as device
    from tileverify.commands.bundles import build as tool

    modules = Path(device.__path__[0])
    folder.mkdir(parents=True, exist_ok=True)
    for module, kernel in dict.fromkeys((each.module, each.kernel) for each in bundles):
        own = [each for each in bundles if each.kernel == kernel]
        with tempfile.TemporaryDirectory() as scratch:
            spec = Path(scratch) / f"{kernel}.tileverify.toml"
            spec.write_text("\n".join(each.table() for each in own), encoding="utf-8")
            call = [f"{modules / module}.py::{kernel}", "--spec", str(spec), "-o", str(folder)]
            if tool.main([*call, "--deny-requires", *options], standalone_mode=False):
                raise EngineError(f"'{module}.{kernel}' is not proved for all launches that the engine makes")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m qwen3.build", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sign", type=Path, metavar="KEY.pem", help="an Ed25519 private key")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--dtype", action="append", choices=("bf16", "f16", "f32"), help="default: bf16")
    parser.add_argument("--sequences", action="append", type=int, help="at once; default: 1 and 8")
    parser.add_argument("--alternatives", action="store_true", help="also the tiles that the benchmark compares")
    asked = parser.parse_args(argv)
    found: dict[tuple[str, str, str], Wanted] = {}
    try:
        for dtype in asked.dtype or ["bf16"]:
            for each in wanted(dtype, asked.sequences or [1, 8], alternatives=asked.alternatives):
                found[each.module, each.kernel, each.name] = each
        options = ["--arch", asked.arch, *(["--sign", str(asked.sign)] if asked.sign else [])]
        build(asked.folder, list(found.values()), options)
    except EngineError as error:
        print(f"qwen3: {error}", file=sys.stderr)
        return 2
    print(f"{len(found)} bundles in {asked.folder}")
    return 0


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


if __name__ == "__main__":
    sys.exit(main())
