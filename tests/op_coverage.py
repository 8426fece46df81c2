"""Which ops the interpreter's tests execute: looked at when a run ends, over all of its processes.

Tests of one folder run in several processes, in no order that one could rely on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tileverify.frontend.bytecode.optable import OPERATIONS

NOT_MODELLED: Final = {"preview$call"}
FOLDER: Final = Path(__file__).parent / "backend"

executed: Final[set[str]] = set()
"""Names of the ops that the tests of `FOLDER` executed in this process so far."""

_everywhere: Final[set[str]] = set()
_untested: Final[list[str]] = []


def untested(names: set[str]) -> list[str]:
    """What no test executed, and what a test executed though it is not modelled."""
    return sorted(({op.name for op in OPERATIONS} - names) ^ NOT_MODELLED)


def is_whole(session: pytest.Session) -> bool:
    """All tests of the folder run: what some of them execute says nothing about the rest."""
    config = session.config
    files = {item.path for item in session.items if item.path.parent == FOLDER}
    chosen = config.option.keyword or config.option.markexpr or config.option.deselect
    return not chosen and files == set(FOLDER.glob("test_*.py")) and not any("::" in each for each in config.args)


def is_process_of_many(config: pytest.Config) -> bool:
    return hasattr(config, "workeroutput")


# ------------------------------------------------------------------------------ hooks, which conftest takes up
def looked_at_last(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["executed_ops"] = sorted(executed) if is_whole(session) else None
    elif _everywhere:
        _untested.extend(untested(_everywhere))
        if _untested and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of xdist ended."""
    _everywhere.update(getattr(node, "workeroutput", {}).get("executed_ops") or ())


def told(terminalreporter: pytest.TerminalReporter) -> None:
    if _untested:
        terminalreporter.write_line(f"FAILED: ops that no test of {FOLDER} executes: {', '.join(_untested)}", red=True)
