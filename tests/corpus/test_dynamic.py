"""The labels against the reference interpreter, which shares nothing with the prover.

For every launch of the corpus some concrete launches within its contract are run.  Where the label says proved, no
fault may show in any of them; where it says refuted, the labelled fault must show in every one, as only then no
clause could save some launches.
"""

from __future__ import annotations

from functools import cache

import pytest

from tileverify.corpus import ROOT, Labelled, corpus_launches
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.sources.launch import KernelUnit
from tileverify.results import Verdict

from .launches import Observed, drawn_launches, observe

LAUNCHES_EACH = 3
LAUNCHES_TO_SEPARATE = 100
"""Labels that need this have launches of both kinds, which a clause must tell apart."""


@cache
def units() -> dict[tuple[str, str, str], KernelUnit]:
    found = list(discover([str(ROOT)]))
    failures = [str(unit.error) for unit in found if not isinstance(unit, KernelUnit)]
    assert not failures
    return {(str(unit.file), unit.kernel, unit.launch.name): unit for unit in found if isinstance(unit, KernelUnit)}


def observed(label: Labelled, count: int) -> list[Observed]:
    unit = units()[str(label.file), label.kernel, label.launch]
    found = [observe(unit, launch) for launch in drawn_launches(unit.launch, count, seed=1)]
    assert found, "no launch within the contract was found"
    return found


def labels(verdict: Verdict, *, separable: bool = False) -> pytest.MarkDecorator:
    chosen = [each for each in corpus_launches() if each.verdict is verdict and bool(each.adds) is separable]
    return pytest.mark.parametrize("label", chosen, ids=lambda label: label.id)


@labels(Verdict.PROVED)
def test_no_fault_shows_where_the_label_says_proved(label: Labelled) -> None:
    faulty = [(each.launch, sorted(each.codes)) for each in observed(label, LAUNCHES_EACH) if each.codes]
    assert not faulty, label.reason


@labels(Verdict.REFUTED)
def test_every_launch_shows_the_labelled_fault(label: Labelled) -> None:
    for each in observed(label, LAUNCHES_EACH):
        assert label.code in each.codes, f"{label.reason}\n{each.launch}\n{sorted(each.codes)}"
        assert each.codes <= label.codes, f"{label.reason}\n{each.launch}\n{sorted(each.codes)}"


@labels(Verdict.PROVED, separable=True)
def test_some_launches_are_right_and_some_wrong_where_a_clause_must_separate_them(label: Labelled) -> None:
    assert {bool(each.codes) for each in observed(label, LAUNCHES_TO_SEPARATE)} == {True, False}


@labels(Verdict.UNDECIDED)
def test_data_alone_decides_where_a_fact_is_missing(label: Labelled) -> None:
    assert {bool(each.codes) for each in observed(label, LAUNCHES_TO_SEPARATE)} == {True, False}
