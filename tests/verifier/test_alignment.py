"""Arrays that a spec says are aligned: what the compiler takes from it is proved, and witnesses keep it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.command_line import CommandLine

KERNEL = """import cuda.tile as ct


@ct.kernel
def shift(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (TILE,)) + 1)
"""

SPEC = """[[launch]]
kernel = "shift"
grid = ["cdiv(N, TILE)"]
{more}
args = {{ x = "f32[N]", out = "f32[N]", TILE = 64 }}
"""


@pytest.fixture
def spec() -> Path:
    Path("shift.py").write_text(KERNEL)
    return Path("shift.tileverify.toml")


def test_an_aligned_array_is_proved_and_confirmed_by_the_second_solver(tileverify: CommandLine, spec: Path) -> None:
    spec.write_text(SPEC.format(more='requires = ["x.address % 16 == 0", "N % 16 == 0"]'))
    checked = tileverify("check", "shift.py", "--no-cache", "--certificate", "certificates")
    assert checked.code == 0, checked.out
    assert "x.address % 16 == 0" in checked.out
    assert "requires" not in checked.out, "the user's own clause is enough"
    rechecked = tileverify("recheck", "certificates")
    assert rechecked.code == 0, rechecked.out
    listed = tileverify("dis", "shift.py").out
    assert "assume div_by<16>, %arg0 : tile<ptr<f32>>" in listed
    assert "assume div_by<16>, %arg3 : tile<ptr<f32>>" not in listed, "nobody said so of `out`"


def test_a_witness_keeps_the_alignment(tileverify: CommandLine, spec: Path) -> None:
    """Overlapping arrays race at a distance that the clauses admit; both lie where 256 divides the address."""
    clauses = 'requires = ["x.address % 256 == 0 and out.address % 256 == 0", "N >= 128"]\noverlap = [["x", "out"]]'
    spec.write_text(SPEC.format(more=clauses))
    checked = tileverify("check", "shift.py", "--no-cache")
    assert checked.code == 1, checked.out
    distances = [int(each) for each in re.findall(r"out\.address - x\.address = (-?\d+)", checked.out)]
    assert distances, "no witness overlaps"
    assert not any(each % 256 for each in distances)
