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
