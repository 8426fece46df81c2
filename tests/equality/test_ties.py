"""Contents at which alone two functions differ: equal numbers, numbers of the program, integers of their whole type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileverify.equality.deciding import Decision
from tileverify.equality.points import Options
from tileverify.equality.targets import EqualOptions, judge

KERNELS = Path(__file__).parent / "tie_kernels.py"


def _answer(kernel: str, reference: Callable[..., Any]) -> Decision:
    sizes = {"M": 5, "N": 8} if kernel.endswith("largest") else {"N": 32}
    (found,) = judge(f"{KERNELS}::{kernel}", reference, EqualOptions(Options(values=sizes)))
    return found.equality.answer


@pytest.mark.parametrize(
    ("kernel", "wrong", "right"),
    [
        ("above_one", lambda x: np.where(x >= 1, 5.0, 0.0), lambda x: np.where(x > 1, 5.0, 0.0)),
        ("but_for_five", lambda x: x * 1, lambda x: np.where(x == 5, 0.0, x)),
        ("but_in_a_narrow_window", lambda x: x * 1, lambda x: np.where((x > 0.5) & (x < 0.50001), 0.0, x)),
        ("doubled", lambda x: np.clip(2 * x, -1e5, 1e5), lambda x: x + x),
        ("last_of_the_largest", lambda x: x.argmax(1), lambda x: 7 - x[:, ::-1].argmax(1)),
        ("first_of_the_largest", lambda x: 7 - x[:, ::-1].argmax(1), lambda x: x.argmax(1)),
        ("thirds", lambda x: np.trunc(x / 3).astype(int), lambda x: x // 3),
        ("but_for_12345", lambda x: x * 1, lambda x: np.where(x == 12345, 0, x)),
        ("doubled_in_8_bits", lambda x: x.astype(np.int32) * 2, lambda x: (x * 2).astype(np.int32)),
        ("thousands", lambda x: x.astype(np.int64) * 1000, lambda x: x * np.int32(1000)),
        ("whole_sum", lambda x: np.maximum(x, 0).sum(keepdims=True), lambda x: x.sum(keepdims=True)),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_differs_at_single_numbers_is_seen(
    kernel: str, wrong: Callable[[Any], Any], right: Callable[[Any], Any]
) -> None:
    assert _answer(kernel, lambda x: {"out": wrong(x)}) is Decision.DIFFERENT
    assert _answer(kernel, lambda x: {"out": right(x)}) is Decision.EQUAL


def test_scalars_are_of_any_sign_and_those_of_the_program() -> None:
    (found,) = judge(f"{KERNELS}::multiples", lambda x, k: {"out": x * abs(k)}, EqualOptions())
    assert found.equality.answer is Decision.DIFFERENT
    (found,) = judge(f"{KERNELS}::multiples", lambda x, k: {"out": x * k}, EqualOptions())
    assert found.equality.answer is Decision.EQUAL
    (found,) = judge(f"{KERNELS}::but_for_a_scale_of_one", lambda x, scale: {"out": x * scale}, EqualOptions())
    assert found.equality.answer is Decision.DIFFERENT


@pytest.mark.parametrize(
    ("kernel", "right"),
    [
        ("but_for_minus_seven", lambda x, n: x * (n != -7)),
        ("but_below_minus_two_thousand", lambda x, n: x * (n >= -2000)),
        ("but_where_one_less_wraps", lambda x, n: x * (n != -(2**31))),
    ],
)
def test_what_differs_at_single_scalars_below_zero_is_seen(kernel: str, right: Callable[[Any, int], Any]) -> None:
    (found,) = judge(f"{KERNELS}::{kernel}", lambda x: {"out": x * 1}, EqualOptions(rounding=False))
    assert found.equality.answer is Decision.DIFFERENT
    (found,) = judge(f"{KERNELS}::{kernel}", lambda x, n: {"out": right(x, n)}, EqualOptions(rounding=False))
    assert found.equality.answer is Decision.EQUAL, found.equality.reason


def test_scalars_that_the_contract_shuts_out_are_not_looked_at() -> None:
    (found,) = judge(f"{KERNELS}::but_for_what_is_shut_out", lambda x: {"out": x * 1}, EqualOptions(rounding=False))
    assert found.equality.answer is Decision.EQUAL, found.equality.reason


@pytest.mark.parametrize(
    ("kernel", "right"),
    [
        ("but_for_scales_below_zero", lambda x, scale: np.where(scale < 0, 0.0, x * scale)),
        ("but_for_a_scale_of_an_eighth", lambda x, scale: np.where(scale == -0.125, 0.0, x * scale)),
    ],
)
def test_what_differs_for_some_float_scalars_is_seen(kernel: str, right: Callable[[Any, Any], Any]) -> None:
    options = EqualOptions(Options(values={"N": 40}), rounding=False)
    (found,) = judge(f"{KERNELS}::{kernel}", lambda x, scale: {"out": x * scale}, options)
    assert found.equality.answer is Decision.DIFFERENT
    (found,) = judge(f"{KERNELS}::{kernel}", lambda x, scale: {"out": right(x, scale)}, options)
    assert found.equality.answer is Decision.EQUAL, found.equality.reason
