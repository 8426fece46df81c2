"""Kernels that are another function where something rare holds: contents are drawn in which it does, or it is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tileverify.equality.deciding import Decision, ExactAnswer
from tileverify.equality.targets import EqualOptions, judge

KERNELS = Path(__file__).parent / "rare_kernels.py"


def _reference(x: Any, scale: Any) -> Mapping[str, Any]:
    return {"out": x * scale}


def _answer(kernel: str) -> ExactAnswer:
    (found,) = judge(f"{KERNELS}::{kernel}", _reference, EqualOptions(rounding=False))
    return found.equality


@pytest.mark.parametrize(
    "kernel",
    [
        "but_for_great_powers",
        "but_for_great_negative_powers",
        "but_beside_a_number",
        "but_a_little_below_a_number",
        "but_for_tiles_of_one_number",
        "but_for_rising_tiles",
    ],
)
def test_what_is_rare_in_random_numbers_is_looked_for(kernel: str) -> None:
    assert _answer(kernel).answer is Decision.DIFFERENT


def test_a_condition_of_several_that_never_held_is_told() -> None:
    found = _answer("but_in_a_narrow_band")
    assert found.answer is Decision.EQUAL
    assert [each for each in found.one_way if each.startswith("the condition and at line ")], found.one_way
