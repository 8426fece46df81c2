"""GitHub's annotations: golden files, escapes, how many it takes, and that no text becomes a command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileverify.reports.ci_formats import ANNOTATIONS, github_report, harmless
from tileverify.results import Finding, KernelResult, Report, SourceSite, Verdict

COMMAND = re.compile(r"::(?P<command>[a-z]+)(?: (?P<properties>[^:]*))?::(?P<data>.*)")


def unescaped(text: str) -> str:
    for escape, character in (("%2C", ","), ("%3A", ":"), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(escape, character)
    return text


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """What the runner makes of the lines of ``text``, one by one."""
    found = []
    for line in text.splitlines():
        if (match := COMMAND.match(line.strip())) is not None:
            pairs = (pair.partition("=") for pair in (match["properties"] or "").split(",") if pair)
            properties = {name: unescaped(value) for name, _, value in pairs}
            found.append((match["command"], properties, unescaped(match["data"])))
        else:
            assert "##[" not in line
    return found


def test_github_is_as_expected(report: Report, golden: str) -> None:
    text = github_report(report)
    assert text == golden
    findings = [*report.findings, *(finding for result in report.results for finding in result.findings)]
    asking = [result for result in report.results if result.conditional or result.limits]
    assert len(commands(text)) == len(findings) + len(asking)


@pytest.mark.parametrize("report", ["refuted-two-places"], indirect=True)
def test_annotations_mark_the_access(report: Report) -> None:
    first, *_ = commands(github_report(report))
    name, properties, message = first
    assert name == "error"
    assert (properties["file"], properties["line"]) == ("stencil.py", "7")
    assert int(properties["col"]) < int(properties["endColumn"])
    assert message.startswith("one tile block reads what another one writes\nkernel smooth, launch 0\n")


@pytest.mark.parametrize("report", ["suppressed"], indirect=True)
def test_what_is_suppressed_is_a_notice(report: Report) -> None:
    severities = [name for name, _, _ in commands(github_report(report))]
    assert severities == ["error"] * 3 + ["notice"] * 3


def failing(count: int, code: str = "TV301", message: str = "m") -> Report:
    site = SourceSite("k,:%\n.py", 3, 0, "load", "x")
    result = KernelResult("k.py", "k", "0", Verdict.REFUTED, findings=(Finding(code, message, (site,)),))
    return Report((result,) * count, "0", "z3")


def test_ten_of_a_severity_are_annotated_and_the_rest_is_told(tmp_path: Path) -> None:
    report = Report((*failing(3, "TV903").results, *failing(12).results), "0", "z3")
    text = github_report(report)
    names = [name for name, _, _ in commands(text)]
    assert names == ["error"] * ANNOTATIONS + ["warning"] * 3 + ["group", "endgroup"]
    assert text.count("\n- error k,:%\\x0a.py:3: TV301 tile-out-of-index-space: m\n") == 1
    assert text.count("TV301") == 2 * ANNOTATIONS + 2


def test_properties_and_data_are_escaped() -> None:
    ((_, properties, message),) = commands(github_report(failing(1, message="50 %0A, a: b\r\n::error::x")))
    assert properties["file"] == "k,:%\\x0a.py"
    assert message.startswith("50 %0A, a: b\\x0d\n  | ::error::x\n")


@pytest.mark.parametrize("text", ["::error::x", "  ::set-env::", "a ##[error]x", "\n::stop-commands::t", "\x1b[2J::x"])
def test_plain_lines_are_no_commands(text: str) -> None:
    assert commands(harmless(text)) == []
    assert "\n" not in harmless(text)


def test_a_message_is_cut_where_github_would_refuse_it() -> None:
    text = github_report(failing(1, message="ü%" * 40_000))
    assert len(commands(text)[0][2].encode()) <= 60_010
