"""Launches are remembered by all that a contract and a kernel's parameters depend on."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.launching.imitation import Tensor

from tileverify.launching.launch_cache import MOST_PLANS, Kinds, Planned, Remembered


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))


A = Tensor()
ARGUMENTS = (A, A, 2.0, 3, True, "name")


class Plan:
    """Counts its launches."""

    alive = ()

    def __init__(self) -> None:
        self.streams: list[Any] = []

    def launch(self, stream: Any) -> None:
        self.streams.append(stream)


class Ahead:
    """Launches at once."""

    def launch(self, stream: Any, use: Any, arguments: Any, make: Any, owners: Any = ()) -> None:
        make(stream)


def remembered() -> Remembered:
    return Remembered(Ahead())  # type: ignore[arg-type]


def kept(*arguments: Any) -> tuple[Remembered, Plan]:
    kernel, plan = remembered(), Plan()
    kernel.first("first", (8,), arguments, Planned(plan, None, True))  # type: ignore[arg-type]
    return kernel, plan


def test_an_equal_launch_is_made_again() -> None:
    assert not remembered().launch("s", (8,), ARGUMENTS)
    kernel, plan = kept(*ARGUMENTS)
    assert kernel.launch("s", (8,), (Tensor(), Tensor(), 2.0, 3, True, "name"))
    assert kernel.launch("t", (8,), list(ARGUMENTS))
    assert plan.streams == ["first", "s", "t"]


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
    kernel, plan = kept(*ARGUMENTS)
    changed = (*ARGUMENTS[:place], other, *ARGUMENTS[place + 1 :])
    assert not kernel.launch("s", (8,), changed)
    assert plan.streams == ["first"]


def test_grids_and_numbers_of_arguments_tell_launches_apart() -> None:
    kernel, _ = kept(*ARGUMENTS)
    assert not kernel.launch("s", (9,), ARGUMENTS)
    assert not kernel.launch("s", [8], ARGUMENTS)
    assert not kernel.launch("s", (8,), ARGUMENTS[:-1])
    assert not kernel.launch("s", (8,), (*ARGUMENTS, 1))


def test_zeros_have_signs() -> None:
    kernel, _ = kept(0.0)
    assert not kernel.launch("s", (8,), (-0.0,))
    assert kernel.launch("s", (8,), (0.0,))


def test_lists_and_other_arrays_are_not_remembered() -> None:
    assert Kinds.of(([A],)) is None
    assert Kinds.of((object(),)) is None
    kernel, _ = kept([A])
    assert not kernel.launch("s", (8,), ([A],))


def test_a_kernel_without_arguments() -> None:
    kernel, _ = kept()
    assert kernel.launch("s", (8,), ())


def test_the_oldest_are_forgotten() -> None:
    kernel, plans = remembered(), [Plan() for _ in range(MOST_PLANS + 2)]
    for number, plan in enumerate(plans):
        kernel.first("first", (8,), (number,), Planned(plan, None, True))  # type: ignore[arg-type]
    assert not kernel.launch("s", (8,), (1,))
    assert kernel.launch("s", (8,), (2,))
    assert plans[2].streams == ["first", "s"]


def test_what_must_be_asked_again_is_not_remembered() -> None:
    kernel, plan = remembered(), Plan()
    kernel.first("s", (8,), ARGUMENTS, Planned(plan, None, False))  # type: ignore[arg-type]
    assert plan.streams == ["s"]
    assert not kernel.launch("s", (8,), ARGUMENTS)
