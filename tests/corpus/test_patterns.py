"""The page about the corpus names launches that exist, with the labels that it says they have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileverify.corpus import corpus_launches
from tileverify.results import Verdict

PAGE = Path(__file__).parents[2] / "docs" / "corpus.md"
ROW = re.compile(r"^\| (?P<pattern>.+) \| `(?P<right>[^`]+::[^`]+)` \| `(?P<broken>[^`]+::[^`]+)` \|$")
ROWS = [row for line in PAGE.read_text(encoding="utf-8").splitlines() if (row := ROW.match(line))]
LABELS = {label.id: label for label in corpus_launches()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["pattern"])
def test_a_pattern_has_a_right_and_a_broken_launch(row: re.Match[str]) -> None:
    assert LABELS[row["right"]].verdict is Verdict.PROVED
    broken = LABELS[row["broken"]]
    assert broken.verdict is Verdict.REFUTED or (broken.verdict, broken.code) == (Verdict.UNDECIDED, "TV901")


def test_every_row_is_read() -> None:
    assert len(ROWS) == PAGE.read_text(encoding="utf-8").count("::") // 2 > 70
