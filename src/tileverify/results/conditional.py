"""Conditions and limits of a proof, in the words that every output shares.

A conditional proof is of fewer launches than its contract has.  Nobody wrote the clauses that leave them, so that no
output may call it proved and be silent about them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from . import Finding, KernelResult, Report, SourceSite, Suppression, SuppressionKind, Verdict
from .codes import TV

PROVED_IF: Final = "proved if"
"""The word for the verdict of a conditional proof, before its condition."""


def is_conditional(result: KernelResult) -> bool:
    return result.conditional and result.verdict is Verdict.PROVED


def verdict_word(result: KernelResult) -> str:
    """``proved if`` for a conditional proof, else the verdict."""
    return PROVED_IF if is_conditional(result) else result.verdict.value


def conjunction(clauses: Sequence[str]) -> str:
    """``M >= 1 and (A == 1 or B == 1)``."""
    return " and ".join(f"({each})" if " or " in each and len(clauses) > 1 else each for each in clauses)


def proved_if(result: KernelResult) -> str:
    """``proved if grid.x <= cdiv(N, 128)``; empty unless the proof is conditional."""
    return f"{PROVED_IF} {conjunction(result.requires)}" if is_conditional(result) else ""


def remarks(result: KernelResult) -> Iterator[str]:
    """``proved if N % 4 == 0`` and ``limit M * N < 2**31``: what a line on a proof has to say beside its verdict."""
    if result.verdict is Verdict.PROVED:
        yield from filter(None, [proved_if(result)])
        yield from (f"limit {each}" for each in result.limits)


def behind_verdict(result: KernelResult) -> str:
    """``N % 4 == 0, limit M * N < 2**31``: the same behind a verdict that says ``proved if`` itself; may be empty."""
    condition = [conjunction(result.requires)] if is_conditional(result) else []
    return ", ".join((*condition, *(f"limit {each}" for each in result.limits)))


def proved_words(report: Report) -> str:
    """``3 proved, 2 of them under conditions``."""
    count = sum(result.verdict is Verdict.PROVED for result in report.results)
    return f"{count} proved{under_conditions(report.conditional)}"


def under_conditions(count: int) -> str:
    """``, 2 of them under conditions``, behind a number of proofs; empty for 0."""
    return f", {count} of them under conditions" if count else ""


# -------------------------------------------------------------------------------------------------------------- denials
# What a run counts as an error although the verifier gives a warning, or no finding at all.


def limits_denied(result: KernelResult) -> KernelResult:
    """``result`` with every size limit of a proof as an error: TV304, one for each limit that no finding is about, at
    the kernel."""
    found = [replace(each, denied=True) if each.code == TV.INDEX_WRAPS else each for each in result.findings]
    told = [each.message for each in found if each.code == TV.INDEX_WRAPS]
    silent = (limit for limit in result.limits if not any(f"`{limit}`" in message for message in told))
    kernel = SourceSite(result.file, result.line, None, access="", array="")
    found += [Finding(TV.INDEX_WRAPS, _needed_limit(each), (kernel,), denied=True) for each in silent]
    return replace(result, findings=tuple(found))


def _needed_limit(limit: str) -> str:
    what = "launches with empty arrays" if limit.endswith(">= 1") else "larger launches"
    remedy = f"if every launch is like that, add requires = [{json.dumps(limit)}] to the launch spec"
    return f"the proof needs the limit `{limit}` and says nothing of {what}; {remedy}"


def deny_undetermined(report: Report) -> Report:
    """``report`` with every warning that results are not determined (TV403) as an error."""

    def denied(finding: Finding) -> Finding:
        return replace(finding, denied=True) if finding.code == TV.UNDETERMINED else finding

    results = (replace(result, findings=tuple(map(denied, result.findings))) for result in report.results)
    return replace(report, results=tuple(results))


# --------------------------------------------------------------------------------------------------------- kernel names
# What kernels are called where people read: a mangled symbol by its function, where that tells it apart.


Names: TypeAlias = Mapping[tuple[str, str], str]
"""(file, kernel) -> what the kernel is called."""

_CUTILE_SYMBOL: Final = re.compile(r"(?P<name>\w+?)_Kt\d+(?:_\w*)?")
_LENGTH: Final = re.compile(r"\d+")
_NESTED: Final = re.compile(r"_ZN?(?:K?L?)(?=\d)")


def short_names(results: Iterable[KernelResult]) -> Names:
    """The kernels whose short name no other kernel of their file has; ``FILE::NAME`` finds them by it, too."""
    kernels = dict.fromkeys((result.file, result.kernel) for result in results)
    called = Counter((file, plain_name(kernel)) for file, kernel in kernels)
    short = {(file, kernel): plain_name(kernel) for file, kernel in kernels}
    return {key: name for key, name in short.items() if name != key[1] and called[key[0], name] == 1}


def plain_name(symbol: str) -> str:
    """The function's name in a mangled symbol of cuTile or C++ (its last part, without types), or the symbol."""
    match = _CUTILE_SYMBOL.fullmatch(symbol)
    if match:
        return match["name"]
    start = _NESTED.match(symbol)
    if start is None:
        return symbol
    name, position = symbol, start.end()
    while digits := _LENGTH.match(symbol, position):
        end = digits.end() + int(digits[0])
        if end > len(symbol):
            return symbol
        name, position = symbol[digits.end() : end], end
        if not symbol.startswith("_ZN"):
            break
    return name


# -------------------------------------------------------------------------------------------------------------- reasons
# Why a finding does not fail a run, in words.


def suppressed_because(suppression: Suppression) -> str:
    """``known in the baseline`` or ``blocks write equal values (until 2027-12-31), kernels.py:4``."""
    if suppression.kind is SuppressionKind.BASELINE:
        return suppression.reason
    until = f" (until {suppression.until})" if suppression.until else ""
    place = f", {position(suppression.file, suppression.line)}" if suppression.file else ""
    return f"{suppression.reason}{until}{place}"


def position(file: str | None, line: int | None) -> str:
    """``kernels.py:4``."""
    return f"{file or '<unknown>'}:{line}" if line is not None else file or "<unknown>"


def undetermined(result: KernelResult) -> bool:
    """Whether results may depend on what the specification leaves open, and not only on the order of atomics."""
    found = any(finding.code == TV.UNDETERMINED for finding in result.findings)
    return found or any(note.endswith("(TV403)") for note in result.notes)
