"""One line for each mistake, as compilers and linters write them: ``file:line:column: TV101 message``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..results import Finding, KernelResult, Report
from ..results.codes import CODES
from ..system.printable import printable
from .causes import cards
from .text import summary_line


def concise_report(report: Report) -> str:
    """A line for each card that is not suppressed, then the summary."""
    return "".join(f"{line}\n" for line in (*_lines(report), summary_line(report)))


def statistics(report: Report) -> list[str]:
    """How many mistakes have each code, a line each, the most first; empty without any."""
    found = [finding for result in report.results for finding, _ in cards(result.findings)]
    counts = Counter(finding.code for finding in (*found, *report.findings) if finding.suppression is None)
    names = {code: CODES[code].name if code in CODES else "" for code in counts}
    return [f"{count:6}  {code}  {names[code]}".rstrip() for code, count in counts.most_common()]


def _lines(report: Report) -> Iterator[str]:
    for finding in report.findings:
        yield _line(None, finding, ())
    for result in report.results:
        for finding, others in cards(result.findings):
            if finding.suppression is None:
                yield _line(result, finding, others)


def _line(result: KernelResult | None, finding: Finding, others: tuple[Finding, ...]) -> str:
    site = next((site for site in finding.sites if site.file is not None), None)
    place = [site.file, site.line] if site is not None else [result.file, result.line] if result is not None else []
    parts = [str(part) for part in place if part is not None]
    if site is not None and site.line is not None and site.column is not None:
        parts.append(str(site.column + 1))
    more = f" (and {len(others)} more of this cause)" if others else ""
    kernel = f" [{result.kernel}{f', {result.launch}' if result.launch else ''}]" if result and result.kernel else ""
    return printable(f"{':'.join(parts)}: {finding.code} {finding.sentence}{more}{kernel}")
