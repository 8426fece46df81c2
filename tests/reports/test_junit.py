"""The JUnit report: golden files, the schema of Jenkins' plugin, and text that XML cannot hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from tileverify.reports.ci_formats import junit_report
from tileverify.results import Finding, KernelResult, Report, Verdict

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parent / "schemas" / "junit-10.xsd"))


def parsed(report: Report) -> etree._Element:
    text = junit_report(report)
    assert text.isascii()
    root = etree.fromstring(text.encode())
    SCHEMA.assertValid(root)
    return root


def test_junit_is_as_expected_and_valid(report: Report, golden: str) -> None:
    root = parsed(report)
    cases = root.findall(".//testcase")
    assert len(cases) == len(report.results) + len(report.findings) == int(root.get("tests"))
    assert junit_report(report) == golden


def test_the_schema_finds_mistakes() -> None:
    root = parsed(Report((KernelResult("k.py", "k", "0", Verdict.PROVED),), "0", "z3"))
    del root.find("testsuite").attrib["tests"]
    assert not SCHEMA.validate(root)


@pytest.mark.parametrize("report", ["mixed"], indirect=True)
def test_verdicts_are_counted(report: Report) -> None:
    root = parsed(report)
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["4", "2", "1"]


@pytest.mark.parametrize("report", ["suppressed"], indirect=True)
def test_what_is_suppressed_is_skipped_with_its_reason(report: Report) -> None:
    root = parsed(report)
    excused, partly, *about = root.findall(".//testcase")
    assert excused.find("skipped").get("message") == "blocks write equal values (until 2027-12-31), halves.py:8"
    assert partly.find("skipped") is None
    assert partly.find("failure").text.count("error[TV102]") == 1
    assert [case.find("failure").get("type") for case in about] == ["TV601", "TV603"]


@pytest.mark.parametrize(
    "text",
    ["\x00", "\x1b[2J", "\ufffe", "\uffff", "\ud800", "]]>", "<a>&amp;", "\r\n", '"', "\x85\u2028", "\U0001f600"],
)
def test_any_text_is_valid_xml(text: str) -> None:
    finding = Finding("TV903", f"a{text}b")
    name = f"k{text}k"
    result = KernelResult(name, name, name, Verdict.UNDECIDED, findings=(finding,), requires=(text,), assumes=(text,))
    (case,) = parsed(Report((result,), "0", "z3")).findall(".//testcase")
    assert case.get("classname").startswith("k")
    assert "b" in case.find("failure").get("message") + case.find("failure").text
