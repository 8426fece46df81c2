"""All suppressions of a run, in order: comments and tables, then the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...results import Report
from ...system.errors import UsageError
from ...system.plural import plural
from .apply import with_reasons, with_suppressions
from .baseline import Baseline, first_baseline, read_baseline, shrunk, with_baseline, write_baseline
from .model import TableRule


def suppressed(
    report: Report, tables: Sequence[TableRule], baseline: Path | None, *, update: bool, whole: bool
) -> tuple[Report, str]:
    """The report with everything marked that need not fail, and a sentence on the baseline ("" if there is none).

    ``update``: write the baseline anew, if it is not there, else without what is gone.  ``whole``: everything in the
    files was checked.  Raises `UsageError` and `ConfigError` for a baseline that cannot be used.
    """
    report = with_suppressions(report, tables, whole=whole)
    told = ""
    if baseline is not None:
        known, told = _baseline(report, baseline, update=update, whole=whole)
        report = with_baseline(report, known)
    return with_reasons(report), told


def checked_baseline(path: Path | None, *, update: bool, whole: bool) -> None:
    """A baseline that cannot be used is told before minutes of work."""
    if path is None:
        if update:
            raise UsageError(
                "--update-baseline: name the file with --baseline FILE, or `baseline` in [tool.tileverify]"
            )
        return
    if update and not whole:
        raise UsageError("--update-baseline needs whole files or folders: of one kernel it cannot tell what is gone")
    if not update or path.exists():
        read_baseline(path)
    elif not path.parent.is_dir():
        raise UsageError(f"--baseline: there is no folder '{path.parent}'")


def _baseline(report: Report, path: Path, *, update: bool, whole: bool) -> tuple[Baseline, str]:
    if update and not path.exists():
        known = first_baseline(path, report)
        write_baseline(known)
        return known, f"baseline {path}: written with {plural(len(known.entries), 'finding')}"
    known = read_baseline(path)
    left = shrunk(known, report) if whole else known
    gone = len(known.entries) - len(left.entries)
    if not gone:
        return known, f"baseline {path}: {plural(len(known.entries), 'finding')} known"
    if not update:
        return known, f"baseline {path}: {plural(gone, 'finding')} of it gone; --update-baseline removes what is gone"
    write_baseline(left)
    return (
        left,
        f"baseline {path}: {plural(gone, 'finding')} gone and removed, {plural(len(left.entries), 'finding')} left",
    )
