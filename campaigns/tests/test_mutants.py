"""Changed kernels: what is proved shows no fault when it runs, what is refuted is refuted in every process."""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tests.profiles import tries
from tests.shared import gathered

from tileverify.corpus import corpus_launches
from tileverify.results import Verdict

from ..mutants.judgement import left_idle
from ..mutation import Campaign, Judged, corpus_units, describe, mutants

pytestmark = pytest.mark.random

SEED = 1
COUNT = tries(short=30, long=400)
PART = 10
"""Mutants that a test process judges before it asks what is left."""
AGAIN = range(6)
"""Mutants that are decided in another process, too."""


@cache
def judged() -> tuple[Judged, ...]:
    campaign = Campaign(timeout_s=None, small=2, tiny=1, large=1)

    def part(first: int) -> list[Judged]:
        return [campaign.judge(mutant) for mutant in mutants(corpus_units(), SEED, range(first, first + PART))]

    return gathered("mutants", range(0, COUNT, PART), part)


def test_no_proved_mutant_shows_a_fault() -> None:
    wrong = [f"{describe(each)}\n  {each.fault}" for each in judged() if each.fault]
    assert not wrong, "\n".join(wrong)


def test_every_clause_can_be_read() -> None:
    assert not [each.unread for each in judged() if each.unread]


def test_no_mutant_breaks_the_tool() -> None:
    broken = [
        describe(each) for each in judged() if each.result.verdict is Verdict.ERROR and not left_idle(each.result)
    ]
    assert not broken, "\n".join(broken)


def test_most_mutants_of_decided_launches_are_decided() -> None:
    decided = {
        (str(label.file), label.kernel, label.launch)
        for label in corpus_launches()
        if label.verdict is not Verdict.UNDECIDED and label.needs is None
    }
    units = [(each, each.mutant.original) for each in judged()]
    counted = collections.Counter(
        each.result.verdict for each, unit in units if (str(unit.file), unit.kernel, unit.launch.name) in decided
    )
    assert len(judged()) == COUNT
    assert counted.total() >= 0.7 * COUNT, f"{len(decided)} labels, {min(decided)[0]}; kernels of {units[0][1].file}"
    assert counted[Verdict.PROVED] >= COUNT // 4
    assert counted[Verdict.REFUTED] >= COUNT // 4
    assert counted[Verdict.UNDECIDED] <= COUNT // 10


def test_the_hunt_finds_what_the_prover_finds() -> None:
    """A prover that called everything proved would not pass: most refuted mutants show a fault in a few launches."""
    campaign = Campaign(timeout_s=None, small=2, tiny=1, large=1)
    refuted = [each for each in judged() if each.result.verdict is Verdict.REFUTED][:60]
    found = [each for each in refuted if campaign.hunt(each.mutant, each.result)]
    assert len(found) >= 0.7 * len(refuted), f"{len(found)} of {len(refuted)}"


def test_another_process_says_the_same(tmp_path: Path) -> None:
    lines = tmp_path / "mutants.json"
    arguments = ["--seed", str(SEED), "--count", str(len(AGAIN)), "--timeout", "0", "--json", str(lines)]
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root / "src"), str(root)])
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": path}
    command = [sys.executable, "-m", "campaigns.mutation", *arguments]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [record["outcome"] for record in records] == [repr(judged()[number].outcome) for number in AGAIN]
