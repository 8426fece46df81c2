"""Launches are remembered by all that a contract and a kernel's parameters depend on."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from tileverify.launching.remembered import MOST_PLANS, Remembered, reader


@dataclass(frozen=True)
class Tensor:
    """What is asked of a tensor of torch."""

    address: int = 4096
    shape: tuple[int, ...] = (8, 4)
    strides: tuple[int, ...] = (4, 1)
    dtype: str = "float32"

    def data_ptr(self) -> int:
        return self.address

    def stride(self) -> tuple[int, ...]:
        return self.strides


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))


A = Tensor()
ARGUMENTS = (A, A, 2.0, 3, True, "name")


def plan(number: int) -> Any:
    return SimpleNamespace(number=number)


def test_an_equal_launch_is_known() -> None:
    kernel = Remembered()
    assert kernel.plan((8,), ARGUMENTS) is None
    kept = plan(1)
    kernel.keep((8,), ARGUMENTS, kept)
    assert kernel.plan((8,), (Tensor(), Tensor(), 2.0, 3, True, "name")) is kept
    assert kernel.plan((8,), list(ARGUMENTS)) is kept


@pytest.mark.parametrize(
    ("place", "other"),
    [
        (0, replace(A, address=4112)),
        (0, replace(A, shape=(4, 8))),
        (1, replace(A, strides=(8, 1))),
        (1, replace(A, dtype="int32")),
        (2, 2.5),
        (2, 2),
        (3, 4),
        (3, 3.0),
        (3, True),
        (4, 1),
        (5, "other"),
        (0, 7),
        (2, A),
        (0, [A]),
    ],
)
def test_another_launch_is_not(place: int, other: Any) -> None:
    kernel = Remembered()
    kernel.keep((8,), ARGUMENTS, plan(1))
    changed = (*ARGUMENTS[:place], other, *ARGUMENTS[place + 1 :])
    assert kernel.plan((8,), changed) is None


def test_grids_and_numbers_of_arguments_tell_launches_apart() -> None:
    kernel = Remembered()
    kernel.keep((8,), ARGUMENTS, plan(1))
    assert kernel.plan((9,), ARGUMENTS) is None
    assert kernel.plan([8], ARGUMENTS) is None
    assert kernel.plan((8,), ARGUMENTS[:-1]) is None
    assert kernel.plan((8,), (*ARGUMENTS, 1)) is None


def test_zeros_have_signs() -> None:
    kernel = Remembered()
    kernel.keep((8,), (0.0,), plan(1))
    assert kernel.plan((8,), (-0.0,)) is None
    assert kernel.plan((8,), (0.0,)) is not None


def test_lists_and_other_arrays_are_not_remembered() -> None:
    assert reader(([A],)) is None
    assert reader((object(),)) is None
    kernel = Remembered()
    kernel.keep((8,), ([A],), plan(1))
    assert kernel.plan((8,), ([A],)) is None


def test_a_kernel_without_arguments() -> None:
    kernel = Remembered()
    kernel.keep((8,), (), plan(1))
    assert kernel.plan((8,), ()) is not None


def test_the_oldest_are_forgotten() -> None:
    kernel = Remembered()
    for number in range(MOST_PLANS + 2):
        kernel.keep((8,), (number,), plan(number))
    assert kernel.plan((8,), (1,)) is None
    assert kernel.plan((8,), (2,)).number == 2  # type: ignore[union-attr]
