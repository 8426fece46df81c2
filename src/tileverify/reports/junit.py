"""JUnit's XML, as CI systems read it: a suite a file, a test case a kernel and launch.

Valid by the schema of Jenkins' xUnit plugin (``junit-10.xsd``).  What is refuted or undecided is a failure, a kernel
that could not be checked an error, and what is suppressed is skipped, with the reason.  The output of a test case says
under which conditions and limits a kernel is proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree

from ..results import Finding, KernelResult, Report, Verdict
from ..results.conditional import is_conditional, remarks
from ..system.printable import printable
from .explanation import title
from .findings import finding_lines
from .reasons import position, suppressed_because
from .snippets import Snippets

_SUPPRESSIONS: Final = "suppressions and baseline"


def junit_report(report: Report) -> str:
    """The report as an XML document in ASCII."""
    snippets = Snippets()
    suites = [_suite(file, results, snippets) for file, results in _by_file(report).items()]
    if report.findings:
        suites.append(_suite_of_findings(report.findings, snippets))
    root = ElementTree.Element("testsuites", name="tileverify")
    root.extend(suites)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    ElementTree.indent(root)
    # What reads the file decodes it as it likes: the document says ASCII, and is.
    document: bytes = ElementTree.tostring(root, encoding="ascii", xml_declaration=True)
    return document.decode("ascii") + "\n"


def _by_file(report: Report) -> dict[str, list[KernelResult]]:
    files: dict[str, list[KernelResult]] = {}
    for result in report.results:
        files.setdefault(result.file, []).append(result)
    return files


def _suite(file: str, results: Sequence[KernelResult], snippets: Snippets) -> ElementTree.Element:
    cases = [_case(result, snippets) for result in results]
    suite = _counted(file, cases)
    suite.set("time", _seconds(sum(_spent(result) for result in results)))
    return suite


def _suite_of_findings(findings: Sequence[Finding], snippets: Snippets) -> ElementTree.Element:
    cases = []
    for finding in findings:
        site = finding.sites[0] if finding.sites else None
        place = "" if site is None else f" {position(site.file, site.line)}"
        case = ElementTree.Element("testcase", name=_text(f"{title(finding)}{place}"), classname=_SUPPRESSIONS)
        _add(case, "failure", (finding,), snippets)
        cases.append(case)
    return _counted(_SUPPRESSIONS, cases)


def _counted(name: str, cases: Sequence[ElementTree.Element]) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_text(name), tests=str(len(cases)))
    for outcome, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(plural, str(sum(case.find(outcome) is not None for case in cases)))
    suite.extend(cases)
    return suite


def _case(result: KernelResult, snippets: Snippets) -> ElementTree.Element:
    name = f"{result.kernel} [{result.launch}]" if result.launch else result.kernel or result.file
    case = ElementTree.Element("testcase", name=_text(name), classname=_text(result.file))
    case.set("time", _seconds(_spent(result)))
    if result.verdict is Verdict.ERROR:
        _add(case, "error", result.findings, snippets)
    elif result.counts_as not in (None, Verdict.PROVED):
        open_ones = [finding for finding in result.findings if finding.suppression is None]
        _add(case, "failure", open_ones or result.findings, snippets)
    elif result.counts_as is None:
        reasons = {suppressed_because(each.suppression): None for each in result.findings if each.suppression}
        skipped = ElementTree.SubElement(case, "skipped", message=_text("; ".join(reasons)))
        skipped.text = _body(result.findings, snippets)
    warnings = [each for each in result.findings if result.counts_as is Verdict.PROVED]
    if told := [
        *(f"warning {each.code}: {each.sentence}" for each in warnings),
        *remarks(result),
        *(f"requires {clause}" for clause in result.requires if not is_conditional(result)),
        *(f"assumes {fact}" for fact in result.assumes),
    ]:
        ElementTree.SubElement(case, "system-out").text = "\n".join(map(_text, told))
    return case


def _add(case: ElementTree.Element, outcome: str, findings: Sequence[Finding], snippets: Snippets) -> None:
    """One element for all findings: most readers show only the first of a test case."""
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    element = ElementTree.SubElement(case, outcome, type=_text(first.code), message=_text(f"{first.sentence}{more}"))
    element.text = _body(findings, snippets)


def _body(findings: Sequence[Finding], snippets: Snippets) -> str:
    parts = ("\n".join(line.plain.rstrip() for line in finding_lines(each, "", snippets)) for each in findings)
    return "\n" + "\n\n".join("\n".join(map(_text, part.split("\n"))) for part in parts) + "\n"


def _text(text: str) -> str:
    """``text`` in characters that XML 1.0 can hold: no controls, no surrogates, neither U+FFFE nor U+FFFF."""
    return printable(text).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


def _spent(result: KernelResult) -> float:
    """Milliseconds of this run."""
    times = result.time_ms
    return 0.0 if result.cached else times.compile + times.decode + times.execute + times.prove


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.3f}"
