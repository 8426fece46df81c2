"""``check --fix``: proved repairs made in the files, or shown as a difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..results import Verdict
from ..system.errors import TileVerifyError, UsageError
from ..system.printable import plural
from .shell import emit, talk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..pipeline.options import CheckOptions
    from ..pipeline.repair.fixing import Fixed
    from ..results import Hint, KernelResult, Report


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


# ----------------------------------------------------------------------------------------------------------- spec fixes
# ``check --fix-spec``: clauses that a written contract lacks, written into its spec because a person asked for it.


def fix_specs(report: Report, options: CheckOptions, spec: Path | None) -> Report:
    """Write the clauses that would prove refuted launches into their specs; says on stderr what was written.

    The report on what the files hold now, by which the exit code goes.
    """
    lacking = list(_lacking(report.results))
    if not lacking:
        talk("no clause to add to a spec")
        return report
    # From the last line to the first, so that the places of the others stay.
    lacking.sort(key=lambda each: (each[1].spec.file, each[1].spec.line) if each[1].spec else ("", 0), reverse=True)
    written = [result for result, hint in lacking if _is_written(result, hint)]
    if not written:
        return report
    again = {key: result for result in written for key, result in _checked_again(result, options, spec)}
    results = tuple(again.get((each.file, each.kernel, each.launch), each) for each in report.results)
    for result in written:
        found = again.get((result.file, result.kernel, result.launch))
        talk(f"{_name(result)}: {'not found again' if found is None else found.verdict.value}")
    return replace(report, results=results)


def _lacking(results: Sequence[KernelResult]) -> Iterator[tuple[KernelResult, Hint]]:
    for result in results:
        hints = (hint for finding in result.findings for hint in finding.hints if hint.requires)
        yield from ((result, hint) for hint in list(hints)[:1])


def _is_written(result: KernelResult, hint: Hint) -> bool:
    from ..contract.spec_text import with_requires
    from ..system.atomic_file import write_whole
    from ..system.readings import text_of

    if hint.spec is None or not hint.spec.file.endswith(".toml"):
        clauses = ", ".join(f'"{clause}"' for clause in hint.requires)
        talk(f"not written: {_name(result)} is not launched by a spec file; add requires = [{clauses}] by hand")
        return False
    path = Path(hint.spec.file)
    try:
        write_whole(path, with_requires(text_of(path), hint.spec.line, hint.requires, hint.spec.file))
    except (TileVerifyError, OSError, UnicodeDecodeError) as error:
        talk(f"not written: {error}")
        return False
    talk(f"{hint.spec.file}:{hint.spec.line}: added {' and '.join(hint.requires)}")
    return True


def _checked_again(
    result: KernelResult, options: CheckOptions, spec: Path | None
) -> Iterator[tuple[tuple[str, str, str], KernelResult]]:
    from ..pipeline import check_paths

    target = f"{result.file}::{result.kernel}::{result.launch}"
    for found in check_paths([target], spec=spec, options=replace(options, jobs=1)).results:
        yield (found.file, found.kernel, found.launch), found


def _name(result: KernelResult) -> str:
    return f"{result.file}::{result.kernel} [{result.launch}]"
