"""``check --fix-spec``: clauses that a written contract lacks, written into its spec because a person asked for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..system.errors import TileVerifyError
from .shell import talk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..pipeline.options import CheckOptions
    from ..results import Hint, KernelResult, Report


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
    from ..contract.spec_edit import with_requires
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
