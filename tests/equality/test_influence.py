"""What a kernel computes and what changes nothing is told: nobody saw what it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileverify.equality.deciding import Decision, ExactAnswer
from tileverify.equality.targets import EqualOptions, judge

KERNELS = Path(__file__).parent / "influence_kernels.py"
Function = Callable[..., Mapping[str, Any]]


def double(x: Any) -> Mapping[str, Any]:
    return {"out": x * 2}


def scale(x: Any, alpha: Any) -> Mapping[str, Any]:
    return {"out": x * alpha}


def softmax(x: Any) -> Mapping[str, Any]:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return {"out": e / e.sum(axis=1, keepdims=True)}


def variance(x: Any) -> Mapping[str, Any]:
    centred = x - x.mean(axis=1, keepdims=True)
    return {"out": (centred * centred).mean(axis=1)}


def rest(x: Any) -> Mapping[str, Any]:
    return {"out": x % 7}


def _answer(kernel: str, reference: Function) -> ExactAnswer:
    (found,) = judge(f"{KERNELS}::{kernel}", reference, EqualOptions(rounding=False, unproved=True))
    assert found.equality.answer is Decision.EQUAL, found.equality
    return found.equality


@pytest.mark.parametrize(
    ("kernel", "reference", "op"),
    [
        ("cancels_beside_a_large_number", double, "divf"),
        ("product_of_signs", double, "cmpf"),
        ("comparison_that_another_one_hides", double, "fma"),
        ("lost_at_one_size", double, "subi"),
        ("lost_at_one_scalar", scale, "ftoi"),
    ],
)
def test_what_changes_nothing_is_told(kernel: str, reference: Function, op: str) -> None:
    found = _answer(kernel, reference)
    assert op in " ".join(found.idle), found.idle
    assert all(each.startswith("line ") for each in found.idle)


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        ("doubled", double),
        ("softmax_in_one_pass", softmax),
        ("variance", variance),
        ("remainder", rest),
        ("whole_tiles_without_a_mask", double),
        ("asserting", double),
    ],
)
def test_of_an_honest_kernel_everything_does_something(kernel: str, reference: Function) -> None:
    assert _answer(kernel, reference).idle == ()
