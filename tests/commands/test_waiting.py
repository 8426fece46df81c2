"""What people see who wait for one kernel: a line on a terminal, or lines with --verbose, and nothing of it in data."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.commands import shell
from tileverify.commands.shell import Working
from tileverify.pipeline.options import UnderWay


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "PATIENCE", 0.05)
    monkeypatch.setattr(shell, "SECONDS_BETWEEN", 0.01)


def wait_until(written: io.StringIO, text: str) -> None:
    end = time.monotonic() + 10
    while text not in written.getvalue():
        assert time.monotonic() < end, written.getvalue()
        time.sleep(0.01)


def test_a_terminal_shows_what_takes_long_and_nothing_is_left_of_it(
    impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal, under_way = Terminal(), UnderWay()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Working(live=True, under_way=under_way) as working:
        working.progress("proved k.py::quick [0]")
        with under_way.at("k.py::slow [0]"):
            wait_until(terminal, "\r\x1b[Kk.py::slow [0]: 0 s")
        shown = len(terminal.getvalue())
        wait_until(terminal, "slow [0]: 0 s\r\x1b[K1 done, last: proved k.py::quick [0]")
    assert len(terminal.getvalue()) > shown
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert "\n" not in terminal.getvalue()


def test_without_a_terminal_it_is_told_where_that_is_asked_for(
    impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, under_way = io.StringIO(), UnderWay()
    monkeypatch.setattr(sys, "stderr", told)
    with Working(live=True, under_way=under_way, told=True), under_way.at("k.py::slow [0]"):
        wait_until(told, "k.py::slow [0]: 0 s\n")
        time.sleep(0.3)
    assert "\x1b" not in told.getvalue()
    assert told.getvalue().count("\n") <= 5  # after twice the time each


def test_otherwise_nothing_is_told(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    silent, under_way = io.StringIO(), UnderWay()
    monkeypatch.setattr(sys, "stderr", silent)
    with Working(live=True, under_way=under_way), under_way.at("k.py::slow [0]"):
        time.sleep(0.3)
    assert silent.getvalue() == ""


def test_what_is_quick_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, under_way = Terminal(), UnderWay()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(shell, "SECONDS_BETWEEN", 0.01)
    with Working(live=True, under_way=under_way), under_way.at("k.py::quick [0]"):
        time.sleep(0.2)
    assert "quick" not in terminal.getvalue()


def test_a_terminal_shows_how_far_it_is_and_what_was_found_above(
    impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Working(live=True) as working:
        working.progress("refuted k.py::soon [0]", "file 1 of 40", ["k.py:1: TV101 told at the end alone"])
        time.sleep(0.1)
        working.progress("refuted k.py::late [0]", "file 3 of 40", ["k.py:9: TV101 told at once"])
    assert "\r\x1b[K2 done, file 3 of 40, last: refuted k.py::late [0]" in terminal.getvalue()
    assert "\r\x1b[Kk.py:9: TV101 told at once\n" in terminal.getvalue()
    assert "at the end alone" not in terminal.getvalue()


KERNELS = """import cuda.tile as ct


@ct.kernel
def race(x):
    ct.store(x, (0,), ct.load(x, (ct.bid(0),), (64,)))


@ct.kernel
def known(x):
    ct.store(x, (0,), ct.load(x, (ct.bid(0),), (64,)))  # tileverify: ignore[TV101, TV102] -- equal values
"""


def test_findings_are_told_when_they_are_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tileverify: CommandLine
) -> None:
    told: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(Working, "live", property(lambda self: True))
    monkeypatch.setattr(Working, "progress", lambda self, text, place, found: told.append((place, list(found))))
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py"):
        Path(name).write_text(KERNELS)
    tileverify("check", ".", "--no-worker", "-j", "1")
    assert [place for place, _ in told] == ["file 1 of 2"] * 2 + ["file 2 of 2"] * 2
    assert [len(found) > 0 for _, found in told] == [True, False] * 2
    assert told[0][1][0].startswith("a.py:6:")
    assert "(and 1 more of this cause) [race, inferred]" in told[0][1][0]
    told.clear()
    tileverify("check", "a.py", "--no-worker", "-j", "1", "--baseline", "b.json", "--update-baseline")
    assert told == [("", []), ("", [])]
