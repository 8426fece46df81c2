"""Drawn mutants: what is proved shows no fault when it runs, what is refuted is refuted in every process."""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.profiles import tries
from tests.shared import gathered

from tileverify.corpus import corpus_launches
from tileverify.results import Verdict

from ..mutants.campaign import drawn_tasks, otherwise, run
from ..mutants.subjects import drawn_from
from ..mutants.summary import Line

pytestmark = pytest.mark.random

SEED = 1
COUNT = tries(short=30, long=400)
PART = 10
"""Mutants that a test process judges before it asks what is left."""
AGAIN = range(6)
"""Mutants that are decided in another process, too."""
IDLE = ("TV004",)
"""The contract leaves the changed kernel nothing to do."""


@cache
def judged() -> tuple[Line, ...]:
    """By number."""

    def part(first: int) -> list[Line]:
        tasks = drawn_tasks(drawn_from(None), SEED, range(first, first + PART))
        return [line for task in tasks for line in run(task) if line.kind or line.wrong]

    found = gathered("drawn mutants", range(0, COUNT, PART), part)
    return tuple(sorted(found, key=lambda line: int(line.mutant.split()[0].removeprefix("#"))))


@pytest.mark.parametrize("said", ["proved", "refuted", "error"])
def test_no_verdict_is_wrong(said: str) -> None:
    """``proved``: a fault shows, or a clause has no meaning; ``refuted``: a witness is none; ``error``: it broke."""
    wrong = [str(line) for line in judged() if line.wrong and line.codes != IDLE]
    assert not [text for text in wrong if f"WRONG {said}" in text]
    assert all("WRONG proved" in text or "WRONG refuted" in text or "WRONG error" in text for text in wrong)


def test_most_mutants_of_decided_launches_are_decided() -> None:
    decided = {
        label.id for label in corpus_launches() if label.verdict is not Verdict.UNDECIDED and label.needs is None
    }
    counted = collections.Counter(line.outcome for line in judged() if line.mutant.partition(" ")[2] in decided)
    assert len(judged()) == COUNT
    assert counted.total() >= 0.7 * COUNT
    assert counted["proved"] >= COUNT // 4
    assert counted["refuted"] >= COUNT // 4
    assert counted["undecided"] <= COUNT // 10


def test_the_interpreter_finds_what_the_prover_finds() -> None:
    """A prover that called everything proved would not pass: most refuted mutants show a fault in a few launches."""
    refuted = [line for line in judged() if line.outcome == "refuted"]
    assert sum(line.truth == "broken" for line in refuted) >= 0.7 * len(refuted)


def test_another_process_says_the_same(tmp_path: Path) -> None:
    lines = tmp_path / "mutants.json"
    arguments = ["--seed", str(SEED), "--drawn", str(len(AGAIN)), "--timeout", "0", "--json", str(lines)]
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root / "src"), str(root)])
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": path}
    command = [sys.executable, "-m", "campaigns.mutants.campaign", *arguments]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in lines.read_text().splitlines()]
    found = {record["mutant"]: record["said"] for record in records if record["kind"]}
    assert found == {line.mutant: line.said for line in judged()[: len(AGAIN)]}


def test_another_verdict_the_second_time_is_told() -> None:
    (task,) = drawn_tasks(drawn_from(None), SEED, [0])
    line = judged()[0]
    assert list(otherwise(task, [line])) == []
    (told,) = otherwise(task, [replace(line, said="")])
    assert told.startswith("another verdict the second time: ")
