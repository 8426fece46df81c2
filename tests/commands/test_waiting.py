"""What people see who wait for one kernel: a line on a terminal, or lines with --verbose, and nothing of it in data."""

from __future__ import annotations

import io
import sys
import time

import pytest

from tileverify.commands import shell
from tileverify.commands.shell import Working
from tileverify.pipeline.under_way import UnderWay


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
