"""Time limits and Ctrl-C strike wherever the program is, also where C code makes another exception of them."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from typing import Any

import pytest

from tileverify import pipeline
from tileverify.corpus import ROOT
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import Verdict
from tileverify.system.pace import KernelTimeout, deadline

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals as POSIX has them")


class Slow:
    """An argument whose conversion lasts until a signal strikes."""

    @classmethod
    def from_param(cls, value: object) -> object:
        time.sleep(10)
        return value


def converting(*_: Any) -> None:
    function = ctypes.CDLL(None).abs
    function.argtypes = [Slow]  # type: ignore[list-item]
    function(1)


def in_a_sort(*_: Any) -> None:
    """An exception that somebody makes another one of."""
    try:
        time.sleep(10)
    except BaseException as error:
        raise ValueError("no key") from error


@pytest.mark.parametrize("work", [converting, in_a_sort])
def test_time_is_up(work: Any) -> None:
    with pytest.raises(KernelTimeout), deadline(0.05):
        work()


@pytest.mark.parametrize("work", [converting, in_a_sort])
def test_of_two_limits_the_inner_one_says_nothing_of_the_outer(work: Any) -> None:
    def outer() -> None:
        with pytest.raises(KernelTimeout), deadline(0.05):
            work()
        raise ValueError("an error of its own")

    with pytest.raises(ValueError, match="an error of its own"), deadline(60):
        outer()


@pytest.mark.parametrize("seconds", [None, 60.0])
def test_ctrl_c_is_not_lost(seconds: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slow, "from_param", lambda value: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), deadline(seconds):
        converting()


@pytest.mark.parametrize(
    ("stage", "verdict"),
    [("unit_check._decide", Verdict.UNDECIDED), ("repair.repairing.with_repairs", Verdict.REFUTED)],
)
def test_a_kernel_is_undecided_where_the_solver_is_interrupted(
    stage: str, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{pipeline.__name__}.{stage}", converting)
    target = f"{ROOT / 'racy' / 'missing_grid_axis.py'}"
    result = check_paths([target], options=CheckOptions(timeout_s=1.0, repair=True)).results[0]
    assert result.verdict is verdict
    assert not any("ArgumentError" in text for text in (*result.notes, *(each.message for each in result.findings)))
    assert (result.findings[0].code == "TV903") is (verdict is Verdict.UNDECIDED)
