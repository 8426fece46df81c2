"""A run of tests that leaves a file in the checkout says so, and fails where nobody can have made it meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.leftovers import files_that_git_lacks

ROOT = Path(__file__).resolve().parents[2]
HOOKS = """
from tests import leftovers
from tests.leftovers import looked_at_first as pytest_configure
from tests.leftovers import looked_at_last as pytest_sessionfinish
from tests.leftovers import told as pytest_terminal_summary
"""
TESTS = {
    "a file": "def test():\n    open('made.txt', 'w').close()\n",
    "an archive that git ignores": "def test():\n    open('tileverify-crash-0123.zip', 'w').close()\n",
    "what git ignores": "def test():\n    open('made.ignored', 'w').close()\n",
    "nothing": "def test():\n    pass\n",
}
LEFT = {"a file": "made.txt", "an archive that git ignores": "tileverify-crash-0123.zip"}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


@pytest.mark.parametrize(("what", "processes"), [*((what, []) for what in TESTS), ("a file", ["-n", "2"])])
def test_what_a_run_leaves_is_told(tmp_path: Path, what: str, processes: list[str]) -> None:
    (tmp_path / "conftest.py").write_text(HOOKS)
    (tmp_path / "test_it.py").write_text(TESTS[what])
    (tmp_path / "there_before.txt").write_text("")
    (tmp_path / ".gitignore").write_text("*.ignored\n*.zip\n__pycache__\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "conftest.py", "test_it.py", ".gitignore", "pytest.ini")
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", *processes]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # loading them all takes longer than the run
    for name in LEFT.values():
        (tmp_path / name).unlink(missing_ok=True)
    by_hand = subprocess.run(run, cwd=tmp_path, env={**environment, "CI": ""}, capture_output=True, text=True)
    for name in LEFT.values():
        (tmp_path / name).unlink(missing_ok=True)
    alone = subprocess.run(run, cwd=tmp_path, env={**environment, "CI": "true"}, capture_output=True, text=True)
    assert by_hand.returncode == 0, by_hand.stdout
    assert alone.returncode == (what in LEFT), alone.stdout
    for ran in (by_hand, alone):
        found = [line for line in ran.stdout.splitlines() if "left in the checkout" in line]
        assert found == ([f"files that these tests left in the checkout: {LEFT[what]}"] if what in LEFT else [])


def test_without_git_nothing_is_said(tmp_path: Path) -> None:
    assert files_that_git_lacks(tmp_path) is None
