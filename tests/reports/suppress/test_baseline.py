"""The baseline: known findings do not fail, new ones do, and it only ever loses entries."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.reports.suppress.conftest import SOURCE, race, report, result

from tileverify.reports.suppressions import checked_baseline, read_baseline, suppressed
from tileverify.results import Finding, KernelResult, SourceSite, Verdict
from tileverify.system.errors import ConfigError, UsageError

FILE = Path("baseline.json")
A, B, C = (race(8, fingerprint=letter * 32) for letter in "abc")


def run(*results: KernelResult, update: bool = False, whole: bool = True) -> tuple[int, str]:
    """Exit code and what is said about the baseline."""
    checked_baseline(FILE, update=update, whole=whole)
    found, told = suppressed(report(*results), (), FILE, update=update, whole=whole)
    return found.exit_code, told


def known() -> list[str]:
    return [entry.fingerprint[0] for entry in read_baseline(FILE).entries]


@pytest.fixture(autouse=True)
def _source(folder: Path) -> None:
    Path("k.py").write_text(SOURCE)


def test_written_once_it_knows_what_was_there_and_nothing_new() -> None:
    assert run(result(A), update=True) == (0, "baseline baseline.json: written with 1 finding")
    assert run(result(A)) == (0, "baseline baseline.json: 1 finding known")
    assert run(result(A, B))[0] == 1
    assert run(result(replace(A, code="TV102", fingerprint="d" * 32)))[0] == 1


def test_an_update_removes_what_is_gone_and_never_adds() -> None:
    run(result(A, B), update=True)
    assert run(result(B, C)) == (
        1,
        "baseline baseline.json: 1 finding of it gone; --update-baseline removes what is gone",
    )
    assert known() == ["a", "b"]
    assert run(result(B, C), update=True) == (1, "baseline baseline.json: 1 finding gone and removed, 1 finding left")
    assert known() == ["b"]
    assert run(result(A, B), update=True)[0] == 1
    assert run(result(), update=True)[0] == 0
    assert known() == []
    assert run(result(A), update=True)[0] == 1
    assert known() == []


def test_another_file_or_kernel_is_not_known() -> None:
    run(result(A), update=True)
    assert run(result(A, file="l.py"))[0] == 1


def test_another_launch_of_the_same_fault_is() -> None:
    run(result(A), update=True)
    assert run(result(A), result(A, launch="another"))[0] == 0


def test_any_number_of_findings_is_known() -> None:
    many = result(*(race(8, fingerprint=f"{n:032}") for n in range(40)))
    assert run(many, update=True)[0] == 0
    assert run(many) == (0, "baseline baseline.json: 40 findings known")
    assert run(replace(many, cut_short=True))[0] == 1


@pytest.mark.parametrize(
    "unsure",
    [
        result(Finding("TV903", "the budget ran out")),
        result(Finding("TV001", "m"), verdict=Verdict.ERROR),
        result(Finding("TV001", "m"), verdict=Verdict.ERROR, kernel=""),
        replace(result(*(race(8, fingerprint=f"{n:032}") for n in range(4))), cut_short=True),
    ],
    ids=["budget", "error", "error-of-the-file", "many"],
)
def test_what_was_not_looked_at_stays(unsure: KernelResult) -> None:
    run(result(A), update=True)
    run(unsure, update=True)
    assert known() == ["a"]


def test_files_that_were_not_checked_stay_and_files_that_are_gone_go() -> None:
    Path("l.py").write_text("")
    run(result(A), result(B, file="l.py"), update=True)
    run(result(A), update=True)
    assert known() == ["a", "b"]
    Path("l.py").unlink()
    run(result(A), update=True)
    assert known() == ["a"]


def test_files_are_named_from_where_the_baseline_lies(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    run(result(A), update=True)
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    found, _ = suppressed(report(result(A, file="../k.py")), (), folder / FILE, update=False, whole=True)
    assert found.exit_code == 0


def test_comments_come_first_and_are_not_written_down() -> None:
    Path("k.py").write_text(
        SOURCE.replace("def halves(x, out):", "def halves(x, out):  # tileverify: ignore[TV101] -- w")
    )
    run(result(A), update=True)
    assert known() == []


def test_verdicts_stay_and_errors_are_not_hidden() -> None:
    run(result(A), update=True)
    error = result(replace(A, code="TV001"), verdict=Verdict.ERROR)
    assert run(error)[0] == 2
    found, _ = suppressed(report(result(A)), (), FILE, update=False, whole=True)
    assert found.results[0].verdict is Verdict.REFUTED


def test_of_a_part_nothing_is_removed() -> None:
    run(result(A), update=True)
    assert run(result(), whole=False) == (0, "baseline baseline.json: 1 finding known")
    with pytest.raises(UsageError, match="needs whole files"):
        checked_baseline(FILE, update=True, whole=False)


def test_the_file_is_sorted_with_a_line_for_each_finding() -> None:
    run(result(C, B), result(A, kernel="another"), update=True)
    text = FILE.read_text()
    assert len(json.loads(text)["findings"]) == 3
    assert [line[:38] for line in text.splitlines()[2:-1]] == [
        '  {"file": "k.py", "kernel": "another"',
        '  {"file": "k.py", "kernel": "halves",',
        '  {"file": "k.py", "kernel": "halves",',
    ]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "tileverify/baseline/2", "findings": []}',
             '{"schema": "tileverify/baseline/1", "findings": [{"file": 1}]}',
             '{"schema": "tileverify/baseline/1", "findings": [{"file": "k.py", "odd": "x"}]}'],
)  # fmt: skip
def test_what_is_no_baseline_is_one_error(text: str) -> None:
    FILE.write_text(text)
    with pytest.raises(ConfigError, match=r"baseline\.json: is no baseline"):
        checked_baseline(FILE, update=False, whole=True)


def test_a_missing_one_is_an_error_that_says_how_to_write_it() -> None:
    with pytest.raises(ConfigError, match="--update-baseline writes it"):
        checked_baseline(FILE, update=False, whole=True)
    with pytest.raises(UsageError, match="name the file"):
        checked_baseline(None, update=True, whole=True)
    with pytest.raises(UsageError, match="there is no folder"):
        checked_baseline(Path("no/such.json"), update=True, whole=True)


def test_sites_without_source_are_known_too() -> None:
    site = SourceSite(None, None, None, "store", "out")
    run(result(replace(A, sites=(site, site))), update=True)
    assert run(result(replace(A, sites=(site, site))))[0] == 0
