"""A reference may ask for the type of its floats: it is told what it would be, or the attempt ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileverify.equality.deciding import Decision, ExactAnswer
from tileverify.equality.exact_arrays import Numbers, presented
from tileverify.equality.field import Undecided
from tileverify.equality.points import Options, drawn
from tileverify.equality.primitives import float_type
from tileverify.equality.reference_runs import numpy_of_numbers
from tileverify.equality.targets import EqualOptions, judge

KERNELS = Path(__file__).parent / "tie_kernels.py"


def _numbers(floats: str) -> Any:
    found = presented(drawn(np.random.default_rng(1), np.random.default_rng(2).standard_normal((3, 4))))
    assert isinstance(found, Numbers)
    found.floats = float_type(floats)
    return found


KNOWN = """
x | x + 1.0 | 2 * x | x + y | x.T | x[0] | x[:, 1:] | x.reshape(-1) | x.copy() | np.exp(x) | x @ y.T | x / np.arange(4)
x.astype(np.float64) | x.astype(y.dtype) | np.zeros(3, x.dtype) | np.zeros(3) | np.add(x, y, dtype=np.float64)
np.zeros_like(x) | x.sum(axis=0) | np.mean(x) | np.where(x > 0, x, 0.0) | np.maximum(x, np.float64(0)) | x ** 2
np.concatenate([x, x]) | np.stack([x, x]) | x.max() | np.ones((2, 2), np.float16)
"""


@pytest.mark.parametrize(
    "expression", [each.strip() for line in KNOWN.strip().splitlines() for each in line.split("|")]
)
def test_a_type_is_numpys_or_unknown(expression: str) -> None:
    numpy: Any = numpy_of_numbers()
    found = eval(expression, {"np": numpy, "x": _numbers("float32"), "y": _numbers("float16")})
    plain = {"np": np, "x": np.ones((3, 4), np.float32), "y": np.ones((3, 4), np.float16)}
    wanted = np.asarray(eval(expression, plain)).dtype
    try:
        same = found.dtype == wanted
    except Undecided:
        return
    assert same, (found.dtype, wanted)


LOOKING: list[Callable[[Any], object]] = [
    lambda dtype: dtype == np.float32, lambda dtype: dtype != np.float32, lambda dtype: dtype.kind,
    lambda dtype: dtype.name, lambda dtype: dtype.itemsize, lambda dtype: dtype in (np.float32, np.float64), str,
    lambda dtype: {np.dtype(np.float32): 1}.get(dtype), lambda dtype: np.issubdtype(dtype, np.floating),
    lambda dtype: np.finfo(dtype), lambda dtype: np.arange(3, dtype=dtype), lambda dtype: np.dtype(dtype),
    lambda dtype: np.arange(3).astype(dtype), lambda dtype: np.can_cast(dtype, np.float32), bool,
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(LOOKING)))
def test_an_unknown_type_says_nothing(number: int) -> None:
    unknown = np.mean(_numbers("float32"), axis=0).dtype
    with pytest.raises((Undecided, TypeError)):
        LOOKING[number](unknown)
    assert np.zeros_like(_numbers("float32"), dtype=unknown).shape == (3, 4)


def _answer(reference: Callable[..., Any]) -> ExactAnswer:
    (found,) = judge(f"{KERNELS}::doubled", reference, EqualOptions(Options(values={"N": 40}), rounding=False))
    return found.equality


def test_a_reference_that_branches_on_the_type_takes_the_branch_of_its_arrays() -> None:
    """The kernel doubles: with floats of 32 bits one of these is it, the other is not."""
    assert _answer(lambda x: {"out": 2 * x if x.dtype == np.float32 else 3 * x}).answer is Decision.EQUAL
    assert _answer(lambda x: {"out": 3 * x if x.dtype == np.float32 else 2 * x}).answer is Decision.DIFFERENT
    assert _answer(lambda x: {"out": (x + x).astype(x.dtype)}).answer is Decision.EQUAL
    unknown = _answer(lambda x: {"out": 2 * x if np.mean(x, keepdims=True).dtype == np.float32 else 3 * x})
    assert unknown.answer is Decision.NOT_DECIDED
    assert "the type (dtype) of computed floats" in unknown.reason
