"""``python -m qwen3 MODEL PROMPT...``: what a model says to a prompt, or to several at once."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tileverify import kernels
from tileverify.system.errors import TileVerifyError

from .config import SIZES, Config, read_config, stop_tokens
from .errors import EngineError
from .files import load_weights
from .generate import Model, Times, generate
from .launches import Launches
from .memory import GpuMemory, HostMemory, Memory
from .report import write_report
from .step import Sampling
from .tokens import CHAT, Bytes, Stream, Tokens, tokens_of
from .weights import Progress, Weights, random_weights


def main(argv: Sequence[str] | None = None) -> int:
    """0, or 2 with a sentence on stderr; 130 where the user stopped it."""
    try:
        return run(_parser().parse_args(argv))
    except (EngineError, TileVerifyError) as error:
        print(f"qwen3: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nqwen3: stopped", file=sys.stderr)
        return 130


def run(asked: argparse.Namespace) -> int:
    folder, texts = _what(asked)
    memory = _memory(asked.device)
    config = _config(asked, folder, memory)
    if asked.bundles is not None:
        kernels.use(asked.bundles, keys=asked.trust, only_signed=bool(asked.trust))
    tokens: Tokens = Bytes() if folder is None else tokens_of(folder)
    stops = frozenset[int]() if folder is None or asked.ignore_eos else stop_tokens(folder)
    begun = time.perf_counter()
    weights = _weights(asked, folder, config, memory)
    memory.wait()
    _say(f"{config.parameters:,} numbers of {config.dtype} on {memory.name} "
         f"in {time.perf_counter() - begun:.1f} s")  # fmt: skip
    model = Model(config, weights, memory, Launches(memory))
    prompts = [tokens.encode(CHAT.format(text) if asked.chat else text) for text in texts] * asked.batch
    sampling = Sampling(asked.temperature, asked.top_p, asked.seed)
    times = _tell(model, prompts, sampling, asked.max_tokens, stops, tokens)
    _say(_rates(times, prompts))
    if asked.report is not None:
        title = f"{asked.random or asked.model} {config.dtype}, {len(prompts)} sequences, on {memory.name}"
        write_report(asked.report, title, model.launches.noted)
        _say(f"{asked.report}: every launch with its proof")
    return 0


def _tell(
    model: Model, prompts: list[list[int]], sampling: Sampling, most: int, stops: frozenset[int], tokens: Tokens
) -> Times:
    """One sequence as it comes, several when all have ended."""
    times, streams = Times(), [Stream(tokens) for _ in prompts]
    texts = [""] * len(prompts)
    for step in generate(model, prompts, sampling, most, stops, times):
        for number, token in enumerate(step):
            new = "" if token is None or token in stops else streams[number].add(token)
            texts[number] += new
            if len(prompts) == 1:
                print(new, end="", flush=True)
    for number, stream in enumerate(streams):
        rest = stream.rest()
        print(rest if len(prompts) == 1 else f"[{number}] {texts[number]}{rest}")
    return times


def _rates(times: Times, prompts: Sequence[Sequence[int]]) -> str:
    count = sum(map(len, prompts))
    text = f"prompt: {count} tokens in {times.prompts:.2f} s ({count / times.prompts:.1f} tokens/s)"
    if times.steps:
        text += f"; then {times.tokens} tokens in {times.steps:.2f} s ({times.tokens / times.steps:.1f} tokens/s)"
    return text


# ---------------------------------------------------------------------------------------------- what to run
def _what(asked: argparse.Namespace) -> tuple[Path | None, list[str]]:
    """The model's folder, none for a random one, and the prompts."""
    given = list(asked.prompts)
    if asked.random is not None:
        if asked.model is not None:
            given.insert(0, asked.model)
            asked.model = None
        return None, given or ["Hello"]
    if asked.model is None:
        raise EngineError("say which model: a folder, or --random with one of " + ", ".join(SIZES))
    folder = Path(asked.model)
    if not folder.is_dir():
        raise EngineError(f"there is no folder '{folder}'; for a random model say --random {next(iter(SIZES))}")
    return folder, given or ["Hello"]


def _memory(device: str) -> Memory:
    if device == "auto":
        try:
            import torch
        except ImportError:
            return HostMemory()
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        return HostMemory()
    try:
        return GpuMemory()
    except ImportError:
        raise EngineError("arrays on a GPU are torch's: pip install torch") from None


def _config(asked: argparse.Namespace, folder: Path | None, memory: Memory) -> Config:
    config = SIZES[asked.random] if folder is None else read_config(folder)
    if asked.random not in (None, "tiny") and not memory.on_gpu and asked.device != "cpu":
        raise EngineError(f"{asked.random} takes a GPU, and there is none; --random tiny runs in the interpreter")
    dtype = asked.dtype or (config.dtype if memory.on_gpu else "f32")
    return replace(config, dtype=dtype)


def _weights(asked: argparse.Namespace, folder: Path | None, config: Config, memory: Memory) -> Weights:
    progress = _progress() if sys.stderr.isatty() else None
    if folder is None:
        return random_weights(config, memory, asked.seed, progress)
    return load_weights(folder, config, memory, progress)


def _progress() -> Progress:
    told = -1

    def progress(done: int, whole: int) -> None:
        nonlocal told
        percent = 100 * done // whole
        if percent > told:
            told = percent
            end = "\n" if done >= whole else ""
            print(f"\rloading: {percent} %", end=end, file=sys.stderr, flush=True)

    return progress


def _say(text: str) -> None:
    print(text, file=sys.stderr)


# ------------------------------------------------------------------------------------------------- options
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m qwen3", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("model", nargs="?", help="a folder with config.json, tokenizer.json and safetensors files")
    parser.add_argument("prompts", nargs="*", metavar="prompt", help="several are continued at once")
    parser.add_argument("--random", choices=SIZES, metavar="SIZE", help=f"random weights: {', '.join(SIZES)}")
    parser.add_argument(
        "--bundles", type=Path, metavar="DIR", help="proved kernels, as `python -m qwen3.build` makes them"
    )
    parser.add_argument(
        "--trust", type=Path, action="append", default=[], metavar="KEY.pub", help="who may sign bundles"
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--dtype", choices=("bf16", "f16", "f32"), help="default: the model's; f32 without a GPU")
    parser.add_argument("--max-tokens", type=_count, default=64, metavar="N")
    parser.add_argument("--batch", type=_count, default=1, metavar="N", help="each prompt so many times at once")
    parser.add_argument(
        "--temperature", type=_temperature, default=0.0, metavar="T", help="0: always the likeliest token"
    )
    parser.add_argument("--top-p", type=_share, default=1.0, metavar="P")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chat", action="store_true", help="ask as a user does, by the model's chat template")
    parser.add_argument("--ignore-eos", action="store_true", help="go on until --max-tokens")
    parser.add_argument("--report", type=Path, metavar="FILE", help="every launch and its proof: .json, .html or text")
    return parser


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


def _temperature(text: str) -> float:
    value = float(text)
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError("a number from 0 on")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0.0 < value <= 1.0:
        raise argparse.ArgumentTypeError("above 0, up to 1")
    return value
