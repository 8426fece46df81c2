"""What is no verdict, as findings: errors of a source or spec, failures of the tool; and the names that are shown."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..contract.launch import LaunchSpec
from ..contract.spec_text import WrittenKey, keys_of_launch, place_of
from ..results import Finding, Hint, KernelResult, SourceSite, SpecPlace, Verdict
from ..results.codes import TV
from ..system.errors import (
    TRACEBACK,
    DecodeError,
    SpecError,
    TileVerifyError,
    UnsupportedOperation,
    failure_sentence,
)
from ..system.printable import display_path
from ..system.readings import content

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit
    from ..frontend.sources.discover import SourceFailure
    from ..results.details import KernelDetails, Traffic
    from ..system.crash_report import CrashContents
    from ..verifier.attempt import Outcome


def result_of(failure: SourceFailure) -> KernelResult:
    """What is said of a file, kernel or launch that gives no unit."""
    error = failure.error
    return KernelResult(
        file=display_path(failure.file),
        kernel=failure.kernel or "",
        launch=failure.launch or "",
        verdict=Verdict.ERROR,
        findings=(finding_of(error),),
        line=error.line if error.file and Path(error.file) == failure.file else None,
    )


def finding_of(error: TileVerifyError, code: TV | None = None) -> Finding:
    """The error as a finding; ``code``: another one than that of its kind."""
    code = code or _code(error)
    advice = error.advice if isinstance(error, UnsupportedOperation) else ""
    hints = (Hint("declare-calls", "display", advice),) if advice else ()
    if error.file is None or error.line is None:
        return Finding(code, str(error), hints=hints)
    places = ((error.file, error.line, error.column), *error.also)
    sites = tuple(SourceSite(display_path(file), line, column, "", "") for file, line, column in places)
    return Finding(code, error.message, sites, hints=hints)


def _code(error: TileVerifyError) -> TV:
    if isinstance(error, DecodeError):
        return TV.BYTECODE_ERROR
    return TV.SPEC_ERROR if isinstance(error, SpecError) else TV.SOURCE_ERROR


# -------------------------------------------------------------------------------------------------------------- failing
# Failures of the tool itself on a kernel: a finding that says so, and an archive for who has to mend it.


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


# ------------------------------------------------------------------------------------------------------ contract places
# Where the lines of a launch spec stand that a message about a contradictory contract (TV004) names.


_NAMED: Final = re.compile(r"`([^`]+)`")


def with_places(findings: tuple[Finding, ...], launch: LaunchSpec) -> tuple[Finding, ...]:
    """``findings``, of which those on the contract have a site for each line of it that they name, in the file's
    order."""
    if not launch.file or launch.line is None or all(each.code != TV.CONTRADICTORY_CONTRACT for each in findings):
        return findings
    keys = keys_of_launch(launch.file, launch.line)

    def placed(finding: Finding) -> Finding:
        if finding.code != TV.CONTRADICTORY_CONTRACT or finding.sites:
            return finding
        places: list[tuple[int, int | None]] = sorted(set(_places(launch, finding.message, keys)))
        places = places or [(launch.line or 1, None)]
        return replace(finding, sites=tuple(SourceSite(launch.file, *place, access="", array="") for place in places))

    return tuple(map(placed, findings))


def _places(launch: LaunchSpec, message: str, keys: tuple[WrittenKey, ...]) -> Iterator[tuple[int, int]]:
    from ..verifier.vacuity import lines_of

    named = set(_NAMED.findall(message))
    for line in lines_of(launch):
        if line.text in named:
            fields = {"grid": "grid", "args": f"args.{line.text.partition(' = ')[0]}"}
            place = place_of(keys, fields.get(line.kind, f"{line.kind}[{line.place}]"), "")
            if place is not None:
                yield place


# ------------------------------------------------------------------------------------------------------------ displayed
# How results are shown: files under the names that bytecode has, and the contract that the unit came with.


class Displayed:
    """What a result of ``unit`` says, with short paths."""

    def __init__(self, unit: KernelUnit) -> None:
        self.unit = unit
        self._names: dict[str, str] = {}

    def findings(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return tuple(
            replace(finding, sites=tuple(map(self.site, finding.sites)), hints=tuple(map(self._hint, finding.hints)))
            for finding in findings
        )

    def _hint(self, hint: Hint) -> Hint:
        """One that asks for more in the contract says where that is written."""
        launch = self.unit.launch
        if not hint.requires or not launch.file or launch.line is None:
            return hint
        return replace(hint, spec=SpecPlace(display_path(Path(launch.file)), launch.line))

    def site(self, site: SourceSite) -> SourceSite:
        chain = tuple((self.name(file), line, column) for file, line, column in site.call_chain)
        return replace(site, file=None if site.file is None else self.name(site.file), call_chain=chain)

    def details(self, details: KernelDetails) -> KernelDetails:
        return replace(
            details,
            ir=tuple(line if line.file is None else replace(line, file=self.name(line.file)) for line in details.ir),
            obligations=tuple(replace(each, sites=tuple(map(self.site, each.sites))) for each in details.obligations),
            accesses=tuple(replace(each, site=self.site(each.site)) for each in details.accesses),
            drawings=tuple(
                replace(
                    drawing,
                    sides=tuple(
                        side if side.site is None else replace(side, site=self.site(side.site))
                        for side in drawing.sides
                    ),
                )
                for drawing in details.drawings
            ),
            traffic=None if details.traffic is None else self.traffic(details.traffic),
        )

    def traffic(self, traffic: Traffic) -> Traffic:
        named = (each if each.file is None else replace(each, file=self.name(each.file)) for each in traffic.accesses)
        return replace(traffic, accesses=tuple(named))

    def name(self, file: str) -> str:
        """`_name`, once for each file."""
        if file not in self._names:
            self._names[file] = self._name(file)
        return self._names[file]

    def _name(self, file: str) -> str:
        """A short path; the unit's own file is spelled as the user spelled it, links and all."""
        from ..frontend.sources.bytecode_file import noted_source

        own = self.unit.file
        if Path(file) == own.resolve():
            return display_path(own)
        beside = own.parent / file
        # A producer may have noted its sources relative to where the bytecode lies.
        found = beside if not Path(file).exists() and beside.exists() else Path(file)
        compiled_here = own.suffix in (".py", ".cu")
        return display_path(found if compiled_here else noted_source(found, own.parent))


# --------------------------------------------------------------------------------------------------------- own contract
# What was proved beside the contract that the unit came with: all of it, fewer launches, or more.


def is_conditional(unit: KernelUnit, outcome: Outcome) -> bool:
    """Whether it is a proof of fewer launches than the unit's contract has."""
    return outcome.verdict is Verdict.PROVED and bool(outcome.requires) and not is_wider(unit, outcome.launch)


def stated(unit: KernelUnit, outcome: Outcome) -> tuple[str, ...]:
    """The contract that was proved; one of any grid names the grid that was written, one of a Triton kernel its
    order."""
    from ..contract.as_terms import ANY_GRID

    own = ", ".join(unit.launch.grid_text)
    lines = outcome.contract
    if own and is_wider(unit, outcome.launch):
        lines = tuple(f"{ANY_GRID}; the launch's own is ({own})" if line == ANY_GRID else line for line in lines)
    return (*lines, f'order = "{unit.launch.order}"') if unit.producer == "triton" else lines


def arguments(unit: KernelUnit, outcome: Outcome) -> tuple[str, ...]:
    """What launches of the contract that is `stated` pass, as a spec has it."""
    from ..contract.arguments import argument_text

    return tuple(argument_text(outcome.launch or unit.launch))


def is_wider(unit: KernelUnit, proved: LaunchSpec | None) -> bool:
    """Whether what was proved is another contract than the unit's own, which holds it."""
    own = unit.launch
    return proved is not None and (proved.arguments, proved.grid, proved.requires) != (
        own.arguments, own.grid, own.requires,
    )  # fmt: skip
