"""What is asked for beside a verdict: compared code, certificates, written arrays, repairs, reproductions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..contract.allowed import same_value_stores
from ..results import WARNINGS, CertificateFiles, Finding, Hint, KernelResult, SourceSite, Verdict, WrittenArrays
from ..results.codes import TV
from .error_findings import (
    is_wider,
    tool_failure,
)
from .options import CheckOptions as CheckOptions

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit
    from ..frontend.bytecode.model import Entry
    from ..frontend.symbolic.summary import AccessSummary
    from ..results.claim import Confirm


def with_more(
    unit: KernelUnit,
    entry: Entry,
    summary: AccessSummary,
    result: KernelResult,
    options: CheckOptions,
    left_s: float | None,
    confirm: Confirm,
) -> KernelResult:
    """A proof with what was asked for beside its verdict."""
    if options.compiled:
        from .second_readings import with_compared_code

        result = with_compared_code(unit, result, options.compiled)
    if options.certificate and result.proved_launch is not None:
        result = _with_certificate(replace(unit, launch=result.proved_launch), summary, result)
    if options.complete:
        result = _with_written(unit, entry, summary, result, left_s, confirm)
    return result


def completed(
    unit: KernelUnit,
    entry: Entry,
    summary: AccessSummary,
    result: KernelResult,
    left_s: float | None,
    confirm: Confirm | None,
) -> KernelResult:
    """The verdict on a proved kernel whose launch says which arrays are ``complete`` (TV711)."""
    from ..verifier.coverage import Coverage
    from ..verifier.unwritten import unwritten

    names = unit.launch.complete
    coverage = Coverage.of(summary, entry, unit.launch, result.clauses, names, timeout_s=left_s)
    found = [unwritten(each, coverage, unit.launch, confirm) for each in coverage.others]
    if not found:
        codes = tuple(sorted({*result.proved_codes, TV.NEVER_WRITTEN}))
        return replace(result, proved_codes=codes, written=WrittenArrays(coverage.whole))
    refuted = any(each.finding.refutes for each in found)
    kept = (each for each in result.findings if each.code not in WARNINGS)
    kernel = SourceSite(str(unit.file), unit.line, 0, "store", "", unit.kernel)
    told = (each.finding if each.finding.sites else replace(each.finding, sites=(kernel,)) for each in found)
    return replace(
        result,
        verdict=Verdict.REFUTED if refuted else Verdict.UNDECIDED,
        holds_for=None,
        deterministic=None,
        conditional=False,
        findings=(*kept, *told),
        proved_codes=(),
        proved_launch=None,
    )


def _with_certificate(unit: KernelUnit, summary: AccessSummary, result: KernelResult) -> KernelResult:
    """``result`` with its certificate, or with a note that says why it has none; ``unit`` has the launch that was
    proved."""
    from ..verifier.certificate.model import CertificateError, certificate_text
    from ..verifier.certificate.write import certify

    try:
        text = certificate_text(certify(unit, summary, result))
    except CertificateError as error:
        return replace(result, notes=(*result.notes, f"no certificate: {error.message}"))
    notes = result.notes
    if whole := unit.launch.complete:
        notes = (*notes, f"the certificate does not say that every element of {' and of '.join(whole)} is written")
    return replace(result, certificate=CertificateFiles(text, unit.bytecode), notes=notes)


def _with_written(
    unit: KernelUnit,
    entry: Entry,
    summary: AccessSummary,
    result: KernelResult,
    timeout_s: float | None,
    confirm: Confirm,
) -> KernelResult:
    """``result`` with the arrays that are written whole in the user's own contract, which may be narrower than what was
    proved."""
    from ..verifier.coverage import Coverage
    from ..verifier.unwritten import unwritten

    assert result.proved_launch is not None
    launch, requires = result.proved_launch, result.clauses
    if is_wider(unit, launch):
        launch, requires = unit.launch, ()  # it is one of those of the wider contract, and satisfies its clauses
    try:
        coverage = Coverage.of(summary, entry, launch, requires, timeout_s=timeout_s)
        told = (unwritten(each, coverage, launch, confirm).shown for each in coverage.others)
        never = tuple(each for each in told if each is not None)
        return replace(
            result, written=WrittenArrays(coverage.whole, tuple(each.name for each in coverage.others), never)
        )
    except (Exception, RecursionError, MemoryError) as error:  # a verdict outlives what only adds to it
        note = f"whether every element is written was not found out: {tool_failure(error).message}"
        return replace(result, notes=(*result.notes, note))


def with_playback(unit: KernelUnit, result: KernelResult) -> KernelResult:
    from ..reports.playback.source import playback_files

    return replace(result, playback=playback_files(unit, result))


# ----------------------------------------------------------------------------------------------------------- allowance
# The help of a race in which a replay saw both blocks store one value: the word that would allow it.


ALLOW_EQUAL: Final = "allow-equal-stores"


def with_allowance(
    unit: KernelUnit, result: KernelResult, decide: Callable[[KernelUnit], KernelResult]
) -> KernelResult:
    """``result`` with the help, if ``decide`` proves the kernel where its launch allows such stores."""
    arrays = {site.array for finding in result.findings for site in finding.sites}
    known = {array.name for array in unit.launch.arrays()}
    asked = result.verdict is Verdict.REFUTED and arrays and arrays <= known and not unit.launch.allow
    if not asked or not all(map(_shows_one_value, result.findings)):
        return result
    words = tuple(sorted(map(same_value_stores, arrays)))
    if decide(replace(unit, launch=replace(unit.launch, allow=words))).verdict is not Verdict.PROVED:
        return result
    text = (
        "both blocks always store the same value: if that is meant, a person may add "
        f"allow = {json.dumps(list(words))} to the launch spec, and it is a note (proved)"
    )
    first, *others = result.findings
    return replace(result, findings=(replace(first, hints=(*first.hints, Hint(ALLOW_EQUAL, "display", text))), *others))


def _shows_one_value(finding: Finding) -> bool:
    values = None if finding.witness is None else finding.witness.values
    return finding.code == TV.RACE_WRITE_WRITE and values is not None and values.equal
