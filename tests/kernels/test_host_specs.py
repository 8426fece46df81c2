"""What host functions of models that run launch is in the kernels' specs, so that there can be bundles of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array

from tileverify import kernels
from tileverify.contract.spec_files import read_spec_file
from tileverify.kernels import prepared, reductions
from tileverify.kernels.arrays import value_of

DEVICE = Path(prepared.__file__).parent / "device"
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])


@cache
def specs(kernel: str) -> list[list[Any]]:
    """The arguments of each launch of a kernel, as its spec describes them, in the order of the parameters."""
    family = next(path for path in DEVICE.glob("*.py") if f"\ndef {kernel}(" in path.read_text(encoding="utf-8"))
    function = getattr(import_module(f"tileverify.kernels.device.{family.stem}"), kernel)._pyfunc
    launches = [each.fields for each in read_spec_file(family.with_suffix(".tileverify.toml"))]
    own: list[Any] = [each["args"] for each in launches if each["kernel"] == kernel]
    return [[args[name] for name in inspect.signature(function).parameters] for args in own]


def described(text: Any, value: Any) -> bool:
    if not isinstance(text, str):
        return bool(text == value)
    if "[" not in text:
        return isinstance(value, float if text.startswith("f") else int)
    dtype, _, shape = text.partition("[")
    rank = re.sub(r"\(.*?\)", "", shape.partition(";")[0]).count(",") + 1
    return not isinstance(value, int | float) and (value_of(value).dtype, len(value.shape)) == (dtype, rank)


class Looked(prepared.AtHand):
    """Makes no launch, but looks whether one like it is described."""

    def launch(self, kernel: str, grid: tuple[int, ...] | None, arguments: Sequence[Any], stream: Any) -> bool:
        known = specs(kernel)
        assert any(all(map(described, each, arguments)) for each in known), (kernel, arguments)
        return True


def call_all(dtype: DTypeLike) -> None:
    """Functions of models that run, with heads and rows of the sizes that models have."""

    def zeros(*shape: int, dtype: DTypeLike = dtype) -> Array:
        return np.zeros(shape, dtype)

    def places(*shape: int) -> Array:
        return np.zeros(shape, np.int32)

    for width in (64, 128):
        tables = zeros(9, width // 2, dtype=np.float32), zeros(9, width // 2, dtype=np.float32)
        q, k, weight, cache = zeros(2, 3, 8, width), zeros(2, 3, 2, width), zeros(width), zeros(2, 2, 9, width)
        one, new, at = zeros(2, 8, width), zeros(2, 2, width), places(2)
        kernels.rope(q, k, *tables, places(2, 3))
        kernels.rope_in_place(q[0], *tables, places(3))
        kernels.rope_from(q, k, *tables, places(1))
        kernels.qk_norm(q, k, weight, weight)
        for start in (0, places(1)):
            kernels.cache_update(k, k, cache, cache, start)
        rest = (*tables, at, cache, cache)
        kernels.prefill_heads(q, k, k, *rest)
        kernels.decode_heads(one, new, new, *rest)
        weights = (weight, weight, *rest)
        kernels.prefill_normed_heads(q, k, k, *weights)
        kernels.decode_normed_heads(one, new, new, *weights)
        kernels.decode_attention(one, cache, cache, at)
        many = zeros(2, 80, width)
        kernels.decode_attention(many, cache, cache, at)
        for causal in (True, False):
            seen = zeros(2, 8, 9, width)
            kernels.attention(seen, cache, cache, causal)
            kernels.attention(seen, cache, cache, causal, used=places(1))
    for width in (70, 1030, 2049, 5000, 12287, 16384, 16385):  # one for each tile of rows
        rows, weight = zeros(2, width), zeros(width)
        kernels.softmax(rows)
        kernels.rms_norm(rows, weight)
        kernels.layer_norm(rows, weight, weight)
    x, row = zeros(9, 70), zeros(70)
    for ids in (places(4), places(4).astype(np.int64)):
        kernels.embedding(x, ids)
        kernels.gather_rows(x, ids)
    kernels.to_stack(row, x, 0)
    kernels.from_stack(x, 0)
    kernels.transpose(x)
    kernels.swap_heads(zeros(2, 3, 4, 5))
    for name in ("bf16", "f16", "f32"):
        kernels.cast(x, name)
    kernels.fill(x, 0.0)
    for reduction in (kernels.row_sums, kernels.row_means, kernels.row_maxima, kernels.column_sums):
        reduction(zeros(70, 70))
    for vectors in (x, x[:1]):
        kernels.matvec(vectors, x)
        kernels.matvec(vectors, x, residual=zeros(len(vectors), 9))
        kernels.matvec_gated(vectors, x, x)
        kernels.matvec_normed(vectors, row, x)
        kernels.matvec_normed_gated(vectors, row, x, x)
        kernels.matvec_experts(vectors, x[None], places(len(vectors)))
    kernels.head_argmax(x, x)
    kernels.argmax(x)
    kernels.top_k(zeros(1, 5000), 3)
    kernels.sample(x, zeros(9, dtype=np.float32))
    kernels.sample_top(zeros(9, 3, dtype=np.float32), places(9, 3), zeros(9, dtype=np.float32))


@TYPES
def test_every_launch_is_described(dtype: DTypeLike, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "at_hand", Looked())
    monkeypatch.setattr(reductions, "processors", lambda array: 8)
    call_all(dtype)


def test_what_is_not_described_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "at_hand", Looked())
    with pytest.raises(AssertionError, match="matvec"):
        kernels.matvec(np.zeros(3), np.zeros((2, 3)))
