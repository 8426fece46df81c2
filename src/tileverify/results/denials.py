"""What a run counts as an error although the verifier gives a warning, or no finding at all."""

from __future__ import annotations

from dataclasses import replace

from . import Finding, KernelResult, Report, SourceSite
from .codes import TV


def limits_denied(result: KernelResult) -> KernelResult:
    """``result`` with every size limit of a proof as an error: TV304, one for each limit that no finding is about, at
    the kernel."""
    found = [replace(each, denied=True) if each.code == TV.INDEX_WRAPS else each for each in result.findings]
    told = [each.message for each in found if each.code == TV.INDEX_WRAPS]
    silent = (limit for limit in result.limits if not any(f"`{limit}`" in message for message in told))
    kernel = SourceSite(result.file, result.line, None, access="", array="")
    found += [Finding(TV.INDEX_WRAPS, f"the proof needs the limit `{each}`", (kernel,), denied=True) for each in silent]
    return replace(result, findings=tuple(found))


def deny_undetermined(report: Report) -> Report:
    """``report`` with every warning that results are not determined (TV403) as an error."""

    def denied(finding: Finding) -> Finding:
        return replace(finding, denied=True) if finding.code == TV.UNDETERMINED else finding

    results = (replace(result, findings=tuple(map(denied, result.findings))) for result in report.results)
    return replace(report, results=tuple(results))
