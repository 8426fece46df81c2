"""A launch on a GPU whose proof trusts assertions to stop blocks: its first one tells what a failing one does."""

from __future__ import annotations

import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.command_line import CommandLine

from tileverify.backend.gpu import driver
from tileverify.corpus import ROOT
from tileverify.launching import bundled
from tileverify.launching.bundled import BundledKernel, load
from tileverify.launching.launcher import Launcher
from tileverify.pipeline import CheckOptions

DESTROYS = "destroys the CUDA context of the whole program"


class OnDevice:
    """An array on a GPU; nobody reads it."""

    def __init__(self, address: int, shape: tuple[int, ...], typestr: str) -> None:
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": typestr, "data": (address, False), "version": 3,
        }  # fmt: skip


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """One on which nothing is made."""
    plan = SimpleNamespace(plan=lambda *call, **options: SimpleNamespace(alive=()))
    monkeypatch.setattr(bundled, "_told", set())
    monkeypatch.setattr(driver, "device_of", lambda address: 0)
    monkeypatch.setattr(driver, "architecture", lambda device: "sm_100")
    monkeypatch.setattr(Launcher, "_on", lambda *call: plan)
    monkeypatch.setattr(BundledKernel, "_on", lambda *call: plan)


def told(plan: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        plan()
    return [str(each.message) for each in seen]


def test_the_first_launch_of_a_bundle_tells(tileverify: CommandLine) -> None:
    target = f"{ROOT / 'cutile_rust' / 'positions.tileirbc'}::embedding_batch_f16_entry::assertions-stop"
    assert tileverify("build", target, "-o", "rows.tvk", "--arch", "none").code == 0
    with pytest.warns(UserWarning, match="assert-stops"):
        kernel = load("rows.tvk")
    arrays = OnDevice(1 << 20, (16,), "<i4"), OnDevice(1 << 21, (32, 64), "<f2"), OnDevice(1 << 22, (16, 64), "<f2")
    first, again = (told(lambda: kernel.planned(None, None, arrays)) for _ in range(2))
    assert len(first) == 1
    assert DESTROYS in first[0]
    assert "assert-stops" in first[0]
    assert again == []
    hosts = np.zeros(16, np.int32), np.zeros((32, 64), np.float16), np.zeros((16, 64), np.float16)
    bundled._told.clear()
    assert told(lambda: kernel.launch(None, None, hosts)) == [], "the interpreter ends the block alone"


@pytest.mark.parametrize("trust", [(), ("assert-stops",)])
def test_the_first_launch_that_is_proved_here_tells(kernels: ModuleType, tmp_path: Any, trust: tuple[str, ...]) -> None:
    launcher = Launcher(CheckOptions(cache=tmp_path, trust=trust))
    arguments = (2.0, OnDevice(1 << 20, (256,), "<f4"), OnDevice(1 << 21, (256,), "<f4"), 128)
    found = told(lambda: launcher.planned(None, (2,), kernels.axpy, arguments))
    assert [DESTROYS in each for each in found] == [True] * len(trust)


def test_what_is_printed_of_the_proof_tells_it_too(tileverify: CommandLine) -> None:
    target = f"{ROOT / 'cutile_rust' / 'positions.tileirbc'}::embedding_batch_f16_entry::assertions-stop"
    assert DESTROYS in tileverify("check", target).out
