"""A step of Qwen3 by `torch.compile` in a CUDA graph, beside that of the example on proved kernels, in one run.

    python -m benchmarks.gpu.qwen3_compiled BUNDLES KEY.pub OUT [--size 4B ...] [--sequences 1 8] [--cache 512 2048]

Both have random weights of the real shapes in bf16.  torch's step is written for speed: fused weights (q, k, v; gate
and up), a cache of one size into which positions on the device say where to write, blocks that are compiled with
coordinate descent tuning, and the whole step, up to the next token, in one graph.  Writes qwen3-compiled.json into
``OUT``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from examples.qwen3.config import SIZES, Config

from tileverify import kernels

from .qwen3 import BANDWIDTH, STEPS, microseconds, model_of, step_time

F = torch.nn.functional
TUNED = {"coordinate_descent_tuning": True, "epilogue_fusion": True, "max_autotune": False}


def normed(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * weight


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary positions by halves."""
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat((-right, left), -1) * sin


class CompiledStep:
    """``sequences`` texts of ``cached`` tokens each, one step after the other."""

    def __init__(self, config: Config, sequences: int, cached: int) -> None:
        self.config, self.sequences, self.room = config, sequences, -(-(cached + 2 * STEPS + 2) // 64) * 64
        width, make = config.head_width, lambda *shape: torch.randn(shape, device="cuda", dtype=torch.bfloat16) * 0.02
        self.layers = [
            {
                "norm": make(config.hidden) + 1,
                "qkv": make(config.packed_heads * width, config.hidden),
                "q_norm": make(width) + 1,
                "k_norm": make(width) + 1,
                "out": make(config.hidden, config.heads * width),
                "norm2": make(config.hidden) + 1,
                "gate_up": make(2 * config.intermediate, config.hidden),
                "down": make(config.hidden, config.intermediate),
                "k": make(sequences, config.kv_heads, self.room, width),
                "v": make(sequences, config.kv_heads, self.room, width),
            }
            for _ in range(config.layers)
        ]
        self.embedding = make(config.vocabulary, config.hidden)
        self.head = self.embedding if config.tied else make(config.vocabulary, config.hidden)
        self.last = make(config.hidden) + 1
        self.tokens = torch.zeros(sequences, dtype=torch.int64, device="cuda")
        self.position = torch.full((1,), cached, dtype=torch.int64, device="cuda")
        angles = torch.arange(self.room, device="cuda")[:, None] / config.rope_base ** (
            torch.arange(0, width, 2, device="cuda") / width
        )
        self.cos, self.sin = (f(torch.cat((angles, angles), -1)).to(torch.bfloat16) for f in (torch.cos, torch.sin))
        self.places = torch.arange(self.room, device="cuda")
        self.block = torch.compile(self._block, fullgraph=True, dynamic=False, options=TUNED)
        self.choose = torch.compile(self._choose, fullgraph=True, dynamic=False, options=TUNED)

    def _block(self, x: torch.Tensor, layer: dict[str, torch.Tensor], position: torch.Tensor) -> torch.Tensor:
        c, n = self.config, self.sequences
        qkv = F.linear(normed(x, layer["norm"], c.eps), layer["qkv"]).view(n, c.packed_heads, c.head_width)
        q, k, v = qkv.split((c.heads, c.kv_heads, c.kv_heads), 1)
        cos, sin = self.cos[position], self.sin[position]
        q = turned(normed(q, layer["q_norm"], c.eps), cos, sin).view(n, c.kv_heads, c.group, c.head_width)
        k = turned(normed(k, layer["k_norm"], c.eps), cos, sin)
        layer["k"].index_copy_(2, position, k[:, :, None])
        layer["v"].index_copy_(2, position, v[:, :, None])
        seen = (self.places <= position)[None, None, None]
        o = F.scaled_dot_product_attention(q, layer["k"], layer["v"], attn_mask=seen)
        x = x + F.linear(o.reshape(n, -1), layer["out"])
        gate, up = F.linear(normed(x, layer["norm2"], c.eps), layer["gate_up"]).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, layer["down"])

    def _choose(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(normed(x, self.last, self.config.eps), self.head).argmax(-1)

    def step(self) -> None:
        x = self.embedding[self.tokens]
        for layer in self.layers:
            x = self.block(x, layer, self.position)
        self.tokens.copy_(self.choose(x))
        self.position.add_(1)

    def record(self) -> torch.cuda.CUDAGraph:
        aside = torch.cuda.Stream()
        with torch.cuda.stream(aside):
            for _ in range(3):
                self.step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        return graph


def compiled_time(config: Config, sequences: int, cached: int) -> dict[str, Any]:
    begun = time.perf_counter()
    torch._dynamo.reset()
    with torch.no_grad():
        steps = CompiledStep(config, sequences, cached)
        graph = steps.record()
    compiling = time.perf_counter() - begun

    def run() -> None:
        for _ in range(STEPS):
            graph.replay()

    took = microseconds(run, lambda: steps.position.fill_(cached), STEPS)
    limit = 1e6 * config.read_in_a_step(cached, sequences) / BANDWIDTH
    return {
        "us": took, "tokens/s": 1e6 * sequences / took, "of roofline": limit / took, "compiling s": compiling,
    }  # fmt: skip


def measured(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for size in asked.size:
        for sequences in asked.sequences:
            for cached in asked.cache:
                row: dict[str, Any] = {"size": size, "sequences": sequences, "cache": cached}
                try:
                    row["torch"] = compiled_time(SIZES[size], sequences, cached)
                except Exception as error:  # the others are still worth their time
                    row["torch"] = {"error": f"{type(error).__name__}: {str(error)[:400]}"}
                torch.cuda.empty_cache()
                model = model_of(SIZES[size])
                row["proved"] = step_time(model, sequences, cached)
                del model
                torch.cuda.empty_cache()
                yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("bundles")
    parser.add_argument("key")
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", nargs="+", default=["4B"], choices=[size for size in SIZES if size != "tiny"])
    parser.add_argument("--sequences", nargs="+", type=int, default=[1])
    parser.add_argument("--cache", nargs="+", type=int, default=[512])
    asked = parser.parse_args()
    kernels.use(asked.bundles, keys=[asked.key], only_signed=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for row in measured(asked):
        print(json.dumps(row), flush=True)
        rows.append(row)
        (asked.out / "qwen3-compiled.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
