"""Every op of Tile IR says how it takes part in decisions, and what asks something is noted where it asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tileverify
from tileverify.equality import op_rules
from tileverify.equality.deciding import Decision, ExactAnswer
from tileverify.equality.decision_points import ASKED, NATURES, Nature
from tileverify.equality.field import Array

KERNELS = Path(__file__).with_name("kink_kernels.py")


def twice(x: Array) -> Array:
    return x * 2


def answer(name: str, reference: Callable[..., object] = twice) -> ExactAnswer:
    (found,) = tileverify.equal(f"{KERNELS}::{name}", reference)
    return found.equality


def test_what_asks_has_a_rule_that_notes_it() -> None:
    asking = {name for name, nature in NATURES.items() if nature is Nature.ASKING}
    assert asking == {*ASKED, *op_rules._ASKING_THEMSELVES}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bump_by_a_power", "exp2"),
        ("bump_by_a_magnitude", "absf"),
        ("hole_by_a_root", "rsqrt"),
        ("hole_by_a_logarithm", "log"),
        ("hole_by_a_half_power", "fpowf"),
        ("bump_by_the_largest_lane", "reduce"),
    ],
)
def test_what_is_hidden_in_a_function_is_told(name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no contents show it: turning points, which would, are found elsewhere."""
    monkeypatch.setattr("tileverify.equality.deciding.at_turns", lambda kernel, contract, launches, known: known)
    found = answer(name)
    assert found.answer is Decision.EQUAL, found
    assert any(f"the {said} at line " in each for each in found.one_way), found.one_way


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("normed", lambda x: x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5)),
        ("masked_softmax", None),
        ("folded", lambda x: np.abs(x) * 3),
    ],
)
def test_what_goes_both_ways_or_never_could_is_not(name: str, reference: Callable[..., object] | None) -> None:
    found = answer(name, reference or causal)
    assert (found.answer, found.one_way) == (Decision.EQUAL, ())


def causal(x: Array) -> Array:
    rows, columns = np.arange(x.shape[0])[:, None], np.arange(x.shape[1])[None, :]
    powers = np.where(columns <= rows, np.exp(x), 0)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
