"""A recorded kernel that no facts prove is refuted where all that was observed of its arrays leaves it at fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.soundness.test_found_wrong import checked

from tileverify.results import Verdict

LONG_ROWS = """
import cuda.tile as ct

@ct.kernel
def mark(lengths, y, TILE: ct.Constant[int]):
    length = ct.load(lengths, (ct.bid(0),), shape=())
    if length * length > 2000 and length < 1000:
        ct.store(y, (WHERE,), ct.full((TILE,), length, dtype=ct.int32))
"""
LAUNCH = """
kernel = "mark"
grid = [8]
observed = ["range(lengths, LOW, 90)", "injective(lengths)"]
args = { lengths = "i32[8]", y = "i32[128]", TILE = 16 }
"""


@pytest.mark.parametrize(
    ("where", "low", "verdict"),
    [
        ("0", 50, Verdict.REFUTED),
        ("ct.bid(0)", 50, Verdict.PROVED),
        ("length % 8", 50, Verdict.UNDECIDED),  # eight lengths in a row leave eight different rests
    ],
)
def test_what_was_observed_decides_where_no_choice_of_it_proves(
    tmp_path: Path, where: str, low: int, verdict: Verdict
) -> None:
    result = checked(tmp_path, LONG_ROWS.replace("WHERE", where), LAUNCH.replace("LOW", str(low)))
    assert result.verdict is verdict, result
    told = "the fault shows in contents that keep all that was observed of the arrays"
    assert (told in result.notes) == (verdict is Verdict.REFUTED)
