"""The Qwen3 example on a GPU, on random weights from signed bundles: speed, where it goes, and agreement.

    PYTHONPATH=src:examples python -m qwen3.build BUNDLES --sign KEY.pem --dtype bf16 --dtype f32    with the compiler
    python -m benchmarks.gpu.qwen3 PART BUNDLES KEY.pub OUT [--size 4B ...]                          with the GPU

Parts: ``decode`` (tokens/s against the bytes that a step reads at 4.8 TB/s), ``launches`` (microseconds of each kind of
launch of a step), ``tiles`` (alternatives of tile sizes; bundles built with ``--alternatives``), ``prompt`` (4096
tokens, beside transformers), ``agree`` (logits and greedy tokens of transformers; two runs; fails where they differ).

Nothing is compiled here: a launch without a bundle is an error.  Writes qwen3-PART.json into ``OUT``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from examples.qwen3 import step as stepping
from examples.qwen3.config import SIZES, Config
from examples.qwen3.generate import Model, Session, generate
from examples.qwen3.launches import Launches
from examples.qwen3.memory import GpuMemory
from examples.qwen3.step import Sampling
from examples.qwen3.tiles import ALTERNATIVES, SeveralTile, StepTile, Tile, step_tile
from examples.qwen3.weights import named, random_weights

from tileverify import kernels

BANDWIDTH = 4.8e12
"""Bytes a second, of an H200."""

STEPS, ROUNDS = 24, 7
"""Steps between two looks at the clock, and looks; medians are told."""

CLOSE = 1e-4
"""Of the largest logit, in float32."""

GREEDY = 200


def model_of(config: Config, *, early: bool = True, seed: int = 0) -> Model:
    memory = GpuMemory()
    return Model(config, random_weights(config, memory, seed), memory, Launches(memory, early=early))


def texts(config: Config, count: int, length: int) -> list[list[int]]:
    numbers = np.random.default_rng(7).integers(0, config.vocabulary, (count, length))
    return [list(map(int, row)) for row in numbers]


def microseconds(run: Callable[[], object], again: Callable[[], object], count: int) -> float:
    """Of one of ``count`` things that ``run`` does, on the device; ``again`` comes between the looks."""
    times = []
    for _ in range(ROUNDS):
        again()
        run()  # the first one after anything else is another
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(1000 * start.elapsed_time(end) / count)
    return statistics.median(times)


# --------------------------------------------------------------------------------------------------- decode
def decode(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for size in asked.size:
        for early in (True, False) if asked.in_order else (True,):
            model = model_of(replace(SIZES[size], dtype=asked.dtype), early=early)
            for count in asked.sequences:
                for cached in asked.cache:
                    yield {"size": size, "early": early, **step_time(model, count, cached)}
            del model
            torch.cuda.empty_cache()


def step_time(model: Model, count: int, cached: int) -> dict[str, Any]:
    """Steps behind ``cached`` tokens of each sequence, as one graph."""
    session = Session(model, texts(model.config, count, cached), capacity=cached + 2 * STEPS + 2)
    session.choose()()
    graph = session.record()
    begin = [cached] * count

    def run() -> None:
        for _ in range(STEPS):
            graph.replay()

    def again() -> None:  # a graph has its arrays for good
        session.state.positions.copy_(torch.tensor(begin, dtype=torch.int32))

    took = microseconds(run, again, STEPS)
    limit = 1e6 * model.config.read_in_a_step(cached, count) / BANDWIDTH
    return {
        "sequences": count, "cache": cached, "launches": len(graph), "us": took, "tokens/s": 1e6 * count / took,
        "of roofline": limit / took,
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------- launches
Call = tuple[str, tuple[int, ...], tuple[Any, ...]]


def calls_of(session: Session) -> list[Call]:
    """The launches of a step, in order."""
    found: list[Call] = []

    def note(kernel: str, grid: tuple[int, ...], *arguments: Any) -> None:
        found.append((kernel, grid, arguments))

    session._step.layers(note)
    session._step.choose(note)
    return found


def launches(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each kind of launch alone, that of one layer behind that of the other, so that weights come from memory."""
    for size in asked.size:
        model = model_of(replace(SIZES[size], dtype=asked.dtype))
        for count in asked.sequences:
            for cached in asked.cache:
                session = Session(model, texts(model.config, count, cached), capacity=cached + 2 * STEPS + 2)
                session.choose()()
                kinds: dict[tuple[Any, ...], list[Call]] = {}
                for call in calls_of(session):
                    shapes = tuple(tuple(each.shape) for each in call[2] if isinstance(each, torch.Tensor))
                    kinds.setdefault((call[0], call[1], shapes), []).append(call)
                total = 0.0
                for (kernel, grid, _), calls in kinds.items():
                    took = chain_time(model, calls)
                    total += took * len(calls)
                    weights = weight_bytes(calls[0])
                    yield {
                        "size": size, "sequences": count, "cache": cached, "kernel": kernel, "grid": list(grid),
                        "launches": len(calls), "us": took, "us a step": took * len(calls), "MB": weights / 1e6,
                        "GB/s": weights / took / 1e3,
                    }  # fmt: skip
                yield {"size": size, "sequences": count, "cache": cached, "kernel": "all of them", "us a step": total}
                yield {"size": size, "kernel": "the step", **step_time(model, count, cached)}
        del model
        torch.cuda.empty_cache()


def chain_time(model: Model, calls: list[Call]) -> float:
    """Of one launch of a chain that is long enough to be timed."""
    rounds = -(-64 // len(calls))
    with model.launches.graph() as graph:
        for _ in range(rounds):
            for kernel, grid, arguments in calls:
                graph(kernel, grid, *arguments)
    return microseconds(graph.replay, lambda: None, rounds * len(calls))


def weight_bytes(call: Call) -> int:
    """What a product reads of weights: its matrices with more rows than there are sequences."""
    kernel, _, arguments = call
    if not any(what in kernel for what in ("_normed", "_add", "_largest")):
        return 0
    tensors = [each for each in arguments if isinstance(each, torch.Tensor) and each.ndim == 2]
    rows = tensors[0].shape[0]
    return sum(each.numel() * each.element_size() for each in tensors if each.shape[0] > rows)


# ---------------------------------------------------------------------------------------------------- tiles
def tiles(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every product of a step with every tile that there is a bundle of."""
    for size in asked.size:
        model = model_of(replace(SIZES[size], dtype=asked.dtype))
        for count in asked.sequences:
            for what in ALTERNATIVES:
                for tile in tiles_for(what, model.config, count):
                    yield from with_tile(model, size, count, what, tile)
        del model
        torch.cuda.empty_cache()


def tiles_for(what: str, config: Config, count: int) -> list[Tile]:
    used = step_tile(what, config.dtype, count, config.hidden)
    return list(dict.fromkeys([used, *(each for each in ALTERNATIVES[what] if _serves(each, used, config, count))]))


def _serves(tile: Tile, used: Tile, config: Config, count: int) -> bool:
    """Whether a tile can stand for the one in use: those that memory streams get vectors of another kind."""
    if isinstance(used, SeveralTile) or isinstance(tile, SeveralTile):
        return isinstance(used, SeveralTile) and isinstance(tile, SeveralTile) and tile.sequences >= count
    if count == 1 and config.dtype != "f32":
        return True
    return isinstance(tile, StepTile) and tile.sequences >= count and (config.dtype != "f32" or tile.sequences == 1)


def with_tile(model: Model, size: str, count: int, what: str, tile: Tile) -> Iterator[dict[str, Any]]:
    def chosen(name: str, dtype: str, sequences: int, hidden: int) -> Tile:
        return tile if name == what else step_tile(name, dtype, sequences, hidden)

    with mock.patch.object(stepping, "step_tile", chosen):
        session = Session(model, texts(model.config, count, 8))
        kinds: dict[int, list[Call]] = {}
        for call in calls_of(session):
            if call[0] == tile.kernel(what):
                kinds.setdefault(weight_bytes(call), []).append(call)
    for calls in kinds.values():
        grid = list(calls[0][1])
        row = {
            "size": size,
            "sequences": count,
            "kernel": tile.kernel(what),
            "grid": grid,
            "tile": list(tile.constants),
        }
        try:
            took, weights = chain_time(model, calls), weight_bytes(calls[0])
        except Exception as error:  # a tile without a bundle, or without room for its registers
            yield {**row, "failed": str(error)[:100]}
            continue
        yield {**row, "us": took, "MB": weights / 1e6, "GB/s": weights / took / 1e3}


# ---------------------------------------------------------------------------------------------------- prompt
def prompt(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """To the first token, beside transformers' forward pass with the same weights."""
    for size in asked.size:
        model = model_of(replace(SIZES[size], dtype=asked.dtype))
        (text,) = texts(model.config, 1, asked.length)
        session = Session(model, [text])
        from examples.qwen3.prompt import Prompt

        filling = Prompt(model.config, model.weights, model.memory, model.launches, session.cache)

        def ours(filling: Any = filling, session: Session = session, text: list[int] = text) -> None:
            filling.fill(0, text, session.state.x[:1])
            session._step.choose(session._model.launches)

        theirs = transformer(model)
        ids = torch.tensor([text], device="cuda")

        def forward(theirs: Any = theirs, ids: torch.Tensor = ids) -> None:
            with torch.no_grad():
                theirs(ids, logits_to_keep=1, use_cache=True).logits.argmax(-1)

        found = microseconds(ours, lambda: None, 1), microseconds(forward, lambda: None, 1)
        row = {"size": size, "tokens": len(text), "ms": found[0] / 1e3, "transformers ms": found[1] / 1e3}
        yield {**row, "ratio": found[1] / found[0]}
        del model, session, filling, theirs, ours, forward
        torch.cuda.empty_cache()


def transformer(model: Model, dtype: torch.dtype | None = None) -> Any:
    """transformers' model with copies of the same weights."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = model.config
    theirs = Qwen3Config(
        vocab_size=config.vocabulary, hidden_size=config.hidden, intermediate_size=config.intermediate,
        num_hidden_layers=config.layers, num_attention_heads=config.heads, num_key_value_heads=config.kv_heads,
        head_dim=config.head_width, max_position_embeddings=config.positions, rms_norm_eps=config.eps,
        tie_word_embeddings=config.tied, rope_parameters={"rope_type": "default", "rope_theta": config.rope_base},
    )  # fmt: skip
    kept = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[config.dtype]
    torch.set_default_dtype(dtype or kept)  # a later conversion would convert the frequencies, too
    try:
        with torch.device("cuda"):
            made = Qwen3ForCausalLM(theirs).eval()
    finally:
        torch.set_default_dtype(torch.float32)
    assert made.model.rotary_emb.inv_freq.dtype == torch.float32
    parts = dict(made.named_parameters())
    with torch.no_grad():
        for name, array in named(model.weights, config):
            parts[name].copy_(array)
    return made


# ----------------------------------------------------------------------------------------------------- agree
def agree(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """In float32 and bf16, of prompts of several lengths; heads are not tied, or models would only repeat."""
    for size in asked.size:
        config = replace(SIZES[size], tied=False, dtype="f32")
        model = model_of(config)
        theirs = transformer(model)
        lengths = [text[:n] for text, n in zip(texts(config, 4, 300), (1, 37, 128, 300), strict=True)]
        wanted = [logits(theirs, text) for text in lengths]
        for text, each in zip(lengths, wanted, strict=True):
            found = torch.from_numpy(Session(model, [text]).logits()[0])
            error = float((found - each).abs().max() / each.abs().max())
            yield {"size": size, "dtype": "f32", "tokens": len(text), "error": error, "fine": error <= CLOSE}
        yield {"size": size, "dtype": "f32", "greedy": GREEDY, **greedy(model, theirs, lengths[1])}
        yield {"size": size, "dtype": "f32", **together(model, lengths)}
        del model, theirs
        torch.cuda.empty_cache()
        short = model_of(replace(config, dtype="bf16"))
        exact, usual = transformer(short, torch.float32), transformer(short)
        for text in lengths:
            best = logits(exact, text)
            found = torch.from_numpy(Session(short, [text]).logits()[0])
            ours, his = (float((each - best).abs().max() / best.abs().max()) for each in (found, logits(usual, text)))
            row = {"size": size, "dtype": "bf16", "tokens": len(text), "error": ours, "of transformers": his}
            yield {**row, "fine": ours <= 1.25 * his}
        yield {"size": size, "dtype": "bf16", **twice(short, lengths)}
        del short, exact, usual
        torch.cuda.empty_cache()


def logits(theirs: Any, text: list[int]) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = theirs(torch.tensor([text], device="cuda")).logits[0, -1].float().cpu()
    return found


def greedy(model: Model, theirs: Any, text: list[int]) -> dict[str, Any]:
    ours = [step[0] for step in generate(model, [text], Sampling(), GREEDY)]
    ids = torch.tensor([text], device="cuda")
    plain = {"max_new_tokens": GREEDY, "min_new_tokens": GREEDY, "do_sample": False, "eos_token_id": None}
    with torch.no_grad():
        his = theirs.generate(ids, attention_mask=torch.ones_like(ids), pad_token_id=0, **plain)[
            0, len(text) :
        ].tolist()
    same = next((n for n, (one, other) in enumerate(zip(ours, his, strict=True)) if one != other), GREEDY)
    return {"same tokens": same, "fine": same == GREEDY}


def together(model: Model, several: list[list[int]]) -> dict[str, Any]:
    """Sequences of different lengths at once give the tokens that each gives alone."""
    batch = list(generate(model, several, Sampling(), 20))
    alone = [[step[0] for step in generate(model, [text], Sampling(), 20)] for text in several]
    return {"batch as alone": (same := [list(row) for row in zip(*batch, strict=True)] == alone), "fine": same}


def twice(model: Model, several: list[list[int]]) -> dict[str, Any]:
    """Two runs, greedy and sampled: the same tokens, and logits of the same bits."""
    runs = []
    for _ in range(2):
        tokens = [list(generate(model, several, each, 50)) for each in (Sampling(), Sampling(0.8, 0.9, 5))]
        runs.append((tokens, Session(model, several).logits().tobytes()))
    return {"same again": (same := runs[0] == runs[1]), "fine": same}


# ------------------------------------------------------------------------------------------------------ rows
PARTS = {"decode": decode, "launches": launches, "tiles": tiles, "prompt": prompt, "agree": agree}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("bundles", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", nargs="+", choices=SIZES, default=["0.6B"])
    parser.add_argument("--dtype", choices=("bf16", "f16", "f32"), default="bf16")
    parser.add_argument("--cache", nargs="+", type=int, default=[512, 2048])
    parser.add_argument("--sequences", nargs="+", type=int, default=[1])
    parser.add_argument("--length", type=int, default=4096, help="of the prompt")
    parser.add_argument("--in-order", action="store_true", help="decode also without early starts")
    asked = parser.parse_args()
    count = kernels.use(asked.bundles, keys=[asked.key], only_signed=True)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {count} signed bundles", flush=True)
    rows = []
    for row in PARTS[asked.part](asked):
        rows.append(row)
        print("  ".join(f"{key}={_shown(value)}" for key, value in row.items()), flush=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    document = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "bundles": count, "rows": rows}
    (asked.out / f"qwen3-{asked.part}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    wrong = [row for row in rows if not row.get("fine", True)]
    print(f"{len(rows)} rows, {len(wrong)} not fine")
    return 1 if wrong else 0


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
