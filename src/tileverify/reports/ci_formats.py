"""Reports for tools: a line for each mistake, annotations of GitHub, JUnit's XML."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from ..results import Finding, FindingLevel, KernelResult, Report, SourceSite, Verdict, Witness
from ..results.codes import CODES
from ..results.conditional import PROVED_IF, is_conditional, position, remarks, suppressed_because
from ..system.printable import printable
from .causes import also, cards
from .findings import finding_lines, values_text
from .snippets import Snippets
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


# --------------------------------------------------------------------------------------------------------------- github
# Annotations of GitHub's workflow runs: commands that its runner reads from standard output.
#
# The runner takes ten errors, ten warnings and ten notices of a step, and its lines can carry commands wherever they
# come from, so that what is more than ten is told in a group of plain lines, in which nothing reads as a command.
# Facts: docs.github.com, "Workflow commands for GitHub Actions"; escapes as in actions/toolkit, `command.ts`.


ANNOTATIONS: Final = 10
"""Of each severity, in one step."""
_LONGEST_TITLE: Final = 255
_LONGEST_MESSAGE: Final = 60_000
"""Bytes; an annotation holds 64 KB."""

_DATA: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY: Final = {**_DATA, ":": "%3A", ",": "%2C"}


def github_report(report: Report) -> str:
    """One line for each mistake, the worst first, one for each proof under conditions or limits, and the summary."""
    return "".join(f"{line}\n" for line in _annotations(report))


def _annotations(report: Report) -> Iterator[str]:
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
    return _NOTICE if finding.level is FindingLevel.NOTE else finding.level


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


# ---------------------------------------------------------------------------------------------------------------- junit
# JUnit's XML, as CI systems read it: a suite a file, a test case a kernel and launch.
#
# Valid by the schema of Jenkins' xUnit plugin (``junit-10.xsd``).  What is refuted or undecided is a failure, a kernel
# that could not be checked an error, and what is suppressed is skipped, with the reason.  The output of a test case
# says under which conditions and limits a kernel is proved.


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


# ---------------------------------------------------------------------------------------------------------- explanation
# A finding in a few plain lines, for places that have no room for source and colours.


def explanation(result: KernelResult | None, finding: Finding, others: Sequence[Finding] = ()) -> str:
    """What is wrong, in which launch, who meets whom where, and what to do about it; lines of printable text.
    ``others``: further findings of the same cause."""
    return "\n".join(printable(line) for line in _explanation_lines(result, finding, others))


def title(finding: Finding) -> str:
    """``TV101 race-write-write``."""
    code = CODES.get(finding.code)
    return f"{finding.code} {code.name}" if code else finding.code


def sides(finding: Finding) -> tuple[str, ...]:
    """How to call the tile block of each site: ``block A (2, 0, 0)``; empty where no block is known."""
    witness = finding.witness
    if witness is None:
        return ("",) * len(finding.sites)
    if two_blocks(witness):
        names = (f"block A {witness.block_a}", f"block B {witness.block_b}")
        return tuple(names[min(number, 1)] for number in range(len(finding.sites)))
    return (f"block {witness.block_a}",) * len(finding.sites)


def two_blocks(witness: Witness) -> bool:
    """Whether the fault lies between two tile blocks, and not inside one."""
    return witness.block_b is not None and witness.block_b != witness.block_a


def action(site: SourceSite, finding: Finding) -> str:
    """``store out[64:128]``."""
    return f"{site.access} {finding.target(site) if site.array else ''}".strip()


def from_repository(file: str) -> str:
    """``file`` as GitHub names it: relative to the repository, which is ``GITHUB_WORKSPACE`` in its runners."""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    path = Path(file)
    if workspace:
        whole = Path(os.path.abspath(path))
        if whole.is_relative_to(workspace):
            return whole.relative_to(workspace).as_posix()
    return path.as_posix()


def _explanation_lines(result: KernelResult | None, finding: Finding, others: Sequence[Finding]) -> Iterator[str]:
    yield finding.message.split("\n")[0]
    yield from (f"  | {line}" for line in finding.example)
    if result is not None and result.kernel:
        yield f"kernel {result.kernel}" + (f", launch {result.launch}" if result.launch else "")
    if finding.obligation and (asked := CODES.get(finding.obligation)):
        yield f"about {asked.code}: {asked.title}"
    told = zip(sides(finding), map(partial(_access, finding), finding.sites), strict=True)
    yield from dict.fromkeys(": ".join(filter(None, each)) for each in told)
    if finding.witness is not None:
        yield from _witness(finding.witness, values_text(finding))
    yield from also(finding, others)
    for hint in finding.hints:
        yield f"help: {hint.text} [{hint.id}, {hint.applicability}]"
    if finding.suppression is not None:
        yield f"suppressed: {suppressed_because(finding.suppression)}"
    if finding.code in CODES:
        yield f"more: tileverify explain {finding.code}"


def _access(finding: Finding, site: SourceSite) -> str:
    place = f" at {position(site.file, site.line)}" if site.file else ""
    return f"{action(site, finding)}{place}".strip()


def _witness(witness: Witness, values: str) -> Iterator[str]:
    known: dict[str, object] = {"grid": witness.grid}
    for group in (witness.sizes, witness.scalars, witness.strides, _data(witness.data)):
        known.update(group)
    yield "launch: " + ", ".join(f"{name} = {value}" for name, value in known.items())
    if values:
        yield f"values: {values}"


def _data(data: Mapping[str, tuple[int, ...]]) -> Mapping[str, list[int]]:
    return {name: list(contents) for name, contents in data.items()}
