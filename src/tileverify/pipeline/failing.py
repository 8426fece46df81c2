"""Failures of the tool itself on a kernel: a finding that says so, and an archive for who has to mend it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Final

from ..results import Finding
from ..results.codes import TV
from ..system.failures import TRACEBACK, failure_sentence
from ..system.paths import display_path
from ..system.readings import content

if TYPE_CHECKING:
    from pathlib import Path

    from ..contract.launch import KernelUnit
    from ..system.crash_report import CrashContents


NO_SOLVER: Final = "the solver is not installed: pip install z3-solver"


def lacks_solver(error: BaseException) -> bool:
    """Whether that is all that is wrong: a machine may be there for signed bundles alone."""
    return isinstance(error, ModuleNotFoundError) and error.name == "z3"


def tool_failure(error: BaseException, unit: KernelUnit | None = None, archives: Path | None = None) -> Finding:
    """An unexpected exception as a finding; the traceback goes to stderr where TILEVERIFY_TRACEBACK asks for it.

    What is needed to report it goes into the folder ``archives``, with the ``unit`` that it is about.
    """
    if lacks_solver(error):
        return Finding(TV.TOOL_FAILURE, NO_SOLVER)
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error, file=sys.stderr)
    archive = None if unit is None else _archived(error, unit, archives)
    return Finding(TV.TOOL_FAILURE, failure_sentence(error, archive))


def died(unit: KernelUnit, archives: Path | None) -> Finding:
    """The same for a process that ended while it worked on ``unit``."""
    message = "the process that verified this kernel died (a crash of the solver, or not enough memory)"
    archive = _archived(ChildProcessError(message), unit, archives)
    if archive is not None:
        message += f"; if it does so again, please report this with '{archive}'"
    return Finding(TV.TOOL_FAILURE, message)


def _archived(error: BaseException, unit: KernelUnit, archives: Path | None) -> str | None:
    """The path of the archive, as people are told it."""
    from ..system.crash_report import write_crash

    archive = None if archives is None else write_crash(error, _contents(unit), archives)
    return None if archive is None else display_path(archive)


def _contents(unit: KernelUnit) -> CrashContents:
    """The kernel as it was looked at; what cannot be had is left out."""
    from ..contract.spec_files import spec_path
    from ..system.crash_report import CrashContents
    from ..verifier.certificate.launches import launch_to_json

    told: dict[str, object] = {"file": str(unit.file), "kernel": unit.kernel, "launch": unit.launch.name}
    files: dict[str, bytes] = {}
    for path in (unit.file, spec_path(unit.file)):
        with contextlib.suppress(OSError):
            files[str(path)] = content(path)
    files["bytecode.tileirbc"] = unit.bytecode
    with contextlib.suppress(Exception):  # it may be the very launch that the failure comes from
        files["launch.json"] = json.dumps(launch_to_json(unit.launch), indent=2, default=repr).encode()
    return CrashContents({"about": told}, files)
