"""``check --fix``: proved repairs made in the files, or shown as a difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..results import Verdict
from ..system.errors import UsageError
from ..system.plural import plural
from .shell import emit, talk

if TYPE_CHECKING:
    from ..pipeline.options import CheckOptions
    from ..pipeline.repair.fixing import Fixed
    from ..results import Report


def checked_options(fix: bool, unsafe: bool, diff: bool, repair: bool | None) -> None:
    """Raises `UsageError` for what cannot be meant."""
    if unsafe and not (fix or diff):
        raise UsageError("--unsafe-fixes says which repairs --fix or --diff may make: give one of them")
    if (fix or diff) and repair is False:
        raise UsageError("--no-repair looks for no repairs, so that --fix and --diff have none to make")


def make_fixes(report: Report, options: CheckOptions, spec: Path | None, *, unsafe: bool, diff: bool) -> Report:
    """Write proved repairs into the files, or, with ``diff``, their difference to stdout; says on stderr what was done
    and what was not.  The report on what the files hold now, by which the exit code goes."""
    from ..pipeline.repair.fixing import ALL, SAFE, fixed, judge_of
    from .shell import Working

    with Working(live=False):
        files = list(fixed(report.results, judge_of(options, spec), ALL if unsafe else SAFE))
    written: list[Fixed] = []
    for file in files:
        if diff:
            emit(file.difference())
        elif file.done:
            try:
                file.write()
            except UsageError as error:
                talk(f"not mended: {error}")
                continue
            written.append(file)
        for line in file.done:
            talk(f"{'to mend' if diff else 'mended'}: {line}")
        for line in file.left:
            talk(f"not mended: {line}")
    if not files:
        talk("nothing to mend")
    return _mended(report, written) if written else report


def _mended(report: Report, files: list[Fixed]) -> Report:
    """``report`` with those launches as proved that were proved with what was written."""
    proved = {(file.file, *launch) for file in files for launch in file.proved}
    results = tuple(
        replace(each, verdict=Verdict.PROVED, findings=())
        if each.findings and (Path(each.file), each.kernel, each.launch) in proved
        else each
        for each in report.results
    )
    before = sum(bool(each.findings) for each in report.results)
    left = sum(bool(each.findings) for each in results)
    talk(f"{before - left} of {plural(before, 'launch')} with findings now proved; {left} left")
    return replace(report, results=results)
