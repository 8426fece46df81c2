"""Comments that suppress findings: where they may stand, what they must say, and what they never do."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from tests.reports.suppress.conftest import SOURCE, race, report, result

from tileverify.reports.suppression_rules import PLACEHOLDER
from tileverify.reports.suppressions import with_reasons, with_suppressions
from tileverify.results import Finding, KernelResult, SourceSite, SuppressionKind, Verdict

TODAY = date(2026, 11, 22)
REASON = "blocks write equal values"
COMMENT = f"# tileverify: ignore[TV101] -- {REASON}"


def written(changes: dict[int, str], source: str = SOURCE, file: str = "k.py") -> None:
    """The source with comments at the ends of lines; line 0: one of its own above the first decorator."""
    lines = source.split("\n")
    for number, comment in changes.items():
        lines[number - 1] += f"  {comment}"
    Path(file).write_text("\n".join(lines))


def checked(*results: KernelResult, whole: bool = True) -> tuple[list[KernelResult], list[str], int]:
    """Results, codes of complaints, exit code."""
    found = with_reasons(with_suppressions(report(*results), whole=whole, today=TODAY))
    return list(found.results), [finding.code for finding in found.findings], found.exit_code


@pytest.mark.parametrize("line", [4, 5, 8, 9, 10, 12])
def test_beside_the_kernel_or_the_access(line: int) -> None:
    written({line: COMMENT})
    (found,), complaints, code = checked(result(race(8)))
    suppression = found.findings[0].suppression
    assert suppression is not None
    assert (suppression.kind, suppression.reason, suppression.line) == (SuppressionKind.COMMENT, REASON, line)
    assert (complaints, code) == ([], 0)
    assert found.verdict is Verdict.REFUTED


@pytest.mark.parametrize("above", [4, 8, 9])
def test_on_a_line_of_its_own_above(above: int) -> None:
    lines = SOURCE.split("\n")
    lines[above - 1 : above - 1] = [COMMENT, "# more words"]
    Path("k.py").write_text("\n".join(lines))
    kernel = 7 if above == 4 else 5
    (found,), complaints, code = checked(result(race(10 if above < 9 else 8), line=kernel))
    assert found.findings[0].suppression is not None
    assert (complaints, code) == ([], 0)


@pytest.mark.parametrize("line", [1, 6, 7, 15, 16, 18])
def test_elsewhere_it_hides_nothing_and_is_one_too_many(line: int) -> None:
    written({line: COMMENT})
    (found,), complaints, code = checked(result(race(8)))
    assert found.findings[0].suppression is None
    assert (complaints, code) == (["TV601"], 1)


def test_another_code_is_not_hidden() -> None:
    written({8: "# tileverify: ignore[TV102, TV301] -- why"})
    (found,), complaints, code = checked(result(race(8), race(8, "TV301")))
    assert [finding.suppression is None for finding in found.findings] == [True, False]
    assert (complaints, code) == (["TV601"], 1)


def test_where_an_inlined_function_is_called() -> None:
    written({7: COMMENT})
    finding = race(2, file="helpers.py")
    sites = tuple(replace(site, call_chain=(("helpers.py", 2, 4), ("k.py", 7, 4))) for site in finding.sites)
    (found,), complaints, code = checked(result(replace(finding, sites=sites)))
    assert found.findings[0].suppression is not None
    assert (complaints, code) == ([], 0)


def test_in_the_file_of_a_helper() -> None:
    Path("k.py").write_text(SOURCE)
    Path("helpers.py").write_text(f"def store(out, i, t):\n    ct.store(out, i, t)  {COMMENT}\n")
    (found,), complaints, code = checked(result(race(2, file="helpers.py")))
    assert found.findings[0].suppression is not None
    assert (complaints, code) == ([], 0)


def test_in_tile_cpp() -> None:
    source = "__tile_global__ void k(float *out) {\n    store(out, 1);\n}\n"
    written({2: f"// tileverify: ignore[TV101] -- {REASON}"}, source, "k.cu")
    (found,), complaints, code = checked(result(race(2, file="k.cu"), file="k.cu"))
    assert found.findings[0].suppression is not None
    assert (complaints, code) == ([], 0)


@pytest.mark.parametrize(
    ("comment", "told"),
    [
        ("# tileverify: ignore[TV101]", "gives no reason"),
        ("# tileverify: ignore[TV101] --  ", "gives no reason"),
        ("# tileverify: ignore[TV101] -- (until 2027-12-31)", "gives no reason"),
        (f"# tileverify: ignore[TV101] -- {PLACEHOLDER}", "'TODO: why this is fine' is a placeholder"),
        ("# tileverify: ignore[TV101] -- why this is fine (until 2027-12-31)", "'why this is fine' is a placeholder"),
        ("# tileverify: ignore[TV101] -- ...", "'...' is a placeholder"),
        ("# tileverify: ignore[TV101] -- -", "'-' is a placeholder"),
        ("# tileverify: ignore[TV101] -- TODO", "'TODO' is a placeholder"),
        ("# tileverify: ignore[TV101] -- todo, ask the author", "is a placeholder"),
        ("# tileverify: ignore[TV101] -- FIXME", "'FIXME' is a placeholder"),
        ("# tileverify: ignore[TV101] -- <xxx>", "'<xxx>' is a placeholder"),
        ("# tileverify: ignore[TV101] because", "cannot be read"),
        ("# tileverify: ignore -- because", "cannot be read"),
        ("# tileverify:ignore[] -- because", "names no code"),
        ("# tileverify: ignore[TV110] -- because", "names 'TV110', which is no code"),
        ("# tileverify: ignore[TV001] -- because", "cannot be suppressed"),
        ("# tileverify: ignore[TV601] -- because", "cannot be suppressed"),
        ("# tileverify: ignore[TV101] -- because (until 31.12.2027)", "is no day"),
        ("# tileverify: ignore[TV101] -- because (until 2027-02-30)", "is no day"),
    ],
)
def test_a_malformed_one_hides_nothing_and_is_a_finding(comment: str, told: str) -> None:
    written({8: comment})
    found = with_suppressions(report(result(race(8))), whole=False, today=TODAY)
    assert found.results[0].findings[0].suppression is None
    (complaint,) = found.findings
    assert complaint.code == "TV603"
    assert told in complaint.message
    assert (complaint.sites[0].line, complaint.sites[0].column) == (8, len("    ct.store(  "))
    assert with_suppressions(report(result()), whole=True, today=TODAY).exit_code == 2


@pytest.mark.parametrize("reason", ["xxxl tiles are never launched", "todos are one per block", "x = 1"])
def test_a_reason_may_begin_like_a_placeholder(reason: str) -> None:
    written({8: f"# tileverify: ignore[TV101] -- {reason}"})
    assert checked(result(race(8)))[1:] == ([], 0)


def test_other_words_are_no_suppressions() -> None:
    written({8: "# see tileverify", 5: "# tileverify: ignored by our CI", 6: '; s = "tileverify: ignore[TV101]"'})
    _, complaints, code = checked(result(race(8)))
    assert (complaints, code) == ([], 1)


@pytest.mark.parametrize(("until", "holds"), [("2026-11-21", False), ("2026-11-22", True), ("2027-12-31", True)])
def test_a_day_after_which_it_does_not_hold(until: str, holds: bool) -> None:
    written({8: f"{COMMENT} (until {until})"})
    (found,), complaints, code = checked(result(race(8)))
    assert (found.findings[0].suppression is not None) is holds
    assert (complaints, code) == (([], 0) if holds else (["TV602"], 1))


def test_one_that_is_expired_and_without_use_is_one_complaint() -> None:
    written({8: f"{COMMENT} (until 2020-01-01)"})
    assert checked(result())[1:] == (["TV601"], 2)


def test_whether_it_has_a_use_is_asked_only_of_files_that_were_checked_whole() -> None:
    written({8: COMMENT})
    assert checked(result(), whole=False)[1:] == ([], 0)
    assert checked(result(verdict=Verdict.ERROR, kernel=""))[1:] == ([], 2)


def test_errors_are_never_hidden() -> None:
    written({5: COMMENT})
    error = Finding("TV001", "m", (SourceSite("k.py", 5, 0, "", ""),))
    (found,), _, code = checked(result(error, verdict=Verdict.ERROR))
    assert found.findings[0].suppression is None
    assert code == 2


def test_undecided_kernels_too() -> None:
    written({5: "# tileverify: ignore[TV901] -- the host sorts idx"})
    undecided = Finding("TV901", "m", (SourceSite("k.py", 8, 4, "store", "out"),), obligation="TV101")
    (found,), complaints, code = checked(result(undecided))
    assert (found.verdict, complaints, code) == (Verdict.UNDECIDED, [], 0)


def test_what_is_left_counts() -> None:
    written({5: "# tileverify: ignore[TV101] -- why"})
    undecided = Finding("TV903", "m", (SourceSite("k.py", 8, 4, "store", "out"),), obligation="TV102")
    assert checked(result(race(8), undecided))[1:] == ([], 3)
    assert checked(result(race(8), race(8, "TV301")))[1:] == ([], 1)


def test_a_kernel_with_as_many_faults_as_are_looked_for_fails_all_the_same() -> None:
    written({5: "# tileverify: ignore[TV101] -- why"})
    (found,), complaints, code = checked(
        replace(result(*(race(8, fingerprint=f"{n:032}") for n in range(4))), cut_short=True)
    )
    assert all(finding.suppression for finding in found.findings)
    assert (complaints, code) == ([], 1)
    assert "there may be others" in found.notes[0]


def test_odd_sources_do_no_harm() -> None:
    for text in (
        "def f(:\n  # tileverify: ignore[TV101] -- x\n",
        "'''\n# tileverify: ignore[TV101] -- x",
        "\x00tileverify",
    ):
        Path("k.py").write_text(text)
        assert checked(result(race(8)))[2] == 1
