"""Variants that `tileverify.tune` compares with the first one."""

from typing import Any

import numpy as np
import pytest

import tileverify
from tileverify.backend.guard import LaunchRefused

from .variant_kernels import scaled


def arrays(n: int = 300) -> tuple[Any, Any]:
    return np.ones(n, np.float32), np.zeros(n, np.float32)


def tuned(space: list[tuple[int, int]], factor: Any = lambda tile: 2.0, n: int = 300, **options: Any) -> Any:
    x, out = arrays(n)
    return tileverify.tune(
        space, None, lambda c: (-(-n // c[0]),), scaled, lambda c: (x, out, factor(c[0]), 5, *c), **options
    )


def test_variants_that_are_different_are_refused_with_the_difference() -> None:
    found = tuned([(64, 0), (128, 0), (128, 1), (32, 2)], equal=True)
    assert found.best in ((64, 0), (128, 0))
    first, other, *wrong = found.trials
    assert (first.equality, first.refusal) == ("the one that others are compared with", "")
    assert other.equality.startswith("equal over the real numbers at 1 launch")
    for each in wrong:
        assert each.microseconds is None
        assert each.refusal.startswith("it is not the same function as (64, 0): different: out[")


def test_nothing_is_compared_unless_it_is_asked_for() -> None:
    found = tuned([(64, 0), (128, 1)])
    assert [(each.refusal, each.equality) for each in found.trials] == [("", "")] * 2


def test_a_smaller_launch_to_compare_at() -> None:
    space, n = [(1024, 0), (2048, 0), (2048, 1)], (1 << 18) + 1
    far = tuned(space[:2], n=n, equal=True)
    assert far.trials[1].equality == "not decided: no launch was small enough"
    x, out = arrays(200)
    near = tuned(space, n=n, equal=lambda c: ((-(-200 // c[0]),), (x, out, 2.0, 5, *c)))
    assert near.trials[1].equality.startswith("equal")
    assert "different" in near.trials[2].refusal


def test_other_float_scalars_are_not_decided() -> None:
    found = tuned([(64, 0), (128, 0)], factor=lambda tile: float(tile), equal=True)
    assert found.trials[1].equality == "not decided: the two are called with other float scalars"


def test_the_first_has_to_be_proved() -> None:
    with pytest.raises(LaunchRefused, match="no variant is proved"):
        tileverify.tune([1], None, lambda c: (9,), scaled, lambda c: (*arrays(), 2.0, 5, 64, 0), equal=True)
