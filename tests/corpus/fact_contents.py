"""Contents of index arrays under facts that say more than a range, an order or that values differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileverify.execution.data import generated
from tileverify.frontend.sources.expressions import evaluate
from tileverify.frontend.sources.launch import DataFact, LaunchSpec

_SIMPLE = {"range", "injective", "permutation", "nondecreasing"}


def said(name: str, spec: LaunchSpec) -> list[DataFact]:
    """The facts in which the array occurs."""
    return [fact for fact in spec.data if name in (fact.array, fact.other)]


def has_rich_facts(name: str, spec: LaunchSpec) -> bool:
    """Whether a fact on this array is no plain range, order, permutation or injectivity."""
    return any(
        fact.kind not in _SIMPLE or fact.unless or (fact.kind == "injective" and fact.low is not None)
        for fact in said(name, spec)
    )


def starts_last(spec: LaunchSpec) -> list[str]:
    """The arrays of the launch in an order in which they can be filled: starts of segments behind their lengths."""
    starts = {fact.array for fact in spec.data if fact.other is not None}
    return sorted((array.name for array in spec.arrays()), key=lambda name: name in starts)


def rich_contents(
    name: str, dtype: str, shape: Sequence[int], spec: LaunchSpec, values: Mapping[str, int], seed: int,
    known: Mapping[str, NDArray[Any]],
) -> NDArray[Any]:  # fmt: skip
    """Contents that keep all facts on the array; ``known`` holds those of arrays filled before."""
    made = generated(name, dtype, shape, said(name, spec), lambda e: evaluate(e, values), seed, known)
    return np.asarray(made).reshape(-1)
