"""Errors of a source or spec as findings: with their code, and every place that has a part in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..results import Finding, KernelResult, SourceSite, Verdict
from ..results.codes import TV
from ..system.errors import DecodeError, SpecError, TileVerifyError
from ..system.paths import display_path

if TYPE_CHECKING:
    from ..frontend.sources.discover import SourceFailure


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
    if error.file is None or error.line is None:
        return Finding(code, str(error))
    places = ((error.file, error.line, error.column), *error.also)
    sites = tuple(SourceSite(display_path(file), line, column, "", "") for file, line, column in places)
    return Finding(code, error.message, sites)


def _code(error: TileVerifyError) -> TV:
    if isinstance(error, DecodeError):
        return TV.BYTECODE_ERROR
    return TV.SPEC_ERROR if isinstance(error, SpecError) else TV.SOURCE_ERROR
