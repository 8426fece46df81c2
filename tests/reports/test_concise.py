"""One line for each mistake, and how many there are of each code."""

from __future__ import annotations

from dataclasses import replace

from tileverify.reports.ci_formats import concise_report, statistics
from tileverify.results import Finding, KernelResult, Report, SourceSite, Suppression, SuppressionKind, Verdict

STORE = SourceSite("k.py", 9, 4, "store", "out")
FIRST = Finding("TV101", "two blocks store to `out`\nmore of it", (STORE,), cause="a")
OTHER = Finding("TV102", "a block reads `out`", (STORE,), cause="a")
OPEN = Finding("TV903", "too much", ())
HIDDEN = replace(OPEN, suppression=Suppression(SuppressionKind.COMMENT, "known"))
REPORT = Report(
    (
        KernelResult("k.py", "kernel", "any", Verdict.REFUTED, findings=(FIRST, OTHER, HIDDEN), line=5),
        KernelResult("k.py", "late", "0", Verdict.UNDECIDED, findings=(OPEN,), line=20),
    ),
    "1",
    "z3",
)


def test_a_line_for_each_mistake() -> None:
    assert concise_report(REPORT).splitlines() == [
        "k.py:9:5: TV101 two blocks store to `out` (and 1 more of this cause) [kernel, any]",
        "k.py:20: TV903 too much [late, 0]",
        "2 kernels: 0 proved, 1 refuted, 1 undecided, 1 finding suppressed",
    ]


def test_statistics() -> None:
    twice = replace(REPORT, results=(*REPORT.results, REPORT.results[0]))
    told = ["     2  TV101  race-write-write", "     1  TV903  budget"]
    assert statistics(twice)[:2] == told
    assert statistics(twice)[2] == "     2  suppressed"
    assert statistics(Report((), "1", "z3")) == []


def test_statistics_tell_what_is_suppressed() -> None:
    """21 refuted kernels that a baseline knows have no mistakes to count, and still are not "no findings"."""
    hidden = KernelResult("k.py", "k", "0", Verdict.REFUTED, findings=(HIDDEN,))
    assert statistics(Report((hidden,), "1", "z3")) == ["     1  suppressed"]


def test_statistics_by_kernel() -> None:
    """Kernels with most mistakes first; where one kernel has all of them nothing is said twice."""

    def result(kernel: str, launch: str, *codes: str) -> KernelResult:
        findings = tuple(Finding(code, f"{code} of {kernel}", fingerprint=f"{code}{kernel}") for code in codes)
        return KernelResult("a.py", kernel, launch, Verdict.REFUTED, findings=findings)

    one = result("one", "x", "TV904")
    many = [result("many", "x", "TV904", "TV903"), result("many", "y", "TV904")]
    found = statistics(Report((one, *many, result("none", "x")), "1", "z3"))
    assert found[2:] == [
        "by kernel:",
        "     3  a.py::many  TV904 (2), TV903 in 2 launches",
        "     1  a.py::one  TV904",
    ]
    assert "by kernel:" not in statistics(Report(tuple(many), "1", "z3"))
