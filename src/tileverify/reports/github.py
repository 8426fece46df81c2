"""Annotations of GitHub's workflow runs: commands that its runner reads from standard output.

The runner takes ten errors, ten warnings and ten notices of a step, and its lines can carry commands wherever they
come from, so that what is more than ten is told in a group of plain lines, in which nothing reads as a command.
Facts: docs.github.com, "Workflow commands for GitHub Actions"; escapes as in actions/toolkit, `command.ts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from ..results import Finding, FindingLevel, KernelResult, Report, SourceSite
from ..results.conditional import PROVED_IF, is_conditional, remarks
from ..system.printable import printable
from .causes import cards
from .explanation import explanation, from_repository, title
from .reasons import position
from .snippets import Snippets
from .text import summary_line

ANNOTATIONS: Final = 10
"""Of each severity, in one step."""
_LONGEST_TITLE: Final = 255
_LONGEST_MESSAGE: Final = 60_000
"""Bytes; an annotation holds 64 KB."""

_DATA: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY: Final = {**_DATA, ":": "%3A", ",": "%2C"}


def github_report(report: Report) -> str:
    """One line for each mistake, the worst first, one for each proof under conditions or limits, and the summary."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    found: list[tuple[KernelResult | None, Finding, tuple[Finding, ...]]] = [
        (None, each, ()) for each in report.findings
    ]
    found += [(result, *card) for result in report.results for card in cards(result.findings)]
    found.sort(key=lambda each: _SEVERITIES.index(_severity(each[1])))
    snippets, used = Snippets(), Counter[str]()
    rest = []
    for result, finding, others in found:
        severity = _severity(finding)
        used[severity] += 1
        if used[severity] <= ANNOTATIONS:
            yield _annotation(severity, result, finding, others, snippets)
        else:
            rest.append(f"{severity} {_place(result, finding)}: {title(finding)}: {finding.sentence}")
    for proof in sorted(filter(_asks, report.results), key=lambda each: not is_conditional(each)):
        used[_NOTICE] += 1
        told = ", ".join(remarks(proof))
        if used[_NOTICE] <= ANNOTATIONS:
            yield _remark(proof, told)
        else:
            rest.append(f"{_NOTICE} {position(proof.file, proof.line)}: {told}")
    if rest:
        yield f"::group::{len(rest)} more findings than GitHub annotates in one step"
        yield from (f"- {harmless(line)}" for line in rest)
        yield "::endgroup::"
    yield harmless(summary_line(report))


_NOTICE: Final = "notice"
_SEVERITIES: Final = (FindingLevel.ERROR, FindingLevel.WARNING, _NOTICE)


def _severity(finding: Finding) -> str:
    if finding.suppression is not None:
        return _NOTICE
    return finding.level


def _asks(result: KernelResult) -> bool:
    return next(remarks(result), None) is not None


def harmless(text: str) -> str:
    """One line that the runner does not take for a command, old style (``##[``, anywhere) or new (``::``, in front)."""
    line = printable(text).replace("##[", "## [")
    return f"- {line}" if line.lstrip().startswith("::") else line


def _annotation(
    severity: str, result: KernelResult | None, finding: Finding, others: tuple[Finding, ...], snippets: Snippets
) -> str:
    place = dict(_location(result, finding, snippets))
    return _command(severity, place, title(finding), explanation(result, finding, others))


def _remark(proof: KernelResult, told: str) -> str:
    """A notice of the conditions and limits of a proof."""
    heading = PROVED_IF if is_conditional(proof) else "proved within limits"
    name = f"kernel {proof.kernel}" + (f", launch {proof.launch}" if proof.launch else "")
    return _command(_NOTICE, dict(_head(proof)), heading, printable(told) + "\n" + printable(name))


def _command(severity: str, place: Mapping[str, str], heading: str, message: str) -> str:
    properties = {**place, "title": printable(heading)[:_LONGEST_TITLE]}
    told = ",".join(f"{name}={_escaped(value, _PROPERTY)}" for name, value in properties.items())
    return f"::{severity} {told}::{_escaped(_shortened(message), _DATA)}"


def _location(result: KernelResult | None, finding: Finding, snippets: Snippets) -> Iterator[tuple[str, str]]:
    site = next((site for site in finding.sites if site.file is not None), None)
    if site is None:
        if result is not None:
            yield from _head(result)
        return
    yield "file", printable(from_repository(site.file or ""))
    yield from _span(site, snippets)


def _head(result: KernelResult) -> Iterator[tuple[str, str]]:
    yield "file", printable(from_repository(result.file))
    yield "line", str(result.line or 1)


def _span(site: SourceSite, snippets: Snippets) -> Iterator[tuple[str, str]]:
    if site.line is None:
        return
    yield "line", str(site.line)
    region = snippets.region(site)
    if region is None:
        return
    if region.end_line != site.line:
        yield "endLine", str(region.end_line)  # columns are for annotations of one line
        return
    yield "col", str(region.column)
    if region.end_column is not None:
        yield "endColumn", str(region.end_column)


def _place(result: KernelResult | None, finding: Finding) -> str:
    site = next((site for site in finding.sites if site.file is not None), None)
    if site is not None:
        return position(site.file, site.line)
    return "" if result is None else position(result.file, result.line)


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)


def _shortened(text: str) -> str:
    whole = text.encode()
    return text if len(whole) <= _LONGEST_MESSAGE else whole[:_LONGEST_MESSAGE].decode(errors="ignore") + " ..."
