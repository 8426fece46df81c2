"""The text report, against golden files and for what must hold of all of them."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from tileverify.reports.ci_formats import concise_report
from tileverify.reports.findings import values_text
from tileverify.reports.text import Detail, fixable_line, summary_line, text_report
from tileverify.results import (
    Applicability,
    Edit,
    Finding,
    Hint,
    KernelResult,
    Report,
    SeenValues,
    SideValue,
    Suppression,
    SuppressionKind,
    Verdict,
    Witness,
)

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("detail", list(Detail), ids=lambda detail: str(detail.value))
def test_text_is_as_expected(report: Report, detail: Detail, golden: str) -> None:
    assert text_report(report, detail=detail) == golden


def test_colour_is_the_only_difference_on_a_terminal(report: Report) -> None:
    plain, coloured = text_report(report), text_report(report, color=True)
    assert ANSI.sub("", coloured) == plain
    assert coloured != plain


def test_nothing_from_outside_reaches_the_terminal_unescaped(report: Report) -> None:
    for character in text_report(report).replace("\n", ""):
        assert character.isprintable()


def test_no_line_of_hostile_names_can_pass_for_a_verdict(report: Report) -> None:
    heads = [line for line in text_report(report).splitlines() if re.match(r"(proved|refuted|undecided|error) ", line)]
    assert len(heads) == len(report.results)


def test_an_example_in_a_message_stands_in_lines_of_its_own() -> None:
    finding = Finding("TV001", 'write a spec:\n[[launch]]\nkernel = "k"\n::error::x')
    lines = text_report(
        Report((KernelResult("k.py", "k", "", Verdict.ERROR, findings=(finding,)),), "0", "z3")
    ).splitlines()
    start = lines.index("  error[TV001]: write a spec:") + 1
    assert lines[start : start + 3] == ["       | [[launch]]", '       | kernel = "k"', "       | ::error::x"]


def test_carets_stand_below_the_expression(report: Report) -> None:
    lines = text_report(report).splitlines()
    for above, below in itertools.pairwise(lines):
        if match := re.fullmatch(r"( +\| )( *)(\^+) .*|( +\| )( *)(\^+)", below):
            gutter, indent, carets = (group for group in match.groups() if group is not None)
            start = len(gutter) + len(indent)
            marked = _cells_between(above, start, start + len(carets))
            assert marked.strip() == marked
            assert marked.startswith(("ct.", "ct::", "def "))


def _cells_between(text: str, start: int, end: int) -> str:
    position, taken = 0, ""
    for character in text:
        if start <= position < end:
            taken += character
        position += cell_len(character)
    return taken


def test_quiet_says_nothing_of_what_is_proved() -> None:
    result = KernelResult("a.py", "k", "0", Verdict.PROVED, holds_for="any")
    assert text_report(Report((result,), "1", "z3"), detail=Detail.QUIET) == ""


@pytest.mark.parametrize(
    ("results", "line"),
    [
        ((), "0 kernels: 0 proved, 0 refuted, 0 undecided"),
        ((("a", "0", "proved"),), "1 kernel: 1 proved, 0 refuted, 0 undecided"),
        (
            (("a", "0", "proved"), ("a", "1", "refuted"), ("b", "0", "error")),
            "3 launches of 2 kernels: 1 proved, 1 refuted, 0 undecided, 1 error",
        ),
    ],
)
def test_summary_counts_kernels_and_launches(results: tuple[tuple[str, str, str], ...], line: str) -> None:
    made = tuple(KernelResult("f.py", kernel, launch, Verdict(verdict)) for kernel, launch, verdict in results)
    assert summary_line(Report(made, "1", "z3")) == line


@pytest.mark.parametrize(
    ("code", "other", "sides", "counting", "text"),
    [
        (
            "TV101",
            (1, 0, 0),
            (SideValue("a", "store", "0.0"), SideValue("b", "store", "0.0")),
            True,
            "x[1]: both store 0.0 (equal here, and a race all the same); float arrays count up",
        ),
        (
            "TV101",
            (1, 0, 0),
            (SideValue("a", "store", "about 0.5"), SideValue("b", "store", "about 0.5")),
            False,
            "x[1]: both store about 0.5",
        ),
        (
            "TV102",
            (1, 0, 0),
            (SideValue("a", "store", "7"), SideValue("b", "load", "3", "7")),
            False,
            "x[1]: block B loads 3 before and 7 after block A stores",
        ),
        (
            "TV102",
            (1, 0, 0),
            (SideValue("a", "load", "3", "3"), SideValue("b", "store", "3")),
            False,
            "x[1]: block A loads 3 before and after block B stores (equal here, and a race all the same)",
        ),
        (
            "TV201",
            None,
            (SideValue("a", "store", "1"), SideValue("b", "load", "0", "1")),
            False,
            "x[1]: the second access loads 0 before and 1 after the first access stores",
        ),
        (
            "TV202",
            None,
            (SideValue("a", "store", "1"), SideValue("b", "store", "2")),
            False,
            "x[1]: one lane stores 1, another stores 2",
        ),
        ("TV103", (1, 0, 0), (SideValue("b", "load", "3"),), False, "x[1]: block B loads 3"),
    ],
)
def test_values_in_words(
    code: str, other: tuple[int, int, int] | None, sides: tuple[SideValue, ...], counting: bool, text: str
) -> None:
    witness = Witness({}, (2, 1, 1), (0, 0, 0), other, "x[1]", values=SeenValues("x[1]", sides, counting))
    assert values_text(Finding(code, "", witness=witness)) == text
    assert values_text(Finding(code, "", witness=replace(witness, values=None))) == ""
    assert values_text(Finding(code, "")) == ""


def known(count: int, *more: Finding) -> KernelResult:
    """A refuted kernel with ``count`` findings that a baseline knows."""
    why = Suppression(SuppressionKind.BASELINE, "known in b.json")
    found = (Finding("TV101", "m", fingerprint=f"{n:032}", suppression=why) for n in range(count))
    return KernelResult("k.py", "k", "0", Verdict.REFUTED, findings=(*found, *more))


def test_what_a_baseline_knows_is_counted_and_not_told() -> None:
    report = Report((known(3), replace(known(2), launch="1")), "1", "z3")
    text = text_report(report)
    assert "    baseline   3 findings known in b.json\n" in text
    assert "TV101" not in text
    assert "TV101" in text_report(report, detail=Detail.VERBOSE)
    assert text_report(report, detail=Detail.QUIET) == ""
    assert summary_line(report).endswith(", 3 findings suppressed")  # those of the second launch are among them


def test_what_is_new_beside_a_baseline_is_told() -> None:
    for detail in Detail:
        text = text_report(Report((known(3, Finding("TV102", "this is new")),), "1", "z3"), detail=detail)
        assert "error[TV102]: this is new" in text


@pytest.mark.parametrize(
    ("repairs", "line"),
    [
        ((), ""),
        (("display",), ""),
        (("safe",), "1 fixable with --fix"),
        (("maybe",), "1 fixable with --fix --unsafe-fixes"),
        (("safe", "maybe", "safe"), "2 fixable with --fix, 1 more with --unsafe-fixes"),
    ],
)
def test_what_can_be_fixed_is_counted(repairs: tuple[Applicability, ...], line: str) -> None:
    findings = tuple(
        Finding("TV101", "m", hints=(Hint("i", each, "t", (Edit(1, 0, 1, 1, "x"),)),), fingerprint=f"{n:032}")
        for n, each in enumerate(repairs)
        if each != "display"
    )
    advice = Finding("TV101", "m", hints=(Hint("i", "safe", "without an edit"),))
    results = (KernelResult("k.py", "k", "0", Verdict.REFUTED, findings=(*findings, advice)),)
    report = Report((*results, replace(results[0], launch="1"), known(2)), "1", "z3")
    assert fixable_line(report) == line
    for text in (text_report(report), concise_report(report)):
        assert ("fixable" in text) is bool(line)
        assert line in text


@pytest.mark.parametrize("report", ["refuted-one-place", "refuted-two-places"], indirect=True)
def test_a_finding_is_short_unless_more_is_asked_for(report: Report) -> None:
    """The lines that meet, with what each side does there, the launch and the values; the rest is for --verbose."""
    short, long = (text_report(report, detail=detail) for detail in (Detail.NORMAL, Detail.VERBOSE))
    (_, *findings) = re.split(r"^  error", short.partition("\n\n1 kernel")[0], flags=re.MULTILINE)
    assert findings
    assert all(len(finding.rstrip().splitlines()) <= 12 for finding in findings)
    for word in ("= launch ", "= values ", "^^^^", " --> "):
        assert word in short
    for word in ("= index ", "= element ", "= confirmed by ", "block A     block B"):
        assert word not in short
        assert word in long or report.results[0].kernel == "smooth"
    assert "more: tileverify explain TV10" in short
    assert "check --verbose" in short
