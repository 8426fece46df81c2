"""Shared work is done once, whoever asks, and is there for all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from tests import shared

from ..sabotage import outcomes


def test_a_process_alone_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(shared.FOLDER, raising=False)
    assert shared.in_parts("alone", range(3), str) == ["0", "1", "2"]


def test_each_part_is_done_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(shared.FOLDER, str(tmp_path))
    done: list[int] = []
    seen: list[list[str]] = []

    def work(part: int) -> str:
        done.append(part)
        return f"part {part}"

    threads = [threading.Thread(target=lambda: seen.append(shared.in_parts("n", range(20), work))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == list(range(20))
    assert seen == [[f"part {part}" for part in range(20)]] * 4


def test_a_part_whose_process_is_gone_is_done_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(shared.FOLDER, str(tmp_path))
    monkeypatch.setattr(shared, "PATIENCE", 0.1)
    folder = tmp_path / "n"
    folder.mkdir(parents=True)
    (folder / "1.taken").touch()
    assert shared.in_parts("n", range(3), str) == ["0", "1", "2"]


def test_a_run_inside_a_test_shares_nothing_with_the_run_around_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It may be about changed code; and what it leaves behind would be there for the next run, of another checkout."""
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    monkeypatch.setenv(shared.FOLDER, str(tmp_path))
    found = outcomes("campaigns/tests/test_shared.py::test_there_is_no_folder_in_a_run_of_one_process")
    assert list(found.values()) == ["passed"]
    assert os.environ[shared.FOLDER] == str(tmp_path)


def test_there_is_no_folder_in_a_run_of_one_process(request: pytest.FixtureRequest) -> None:
    assert (shared.FOLDER in os.environ) == hasattr(request.config, "workerinput")
