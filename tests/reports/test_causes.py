"""One card for one cause: which findings are one mistake, and which are two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tileverify.launching.proofs import not_proved
from tileverify.pipeline.unread import told_apart
from tileverify.reports.causes import also, cards, mistakes, with_causes
from tileverify.results import Edit, Finding, Hint, KernelResult, SourceSite, Suppression, SuppressionKind, Verdict


def site(access: str, line: int, array: str = "out", index: str = "") -> SourceSite:
    return SourceSite("k.py", line, 4, access, array, expression=f"{array}{index}")


def finding(code: str, *sites: SourceSite, **more: object) -> Finding:
    made = Finding(code, f"{code} of {sites[0].array}", sites, fingerprint=f"{code}-{sites[0].line}")
    return replace(made, **more)  # type: ignore[arg-type]


def causes(*findings: Finding) -> list[str]:
    result = with_causes(KernelResult("k.py", "k", "0", Verdict.REFUTED, findings=findings))
    return [each.cause for each in result.findings]


def test_faults_of_one_store_are_one_mistake() -> None:
    store, load = site("store", 9), site("load", 8)
    assert causes(finding("TV202", store), finding("TV102", load, store), finding("TV101", store)) == ["TV202-9"] * 3


def test_two_stores_are_two_mistakes_unless_one_repair_mends_both() -> None:
    first, second = finding("TV101", site("store", 9)), finding("TV101", site("store", 12, "other"))
    assert causes(first, second) == ["TV101-9", "TV101-12"]
    hint = Hint("use-atomic", "safe", "add", (Edit(9, 0, 9, 4, "x"),))
    assert causes(replace(first, hints=(hint,)), replace(second, hints=(hint,))) == ["TV101-9"] * 2
    advice = Hint("split-output-index", "display", "an index of its own")
    assert causes(replace(first, hints=(advice,)), replace(second, hints=(advice,))) == ["TV101-9", "TV101-12"]


def test_what_joins_two_joins_all() -> None:
    """The third finding has a store of the first and one of the second."""
    first, second = finding("TV101", site("store", 9)), finding("TV101", site("store", 12))
    both = finding("TV101", site("store", 9), site("store", 12), fingerprint="both")
    assert causes(first, second, both) == ["TV101-9"] * 3


def test_the_same_index_leaves_two_arrays() -> None:
    load, store = site("load", 8, "x", "[bid.x]"), site("store", 9, "out", "[bid.x]")
    assert causes(finding("TV301", load), finding("TV301", store)) == ["TV301-8"] * 2
    assert causes(finding("TV301", load), finding("TV301", site("store", 9, "out", "[bid.x + 1]"))) == [
        "TV301-8",
        "TV301-9",
    ]


def test_what_is_undecided_is_no_part_of_what_is_wrong() -> None:
    store = site("store", 9)
    open_one = finding("TV903", store, obligation="TV101")
    assert causes(finding("TV101", store), open_one) == ["TV101-9", "TV903-9"]


def test_mistakes_are_counted_without_fingerprints() -> None:
    """What a refused launch tells."""
    store, load = site("store", 9), site("load", 8)
    found = (finding("TV202", store), finding("TV102", load, store), finding("TV301", load))
    bare = tuple(replace(each, fingerprint="") for each in found)
    result = KernelResult("k.py", "k", "0", Verdict.REFUTED, findings=bare)
    assert mistakes(result) == [bare[0], bare[2]]
    assert not_proved(result).endswith("TV202 of out [TV202] at k.py:9 (and 1 more)")
    assert not_proved(replace(result, findings=bare[:2])).endswith("TV202 of out [TV202] at k.py:9")


def test_what_nobody_may_read_has_causes_too(tmp_path: Path) -> None:
    """And the names of files in it are opened by nobody."""
    file = tmp_path / "k.py"
    file.write_text("a = 1\nstore(out, 1)\n")
    store, load = site("store", 2, index="[bid.x]"), site("load", 1, index="[0]")
    found = tuple(
        replace(each, fingerprint="", sites=tuple(replace(at, file=str(file)) for at in each.sites))
        for each in (finding("TV101", store), finding("TV102", load, store))
    )
    result = KernelResult(str(file), "k", "0", Verdict.REFUTED, findings=found)
    first, second = told_apart(result).findings
    assert first.cause == second.cause == first.fingerprint != second.fingerprint
    assert len(first.fingerprint) == 32
    file.write_text("a = 1\nscatter(out, 7)\n")
    assert told_apart(result).findings == (first, second)


def test_cards() -> None:
    first = finding("TV102", site("load", 8), site("store", 9), cause="a")
    other = finding("TV101", site("store", 9), cause="a")
    again = finding("TV102", site("load", 7), site("store", 9), cause="a")
    alone = finding("TV301", site("load", 3))
    hidden = replace(other, suppression=Suppression(SuppressionKind.COMMENT, "known"))
    assert cards([first, other, alone, again]) == [(first, (other, again)), (alone, ())]
    assert cards([first, hidden]) == [(first, ()), (hidden, ())]
    assert list(also(first, (other, again))) == [
        "also TV101 at line 9: TV101 of out",
        "also TV102 at line 7: TV102 of out",
    ]
