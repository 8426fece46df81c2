"""A run of the tests leaves nothing in the checkout: looked at when it ends, by the process that started the others.

What git ignores may be there, but archives of a failure of the tool may not: one was committed once.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tileverify.system.crash_report import FOLDER

LISTINGS: Final = (("--exclude-standard",), ("--ignored", "--exclude=tileverify-crash-*.zip"))

_before: Final[dict[Path, frozenset[str]]] = {}
_left: Final[list[str]] = []


def files_that_git_lacks(checkout: Path) -> frozenset[str] | None:
    """Files that are neither in the repository nor ignored, and archives of failures; ``None`` without git."""
    found: set[str] = set()
    for words in LISTINGS:
        command = ["git", "-C", str(checkout), "ls-files", "-z", "--others", *words]
        try:
            listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
        found.update(filter(None, listed.stdout.split("\0")))
    return frozenset(found)


# ------------------------------------------------------------------------------ hooks, which conftest takes up
def looked_at_first(config: pytest.Config) -> None:
    """Note what is there before the first test; failures of the tool in tests are told, and put nowhere."""
    os.environ[FOLDER] = ""
    if not hasattr(config, "workerinput") and (present := files_that_git_lacks(config.rootpath)) is not None:
        _before[config.rootpath] = present


def looked_at_last(session: pytest.Session) -> None:
    """What is there beyond that fails a run where nobody edits meanwhile; elsewhere it is only told."""
    for checkout, before in _before.items():
        _left.extend(sorted((files_that_git_lacks(checkout) or frozenset()) - before))
    if _left and os.environ.get("CI") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def told(terminalreporter: pytest.TerminalReporter) -> None:
    """The files that were left, at the end of what a run prints."""
    if _left:
        terminalreporter.write_line(f"files that these tests left in the checkout: {', '.join(_left)}", red=True)
