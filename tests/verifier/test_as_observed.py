"""A recorded kernel that no facts prove is refuted where all that was observed of its arrays leaves it at fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

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
    result = judged(tmp_path, LONG_ROWS.replace("WHERE", where), LAUNCH.replace("LOW", str(low)))
    assert result.verdict is verdict, result
    told = "the fault shows in contents that keep all that was observed of the arrays"
    assert (told in result.notes) == (verdict is Verdict.REFUTED)


PLACES = """
import cuda.tile as ct

@ct.kernel
def place(keys, bases, ranks, y, TILE: ct.Constant[int]):
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    base = ct.gather(bases, (ct.gather(keys, (at,)),))
    ct.scatter(y, (base + RANK,), at)
"""
SEEN = """
kernel = "place"
grid = [4]
observed = ["range(keys, 0, 8)", "range(bases, 0, 8)", "range(ranks, 0, 4)"]
args = { keys = "i32[32]", bases = "i32[8]", ranks = "i32[32]", y = "i32[32]", TILE = 8 }
"""


@pytest.mark.parametrize(
    ("rank", "verdict"),
    [
        ("0", Verdict.REFUTED),
        ("ct.gather(ranks, (at,))", Verdict.UNDECIDED),  # ranks within the keys, and bases that leave room for them
    ],
)
def test_what_was_observed_of_three_arrays_that_make_an_address_shows_nothing(
    tmp_path: Path, rank: str, verdict: Verdict
) -> None:
    """No fact speaks of three arrays together: such contents are told from no others."""
    result = judged(tmp_path, PLACES.replace("RANK", rank), SEEN)
    assert result.verdict is verdict, result
