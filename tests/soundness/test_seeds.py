"""No verdict on the corpus contradicts its label, whatever the solver's seed and resource limit."""

from __future__ import annotations

import pytest

from tileverify.results import Verdict

from .sabotage import FIVE, SABOTAGES
from .seeds import LIMITS, SEEDS, labelled_units, runs

FEW = ("racy/half_block.py", "race_free/reverse_tiles.py", "integers/truncated_size.py")


def test_few_launches_under_few_seeds() -> None:
    found = [run for name in FEW for label, unit in labelled_units(name) for run in runs(label, unit, (0, 7))]
    assert {run.limits for run in found} == set(LIMITS)
    assert {run.verdict for run in found} >= {Verdict.PROVED.value, Verdict.REFUTED.value}
    assert not [run for run in found if run.wrong]


@pytest.mark.slow
def test_all_launches_under_all_seeds() -> None:
    wrong = [run for label, unit in labelled_units() for run in runs(label, unit, range(SEEDS)) if run.wrong]
    assert not wrong


def test_the_five_flaws_are_in_the_list() -> None:
    assert set(FIVE) <= {chosen.name for chosen in SABOTAGES}
    assert len(FIVE) == 5
