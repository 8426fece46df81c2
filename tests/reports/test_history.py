"""What changed between two reports, and the command that tells it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command_line import command_line

from tileverify.reports.history import MARKER, Kind, compare, history_markdown
from tileverify.reports.html.report import html_report
from tileverify.results import Finding, KernelResult, Report, Verdict
from tileverify.results.json_report import json_report
from tileverify.verifier.abduction.clauses import implied


def result(kernel: str, verdict: Verdict = Verdict.PROVED, *codes: str, **more: object) -> KernelResult:
    findings = tuple(Finding(code, "message") for code in codes)
    return replace(KernelResult("a.py", kernel, "0", verdict, findings=findings), **more)  # type: ignore[arg-type]


OLD = (
    result("same", requires=("grid.y == 1",)),
    result("broken", holds_for="any"),
    result("mended", Verdict.REFUTED, "TV101"),
    result("gone"),
    result("narrower", holds_for="any"),
    result("other", Verdict.REFUTED, "TV101"),
)
NEW = (
    result("same", requires=("grid.y == 1",)),
    result("broken", Verdict.REFUTED, "TV102"),
    result("mended", requires=("N >= 1",)),
    result("narrower", holds_for="launch", requires=("N == 4",)),
    result("other", Verdict.REFUTED, "TV302"),
    result("fresh", Verdict.UNDECIDED, "TV901"),
    result("fresh_and_fine"),
)


def write(path: Path, results: tuple[KernelResult, ...]) -> Path:
    report = Report(results, "1", "z3")
    path.write_text(html_report(report) if path.suffix == ".html" else json_report(report), encoding="utf-8")
    return path


def test_every_kind_of_change() -> None:
    history = compare(OLD, NEW)
    assert {change.kernel: (change.kind, change.details) for change in history.changes} == {
        "broken": (Kind.WORSE, ("+ TV102",)),
        "fresh": (Kind.NEW, ("+ TV901",)),
        "fresh_and_fine": (Kind.NEW, ()),
        "narrower": (Kind.WORSE, ("holds for any -> launch", "+ requires N == 4")),
        "other": (Kind.CHANGED, ("- TV101", "+ TV302")),
        "gone": (Kind.GONE, ()),
        "mended": (Kind.BETTER, ("- TV101", "+ requires N >= 1")),
    }
    assert history.unchanged == 1
    assert history.sentence == "2 worse, 2 new, 1 changed, 1 gone, 1 better, 1 unchanged"
    assert {change.kernel for change in history.changes if change.alarming} == {"broken", "fresh", "narrower"}


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ({}, {"requires": ("P % 4 == 0",)}, Kind.WORSE),
        ({}, {"limits": ("M * N < 2**31",)}, Kind.WORSE),
        ({"requires": ("P % 4 == 0",)}, {"requires": ("P % 8 == 0",)}, Kind.WORSE),
        ({"requires": ("P % 8 == 0",)}, {"requires": ("P % 4 == 0",)}, Kind.BETTER),
        ({"requires": ("grid.x <= cdiv(N, 64)",)}, {"requires": ("grid.x <= cdiv(N, 128)",)}, Kind.WORSE),
        ({"requires": ("grid.x <= cdiv(N, 128)",)}, {"requires": ("grid.x <= cdiv(N, 64)",)}, Kind.BETTER),
        ({"requires": ("x.shape[0] <= 4",)}, {"requires": ("4 >= x.shape[0]",)}, Kind.CHANGED),
        ({"requires": ("A == 1",)}, {"requires": ("B == 1",)}, Kind.WORSE),
        ({"requires": ("A == 1",)}, {"requires": ("A == 1 or B == 1",)}, Kind.BETTER),
        ({"limits": ("A * B < 2**31",)}, {"limits": ("A * B < 2**30",)}, Kind.WORSE),
        ({"limits": ("A * B < 2**31",)}, {}, Kind.BETTER),
        ({"stated": ("grid = (4)", "P % 8 == 0")}, {"requires": ("P % 4 == 0",)}, Kind.BETTER),
        ({"requires": ("x is out",)}, {"requires": ("y is out",)}, Kind.WORSE),
        ({"requires": ("K == M",)}, {"requires": ("K // M == 1",)}, Kind.WORSE),  # M may be 0
        ({"holds_for": "any"}, {"holds_for": "sizes"}, Kind.WORSE),
        ({"holds_for": "launch"}, {"holds_for": "any"}, Kind.BETTER),
        ({"assumes": ("injective(i)",)}, {"assumes": ("permutation(i)",)}, Kind.CHANGED),
    ],
)
def test_a_proof_of_fewer_launches_is_worse(old: dict[str, object], new: dict[str, object], kind: Kind) -> None:
    (change,) = compare([result("k", **old)], [result("k", **new)], implied=implied).changes  # type: ignore[arg-type]
    assert (change.kind, change.alarming) == (kind, kind is Kind.WORSE)


@pytest.mark.parametrize(
    ("old", "new", "kind", "word"),
    [
        ({}, {"stated": ("N % 4 == 0",)}, Kind.WORSE, "narrower: `N % 4 == 0` was added"),
        ({"stated": ("N % 4 == 0",)}, {}, Kind.BETTER, "wider: `N % 4 == 0` was dropped"),
        ({"stated": ("N % 8 == 0",)}, {"stated": ("N % 4 == 0",)}, Kind.BETTER, "wider: "),
        ({"stated": ("N % 4 == 0",)}, {"stated": ("4 * (N // 4) == N",)}, Kind.CHANGED, "the same, rewritten: "),
        ({"stated": ("any grid",)}, {"stated": ("grid = (cdiv(N, 4))",)}, Kind.WORSE, "narrower: "),
        ({"stated": ("grid = (cdiv(N, 4))",)}, {"stated": ("any grid",)}, Kind.BETTER, "wider: "),
        ({"stated": ("grid = (cdiv(N, 4))",)}, {"stated": ("grid = (4)",)}, Kind.WORSE, "another: "),
        ({"stated": ("grid = (cdiv(N, 4))",)}, {"stated": ("grid = ((N + 3) // 4, 1)",)}, Kind.CHANGED, "the same"),
        ({"stated": ("out and x may overlap",)}, {}, Kind.WORSE, "narrower: "),
        ({}, {"stated": ("injective(i)",)}, Kind.WORSE, "narrower: `injective(i)` was added"),
        ({"arguments": ('x = "f32[N]"',)}, {"arguments": ('x = "f32[64]"',)}, Kind.WORSE, "narrower: "),
        ({"arguments": ('x = "f32[64]"',)}, {"arguments": ('x = "f32[4 * N]"',)}, Kind.WORSE, "another: "),
        ({"arguments": ('x = "f32[N]"',)}, {"arguments": ('x = "f16[N]"',)}, Kind.WORSE, "another: "),
        ({"arguments": ("T = 64",)}, {"arguments": ("T = 32",)}, Kind.WORSE, "another: "),
        ({"arguments": ('n = "i32"',)}, {"arguments": ('n = "i32 = 4"',)}, Kind.WORSE, "narrower: "),
        (
            {"arguments": ('x = "f32[N]"', 'y = "f32[N]"'), "stated": ("N % 4 == 0",)},
            {"arguments": ('x = "f32[K]"', 'y = "f32[K]"'), "stated": ("K % 4 == 0",)},
            Kind.CHANGED,
            "the same, rewritten: ",
        ),
        (
            {"arguments": ('x = "f32[N]"', 'y = "f32[M]"')},
            {"arguments": ('x = "f32[N]"', 'y = "f32[N]"')},
            Kind.WORSE,
            'narrower: `y = "f32[N]"` was added, `y = "f32[M]"` was dropped',
        ),
    ],
)
def test_what_a_person_narrows_is_worse(old: dict[str, object], new: dict[str, object], kind: Kind, word: str) -> None:
    (change,) = compare([result("k", **old)], [result("k", **new)], implied=implied).changes  # type: ignore[arg-type]
    assert (change.kind, change.alarming) == (kind, kind is Kind.WORSE)
    assert change.details[0].startswith(f"the contract is {word}")


def test_a_report_that_does_not_say_what_launches_pass_is_compared_by_its_clauses() -> None:
    new = result("k", arguments=('x = "f32[64]"',), stated=("N % 4 == 0",))
    assert not compare([result("k", stated=("N % 4 == 0",))], [new], implied=implied).changes


def test_a_contract_that_became_narrower_shows_beside_a_better_verdict() -> None:
    old, new = result("k", Verdict.REFUTED, "TV301"), result("k", stated=("N % 4 == 0",))
    (change,) = compare([old], [new], implied=implied).changes
    assert change.kind is Kind.BETTER
    assert change.details == ("the contract is narrower: `N % 4 == 0` was added", "- TV301")


def test_a_proof_that_became_conditional_is_worse() -> None:
    old = result("k", stated=("N % 4 == 0",))
    new = result("k", requires=("N % 4 == 0",), conditional=True, contract="inferred")
    (change,) = compare([old], [new], implied=implied).changes
    assert change.kind is Kind.WORSE
    assert change.details[:2] == ("proved -> proved if", "contract written -> inferred")


def test_launches_of_one_name_are_told_apart() -> None:
    twice = (result("same"), result("same", Verdict.REFUTED, "TV101"))
    assert compare(twice, twice).changes == ()
    assert [change.kind for change in compare(twice, twice[:1]).changes] == [Kind.GONE]


@pytest.mark.parametrize("suffixes", [(".json", ".json"), (".html", ".json"), (".json", ".html")])
def test_the_command_reads_json_and_pages(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], suffixes: tuple[str, str]
) -> None:
    old, new = (write(tmp_path / f"{name}{end}", r) for name, end, r in zip("on", suffixes, (OLD, NEW), strict=True))
    run = command_line(capfd)
    ran = run("report", "diff", str(old), str(new))
    assert ran.code == 1
    assert ran.out.splitlines()[0] == "worse    a.py::broken [0]  proved -> refuted  + TV102"
    assert ran.out.splitlines()[-1] == "2 worse, 2 new, 1 changed, 1 gone, 1 better, 1 unchanged"
    same = run("report", "diff", str(old), str(old))
    assert (same.code, same.out) == (0, "6 unchanged\n")
    document = json.loads(run("report", "diff", str(old), str(new), "--format", "json").out)
    assert document["schema"] == "tileverify/history/1"
    assert document["changes"][0] == {
        "kind": "worse", "file": "a.py", "kernel": "broken", "launch": "0", "old": "proved", "new": "refuted",
        "details": ["+ TV102"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Expecting property name"),
        ("[]", "list indices must be integers"),
        ('{"schema": "other/1", "results": []}', "its schema is 'other/1', not 'tileverify/report/1'"),
        ("<!doctype html>", "the page holds no report"),
        ('<script type="application/octet-stream" id="report">AAAA</script>', "Not a gzipped file"),
        ('{"schema": "tileverify/report/1", "results": [{}]}', "'file'"),
    ],
)
def test_what_is_no_report_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    file = tmp_path / "report"
    file.write_text(text)
    ran = command_line(capfd)("report", "diff", str(file), str(file))
    assert ran.code == 2
    assert ran.err.startswith(f"error: '{file}' is no report of tileverify check --format json or html: ")
    assert reason in ran.err


def test_a_file_that_is_not_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ran = command_line(capfd)("report", "diff", str(tmp_path / "a"), str(tmp_path / "b"))
    assert (ran.code, ran.err) == (2, f"error: cannot read the report '{tmp_path / 'a'}': No such file or directory\n")


def test_paths_still_list_opt_outs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = command_line(capfd)
    assert run("report", str(tmp_path)).err == "0 opt-outs\n"
    assert run("report", "--strict", str(tmp_path)).code == 0
    assert run("report").code == 2
    assert "opt-outs" in run("report", "--help").out


def test_a_comment_takes_no_markup_from_files() -> None:
    evil = result("k`</code>|<b>", Verdict.REFUTED, findings=(Finding("TV101", "a `b` | <img> [x](y)"),))
    text = history_markdown(compare((), (evil,)), (evil,))
    assert text.splitlines()[0] == MARKER
    assert not re.search(r"<(img|b)>|`|\]\(", text)
    row = next(line for line in text.splitlines() if line.startswith("| new"))
    assert row.count("|") == 5


def test_a_comment_is_no_longer_than_it_may_be() -> None:
    many = tuple(result(f"kernel{number}", Verdict.REFUTED, "TV101") for number in range(2000))
    text = history_markdown(compare((), many), many)
    assert len(text) < 65_536
    assert text.endswith("more lines are left out.\n")


def test_what_older_reports_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first = (result("broken", Verdict.REFUTED, "TV102"), result("gone", Verdict.UNDECIDED, "TV901"))
    second = (result("broken", Verdict.UNDECIDED, "TV904"),)
    names = [str(write(tmp_path / f"{n}.json", each)) for n, each in enumerate((first, second, OLD, NEW))]
    run = command_line(capfd)
    ran = run("report", "diff", *names)
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0] == "worse    a.py::broken [0]  proved -> refuted  + TV102  before: refuted, undecided"
    assert "gone     a.py::gone [0]  proved  before: undecided, -" in lines
    assert "before: -, -" in next(line for line in lines if "fresh " in line)
    change = json.loads(run("report", "diff", *names, "--format", "json").out)["changes"][0]
    assert change["before"] == ["refuted", "undecided"]
    assert "<code>before: refuted, undecided</code>" in run("report", "diff", *names, "--format", "markdown").out
    assert "before: refuted, undecided" in html_report(Report(NEW, "1", "z3"), compare(OLD, NEW, (first, second)))
    assert run("report", "diff", names[0]).code == 2
