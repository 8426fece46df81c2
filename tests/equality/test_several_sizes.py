"""A kernel that is another function where several sizes are large is different, or what was not seen is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tileverify.equality.deciding import Decision, ExactAnswer
from tileverify.equality.targets import EqualOptions, judge

KERNELS = Path(__file__).parent / "size_kernels.py"


def _twice(x: Any) -> Mapping[str, Any]:
    return {"out": 2 * x}


def _answer(kernel: str) -> ExactAnswer:
    (found,) = judge(f"{KERNELS}::{kernel}", _twice, EqualOptions(rounding=False))
    return found.equality


@pytest.mark.parametrize(
    "kernel",
    [
        "nothing_beyond_two_sizes",
        "by_the_quotients_of_two_sizes",
        "in_late_blocks_of_wide_rows",
        "where_one_of_them_is_limited",
    ],
)
def test_all_sizes_are_large_at_once(kernel: str) -> None:
    found = _answer(kernel)
    assert found.answer is Decision.DIFFERENT, found


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        ("nothing_beyond_sizes_that_are_too_large", "the comparison <= at line {} was true at every point"),
        ("chosen_by_a_block_that_is_too_late", "the comparison > at line {} was false at every point"),
        ("changed_in_a_loop_that_is_never_entered", "the loop at line {} was never entered"),
    ],
)
def test_what_no_launch_reaches_is_told(kernel: str, told: str) -> None:
    found = _answer(kernel)
    assert found.answer is Decision.EQUAL, found
    lines = KERNELS.read_text().splitlines()
    start = lines.index(f"def {kernel}(x, out):")
    line = next(number for number, text in enumerate(lines[start:], start + 1) if "00" in text)
    assert told.format(line) in found.one_way


def test_the_signs_of_a_remainder_are_the_compiler_s_own() -> None:
    found = _answer("by_a_remainder")
    assert (found.answer, found.one_way) == (Decision.EQUAL, ())
