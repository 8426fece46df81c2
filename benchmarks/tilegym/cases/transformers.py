"""``tilegym.transformers``: kernels written for single models.

Their packages import the ``transformers`` library, which the kernels do not need: each file is loaded by its path.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import tilegym
import torch

from . import Call, case, normal

_MODELS = Path(tilegym.__file__).parent / "transformers"


def _load(model: str, file: str, function: str) -> Callable[..., Any]:
    path = _MODELS / model / "kernels" / f"{file}.py"
    name = f"tilegym_{model}_{file}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return getattr(sys.modules[name], function)  # type: ignore[no-any-return]


@case
def convolutions() -> Iterator[Call]:
    prefill = _load("lfm2_moe", "causal_conv1d_prefill", "lfm2_causal_conv1d_fn_cutile")
    update = _load("lfm2_moe", "causal_conv1d_update", "lfm2_causal_conv1d_update_cutile")
    silu_prefill = _load("qwen3_5", "causal_conv1d_prefill_silu", "causal_conv1d_prefill_silu_cutile")
    silu_update = _load("qwen3_5", "causal_conv1d_update_silu", "causal_conv1d_update_silu_cutile")
    for channels, length in ((2048, 37), (2048, 1024), (1000, 100)):
        yield partial(prefill, normal(1, channels, length), normal(channels, 3))
        yield partial(update, normal(1, channels, 1), normal(1, channels, 3), normal(channels, 3))
        yield partial(silu_prefill, normal(1, channels, length + 3), normal(channels, 4), length)
        yield partial(silu_update, normal(1, channels, 1), normal(1, channels, 4), normal(channels, 4))


@case
def normalisations() -> Iterator[Call]:
    for length in (1, 37, 1024):
        for model, function, size in (
            ("olmo3", "dual_rms_norm_cutile", 4096),
            ("olmoe", "dual_rms_norm_olmoe_cutile", 2048),
        ):
            q, k = normal(1, length, size), normal(1, length, size)
            yield partial(_load(model, "dual_rms_norm", function), q, k, normal(size), normal(size), 1e-6)
        for model, file, function, size in (
            ("olmo3", "rms_norm_residual_add", "rms_norm_residual_add_cutile", 4096),
            ("olmoe", "residual_add_rms_norm", "residual_add_rms_norm_olmoe_cutile", 2048),
            ("qwen3_5", "residual_add_rms_norm", "residual_add_rms_norm_cutile", 2560),
        ):
            yield partial(
                _load(model, file, function), normal(1, length, size), normal(1, length, size), normal(size), 1e-6
            )
        gated = _load("qwen3_5", "rms_norm_gated", "rms_norm_gated_cutile")
        yield partial(gated, normal(length, 128), normal(length, 128), normal(128), 1e-6)


@case
def elementwise() -> Iterator[Call]:
    for length in (1, 37, 1024):
        preprocess = _load("qwen3_5", "gdr_preprocess", "gdr_preprocess_cutile")
        rates = normal(32, dtype=torch.float32), normal(32, dtype=torch.float32)
        yield partial(preprocess, normal(length, 32), normal(length, 32), *rates)
        yield partial(_load("qwen3_5", "sigmoid_mul", "sigmoid_mul_cutile"), normal(length, 4096), normal(length, 4096))
        gate = _load("qwen3_5", "silu_and_mul_separate", "silu_and_mul_separate_cutile")
        yield partial(gate, normal(length, 9728), normal(length, 9728))
