"""A sample of the tampering campaign: no changed certificate is confirmed that claims something false."""

from __future__ import annotations

import random
from functools import cache

import pytest

from tileverify.verifier.certificate.second_solver import SecondSolver

from ..tamper import campaign
from ..tamper.changes import KINDS

FOLDERS = ("loops", "explained")
COUNT = 60


@cache
def pool() -> list[campaign.Original]:
    return campaign.originals(campaign.compiled(FOLDERS))


def test_a_sample_of_changed_certificates() -> None:
    tally = campaign.run(pool(), COUNT, 7, SecondSolver())
    assert sum(tally.answers.values()) == COUNT
    assert not tally.false, tally.false
    assert {kind for kind, _ in tally.answers} == set(KINDS)
    assert sum(count for (_, answer), count in tally.answers.items() if answer == "rejected") > COUNT // 2


def test_several_processes_find_what_one_does() -> None:
    few = pool()[:4]
    alone = campaign.run(few, 12, 3, SecondSolver())
    together = campaign.run(few, 12, 3, SecondSolver(), jobs=2)
    assert alone.answers == together.answers
    assert alone.false == together.false == []


def test_a_process_that_dies_is_no_confirmation() -> None:
    """Its changes count as crashes, which end the campaign with status 1."""
    lost = campaign._died(range(1, 20, 5))
    assert sum(lost.answers.values()) == 4
    assert {answer for _, answer in lost.answers} == {"crashed"}
    assert lost.false


def test_the_same_seed_changes_the_same() -> None:
    original = pool()[0].document
    for kind in KINDS:
        first, second = (campaign._changed(original, kind, random.Random(3)) for _ in range(2))
        assert first == second


def test_a_false_claim_that_is_confirmed_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compared any more: left-out obligations are confirmed, and counted as false."""
    monkeypatch.setattr("tileverify.verifier.certificate.recheck._compared", lambda certificate, found: ())
    monkeypatch.setattr(campaign, "KINDS", {"left-out obligations": KINDS["left-out obligations"]})
    assert campaign.run(pool(), 12, 1, SecondSolver()).false
