"""Early starts from a program: a permission, used for kernels that wait before they touch anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.command_line import CommandLine
from tests.launching.imitation import Device, Plan, Stream, Tensor, imitate

import tileverify
from tileverify.backend.gpu import driver
from tileverify.launching.bundled import BundledKernel, load
from tileverify.launching.in_flight import InFlight
from tileverify.launching.launch_cache import Remembered
from tileverify.system.errors import UsageError

KERNELS = """import cuda.tile as ct


@ct.kernel
def waits(x, out):
    ct.grid_dependency_control_wait()
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (16,)))


@ct.kernel
def never_waits(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (16,)))
"""

SPEC = """[[launch]]
kernel = "{}"
grid = ["cdiv(N, 16)"]
args = {{ x = "f32[N]", out = "f32[N]" }}
"""


class Loaded:
    """A kernel on a GPU, which writes down what it is asked for."""

    def __init__(self) -> None:
        self.planned: list[bool] = []
        self.made: list[int] = []

    def plan(self, grid: Any, named: Any, lists: Any, *, early: bool = False) -> Plan:
        self.planned.append(early)
        return Plan(self.made)


@pytest.fixture
def kernels(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> dict[str, BundledKernel]:
    Path("early.py").write_text(KERNELS)
    Path("early.tileverify.toml").write_text(SPEC.format("waits") + SPEC.format("never_waits"))
    found = {}
    work = InFlight(Device())
    for name in ("waits", "never_waits"):
        assert tileverify("build", f"early.py::{name}", "-o", f"{name}.tvk", "--arch", "none").code == 0
        found[name] = load(f"{name}.tvk")
        found[name]._remembered, found[name]._early = Remembered(work), Remembered(work)
        found[name]._loaded[0] = Loaded()  # type: ignore[assignment]
    monkeypatch.setattr(driver, "device_of", lambda address: 0)
    monkeypatch.setattr(driver, "several", lambda: False)
    imitate(monkeypatch)
    return found


def loaded(kernel: BundledKernel) -> Loaded:
    found: Any = kernel._loaded[0]
    assert isinstance(found, Loaded)
    return found


@pytest.fixture
def arguments() -> tuple[Tensor, Tensor]:
    x, out = (Tensor(address, (64,), (1,), "torch.float32") for address in (4096, 8192))
    return x, out


def test_a_kernel_that_waits_is_started_early(
    kernels: dict[str, BundledKernel], arguments: tuple[Tensor, Tensor]
) -> None:
    kernel, stream = kernels["waits"], Stream(11)
    for _ in range(3):
        tileverify.launch(stream, (4,), kernel, arguments, programmatic_dependent_launch=True)
    assert loaded(kernel).planned == [True]
    assert loaded(kernel).made == [11] * 3
    assert kernel._early.again(stream, (4,), arguments), "not found at once"


def test_without_the_permission_it_is_not(kernels: dict[str, BundledKernel], arguments: tuple[Tensor, Tensor]) -> None:
    """Also where the same launch was made with it before, and the other way round."""
    kernel, stream = kernels["waits"], Stream(11)
    for permitted in (True, False, True, False):
        kernel.launch(stream, (4,), arguments, programmatic_dependent_launch=permitted)
        kernel.launch(stream, (4,), arguments)
    assert loaded(kernel).planned == [True, False]


def test_a_kernel_that_does_not_wait_is_made_in_order(
    kernels: dict[str, BundledKernel], arguments: tuple[Tensor, Tensor]
) -> None:
    kernel = kernels["never_waits"]
    tileverify.launch(Stream(11), (4,), kernel, arguments, programmatic_dependent_launch=True)
    assert loaded(kernel).planned == [False]


def test_options_that_there_are_not(kernels: dict[str, BundledKernel], arguments: tuple[Tensor, Tensor]) -> None:
    kernel, stream = kernels["waits"], Stream(11)
    with pytest.raises(UsageError, match="a launch takes no 'vouhc', only data, vouch, programmatic_dependent_launch"):
        tileverify.launch(stream, (4,), kernel, arguments, vouhc=True)  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="from a bundle, whose facts are those that it was built with"):
        tileverify.launch(stream, (4,), kernel, arguments, data=["range(x, 0, 3)"])
    assert not loaded(kernel).made
