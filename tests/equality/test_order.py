"""Kernels whose blocks come in any order: equal where every order gives one result over the real numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileverify.equality.deciding import Decision
from tileverify.equality.points import Options
from tileverify.equality.targets import EqualOptions, JudgedKernel, judge
from tileverify.results import Verdict

KERNELS = Path(__file__).parent / "order_kernels.py"


def _judged(kernel: str, reference: Callable[..., Any], sizes: dict[str, int]) -> JudgedKernel:
    (found,) = judge(f"{KERNELS}::{kernel}", reference, EqualOptions(Options(values=sizes)))
    assert found.verdict.verdict is Verdict.PROVED
    return found


def total(x: Any, out: Any) -> Any:
    return {"out": out + x.sum()}


def total_less_one(x: Any, out: Any) -> Any:
    return {"out": out + x[1:].sum()}


def total_seen(x: Any, out: Any) -> Any:
    return {"out": out + x.sum(), "seen": np.stack([out[0], out[0] + x[:128].sum()])}


def places(out: Any) -> Any:
    return {"out": np.arange(len(out)), "queue": np.array([len(out)])}


def test_additions_alone_have_one_result() -> None:
    found = _judged("total", total, {"N": 300})
    assert found.verdict.deterministic is False  # in floats: each addition rounds
    assert found.equality.answer is Decision.EQUAL, found.equality.reason
    assert _judged("total", total_less_one, {"N": 300}).equality.answer is Decision.DIFFERENT


@pytest.mark.parametrize(
    ("kernel", "reference", "sizes", "reason"),
    [
        ("total_seen", total_seen, {"N": 200}, "the result depends on the order of blocks"),
        ("places", places, {"N": 5}, "it is not known that every order of blocks gives the same result"),
    ],
)
def test_what_hangs_on_the_order_is_not_decided(
    kernel: str, reference: Callable[..., Any], sizes: dict[str, int], reason: str
) -> None:
    """One block after the other, each is its reference."""
    found = _judged(kernel, reference, sizes).equality
    assert found.answer is Decision.NOT_DECIDED
    assert found.reason.startswith(reason), found.reason


def test_a_reduction_by_one_addition_need_not_be_a_sum() -> None:
    found = _judged("doubled_first", lambda x, out: {"out": x.sum(keepdims=True)}, {"N": 4}).equality
    assert found.answer is not Decision.EQUAL


ORDER = "depends on the order in which it is made"
IDENTITY = "depends on how often its identity takes part"


@pytest.mark.parametrize(
    ("kernel", "reference", "reason"),
    [
        ("differences", lambda x, out: {"out": (x[:1] - x[2:3]) - (x[1:2] - x[3:])}, ORDER),
        ("running_differences", lambda x, out: {"out": 2 * x[:1] - np.cumsum(x)}, ORDER),
        ("sum_and_one", lambda x, out: {"out": x.sum(keepdims=True)}, IDENTITY),
    ],
)
def test_a_reduction_whose_order_matters_is_not_decided(
    kernel: str, reference: Callable[..., Any], reason: str
) -> None:
    """In the order of the interpreter, each is its reference."""
    found = _judged(kernel, reference, {"N": 4}).equality
    assert found.answer is Decision.NOT_DECIDED
    assert reason in str(found.reason)


def test_a_reduction_by_a_body_of_several_ops_has_one_result_where_its_laws_hold() -> None:
    found = _judged("joined_probabilities", lambda x, out: {"out": 1 - np.prod(1 - x, keepdims=True)}, {"N": 4})
    assert found.equality.answer is Decision.EQUAL, found.equality.reason
