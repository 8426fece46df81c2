"""Which branches count as taken, of what a probability is known, and what is found where conditions are arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

import tileverify
from tileverify.equality import deciding
from tileverify.equality.answer_text import difference, fields, sentence
from tileverify.equality.deciding import Decision, ExactAnswer
from tileverify.equality.field import Array
from tileverify.equality.points import Options
from tileverify.equality.targets import EqualOptions, judge

KERNELS = Path(__file__).with_name("way_kernels.py")


Reference: TypeAlias = Callable[..., object]


def same(x: Array) -> Array:
    return x.copy()


def floors(x: Array) -> Array:
    return np.asarray(np.floor(x))


def magnitude(x: Array) -> Array:
    return np.asarray(np.abs(x))


def answer(name: str, reference: Reference = same) -> ExactAnswer:
    (found,) = tileverify.equal(f"{KERNELS}::{name}", reference)
    return found.equality


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("at_constants_alone", "the comparison > at line {} was false at every point"),
        ("in_lanes_that_are_not_stored", "the comparison > at line {} was false at every point"),
    ],
)
def test_ways_that_nothing_shows_are_not_taken(name: str, said: str) -> None:
    found = answer(name)
    assert found.answer is Decision.EQUAL
    assert any(each.split(" at line ")[0] == said.split(" at line ")[0] for each in found.one_way), found.one_way


@pytest.mark.parametrize("name", ["both_ways", "by_a_branch"])
def test_ways_that_reach_something_are(name: str) -> None:
    found = answer(name)
    assert (found.answer, found.one_way, found.tried) == (Decision.EQUAL, (), ())


@pytest.mark.parametrize("name", ["floor_of_a_bump", "by_a_sign"])
def test_conditions_made_of_arithmetic_are_found(name: str) -> None:
    found = answer(name)
    assert found.answer is Decision.DIFFERENT, sentence(found)


@pytest.mark.parametrize(("name", "reference"), [("whole_part", floors), ("integers", same)])
def test_what_no_law_is_known_of_has_no_probability(name: str, reference: Reference) -> None:
    found = answer(name, reference)
    assert (found.answer, found.tried) == (Decision.EQUAL, ("out",))
    assert fields(found)["probability_log2"] is None
    assert "tried, without a probability" in sentence(found)


def test_what_a_law_is_known_of_has_one() -> None:
    found = answer("both_ways")
    assert "2^-" in sentence(found)
    assert fields(found)["probability_log2"] < -60


def test_a_while_that_is_never_entered_is_told() -> None:
    found = answer("a_loop_of_one_round")
    assert found.answer is Decision.EQUAL
    assert [each for each in found.one_way if "ended in its first round" in each], found.one_way


def test_bits_there_and_back_are_what_they_were() -> None:
    found = answer("bits_there_and_back")
    assert (found.answer, found.tried) == (Decision.EQUAL, ())
    looked_at = answer("bits_looked_at", magnitude)
    assert (looked_at.answer, looked_at.reason.partition(" (")[0]) == (Decision.NOT_DECIDED, "the bits of floats")


def test_it_is_said_which_arrays_are_compared() -> None:
    assert answer("both_ways").compared == ("out",)
    left_out = answer("both_ways", lambda x, out: {})
    assert left_out.difference is not None
    assert "the reference gives no such array" in difference(left_out.difference)


def test_steps_count_for_a_launch_of_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one of several launches may take bounds no launch that is the only one."""
    monkeypatch.setattr(deciding, "SHARE", 1 << 12)
    assert answer("of_numbers").answer is Decision.EQUAL
    (few,) = judge(f"{KERNELS}::of_numbers", same, EqualOptions(Options(steps=1 << 12)))
    assert few.equality.answer is Decision.NOT_DECIDED
