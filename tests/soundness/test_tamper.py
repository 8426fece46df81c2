"""A sample of the tampering campaign: no changed certificate is confirmed that claims something false."""

from __future__ import annotations

import random
from functools import cache

import pytest

from tileverify.verifier.certificate.second_solver import SecondSolver

from .tamper import campaign
from .tamper.changes import KINDS

FOLDERS = ("loops", "explained")
COUNT = 60


@cache
def pool() -> list[campaign.Original]:
    return campaign.originals(FOLDERS)


def test_a_sample_of_changed_certificates() -> None:
    tally = campaign.run(pool(), COUNT, 7, SecondSolver())
    assert sum(tally.answers.values()) == COUNT
    assert not tally.false, tally.false
    assert {kind for kind, _ in tally.answers} == set(KINDS)
    assert sum(count for (_, answer), count in tally.answers.items() if answer == "rejected") > COUNT // 2


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
