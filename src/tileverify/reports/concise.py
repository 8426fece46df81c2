"""One line for each mistake, as compilers and linters write them: ``file:line:column: TV101 message``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..results import Finding, KernelResult, Report
from ..results.codes import CODES
from ..results.conditional import remarks
from ..system.printable import printable
from .causes import cards
from .reasons import position
from .text import fixable_line, hidden_findings, summary_line


def concise_report(report: Report) -> str:
    """A line for each card that is not suppressed, one for each proof under conditions or limits, then the summary."""
    lines = (*concise_lines(report), summary_line(report), fixable_line(report))
    return "".join(f"{line}\n" for line in filter(None, lines))


def statistics(report: Report) -> list[str]:
    """How many mistakes have each code, a line each, the most first; how many findings are suppressed; then how many
    mistakes each kernel has, and in how many of its launches, where there are several kernels with mistakes; empty
    without any."""
    by_code: Counter[str] = Counter(each.code for each in report.findings if each.suppression is None)
    by_kernel: dict[str, Counter[str]] = {}
    launches: Counter[str] = Counter()
    for result in report.results:
        codes = [finding.code for finding, _ in cards(result.findings) if finding.suppression is None]
        if codes:
            name = f"{result.file}::{result.kernel}" if result.kernel else result.file
            by_code.update(codes)
            by_kernel.setdefault(name, Counter()).update(codes)
            launches[name] += 1
    lines = [
        f"{count:6}  {code}  {CODES[code].name if code in CODES else ''}".rstrip()
        for code, count in by_code.most_common()
    ]
    if hidden := hidden_findings(report):
        lines.append(f"{hidden:6}  suppressed")
    if len(by_kernel) > 1:
        most = sorted(by_kernel.items(), key=lambda each: -each[1].total())
        lines += ["by kernel:", *(_of_kernel(name, codes, launches[name]) for name, codes in most)]
    return lines


def _of_kernel(name: str, codes: Counter[str], launches: int) -> str:
    told = ", ".join(code if count == 1 else f"{code} ({count})" for code, count in codes.most_common())
    within = f" in {launches} launches" if launches > 1 else ""
    return printable(f"{codes.total():6}  {name}  {told}{within}")


def concise_lines(report: Report) -> Iterator[str]:
    """A line for each card that is not suppressed, and one for each proof under conditions or limits."""
    for finding in report.findings:
        yield _line(None, finding, ())
    for result in report.results:
        for finding, others in cards(result.findings):
            if finding.suppression is None:
                yield _line(result, finding, others)
        if asked := ", ".join(remarks(result)):
            yield printable(f"{position(result.file, result.line)}: {asked}{_launch(result)}")


def _line(result: KernelResult | None, finding: Finding, others: tuple[Finding, ...]) -> str:
    site = next((site for site in finding.sites if site.file is not None), None)
    place = [site.file, site.line] if site is not None else [result.file, result.line] if result is not None else []
    parts = [str(part) for part in place if part is not None]
    if site is not None and site.line is not None and site.column is not None:
        parts.append(str(site.column + 1))
    more = f" (and {len(others)} more of this cause)" if others else ""
    kernel = "" if result is None else _launch(result)
    return printable(f"{':'.join(parts)}: {finding.code} {finding.sentence}{more}{kernel}")


def _launch(result: KernelResult) -> str:
    return f" [{', '.join(filter(None, (result.kernel, result.launch)))}]" if result.kernel else ""
