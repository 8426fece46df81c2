"""Fingerprints: the same fault keeps its own wherever it moves, another one has another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tileverify.reports.causes import with_fingerprints
from tileverify.reports.snippets import Snippets
from tileverify.results import Finding, KernelResult, SourceSite, Verdict

SOURCE = """\
def k(x, out):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(16,))
    ct.store(out, index=(i // 2,), tile=a)
    ct.store(out, index=(i // 2,), tile=a)
"""


def site(line: int, column: int = 4, access: str = "store", array: str = "out", expression: str = "") -> SourceSite:
    return SourceSite("k.py", line, column, access, array, expression=expression)


def result(*findings: Finding, kernel: str = "k", launch: str = "0") -> KernelResult:
    return KernelResult("k.py", kernel, launch, Verdict.REFUTED, findings=findings)


def prints(source: str, found: KernelResult) -> list[str]:
    Path("k.py").write_text(source)
    return [finding.fingerprint for finding in with_fingerprints(found, Snippets()).findings]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


RACE = Finding("TV102", "m", (site(3, 8, "load", "x"), site(4)))


def moved(finding: Finding, lines: int) -> Finding:
    return replace(finding, sites=tuple(replace(each, line=(each.line or 0) + lines) for each in finding.sites))


def test_a_fault_that_moves_is_the_same() -> None:
    known = prints(SOURCE, result(RACE))
    assert prints(f"# new\n\n{SOURCE}", result(moved(RACE, 2))) == known
    assert prints(SOURCE.replace("index=(i,), shape", "index=( i, ), shape"), result(RACE)) == known


def test_message_launch_witness_and_order_of_sites_do_not_count() -> None:
    known = prints(SOURCE, result(RACE))
    other = replace(RACE, message="other words", sites=RACE.sites[::-1])
    assert prints(SOURCE, result(other, launch="another")) == known


@pytest.mark.parametrize(
    "other",
    [
        replace(RACE, code="TV101"),
        replace(RACE, obligation="TV101"),
        replace(RACE, sites=(RACE.sites[0], replace(RACE.sites[1], array="y"))),
        replace(RACE, sites=(RACE.sites[0],)),
        replace(RACE, sites=(RACE.sites[0], site(3, 8, "store"))),
    ],
)
def test_another_code_access_or_array_is_another_fault(other: Finding) -> None:
    assert prints(SOURCE, result(other)) != prints(SOURCE, result(RACE))


def test_another_kernel_or_another_index_is_another_fault() -> None:
    known = prints(SOURCE, result(RACE))
    assert prints(SOURCE, result(RACE, kernel="l")) != known
    assert prints(SOURCE.replace("i // 2", "i // 3"), result(RACE)) != known


def test_equal_faults_at_two_places_are_numbered_from_the_top() -> None:
    upper, lower = Finding("TV101", "m", (site(4),)), Finding("TV101", "m", (site(5),))
    both = prints(SOURCE, result(upper, lower))
    assert len(set(both)) == 2
    assert prints(SOURCE, result(lower, upper)) == both[::-1]
    assert prints(SOURCE, result(upper)) == both[:1]


def test_without_source_the_index_terms_count() -> None:
    first, second = (replace(RACE, sites=(SourceSite(None, None, None, "store", "o", expression=e),)) for e in "ab")
    assert prints("", result(first)) != prints("", result(second))
    assert prints("", result(first)) == prints(SOURCE, result(first))


def test_without_any_place_the_message_counts() -> None:
    assert prints("", result(Finding("TV903", "a"))) != prints("", result(Finding("TV903", "b")))
