"""One card for one cause: which findings are one mistake, and which are two."""

from __future__ import annotations

from dataclasses import replace

from tileverify.reports.causes import also, cards, with_causes
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
