"""What holds only because an axis that the kernel reads has one block is not accepted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import CommandLine

ROWS = """
import cuda.tile as ct

@ct.kernel
def rows(x, out):
    part = ct.sum(ct.load(x, (ct.bid(0), ct.bid(1)), (1, 64)), axis=1)
    ct.store(out, (ct.bid(0),), ct.load(out, (ct.bid(0),), (1,)) + part)
"""

SPLIT = """
import cuda.tile as ct

@ct.kernel
def split(a, b, c, T: ct.Constant[int]):
    m, n, k = ct.bid(0), ct.bid(1), ct.bid(2)
    zero = ct.full((T, T), 0, ct.float32)
    part = ct.mma(ct.load(a, (m, k), (T, T)), ct.load(b, (k, n), (T, T)), zero)
    ct.store(c, (m, n), ct.load(c, (m, n), (T, T)) + part)
"""


@pytest.mark.parametrize(("source", "axis"), [(ROWS, 1), (SPLIT, 2)], ids=["rows", "split"])
def test_the_gate_refuses_a_race_along_an_axis_that_is_read(
    tileverify: CommandLine, tmp_path: Path, source: str, axis: int
) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(source)
    ran = tileverify("gate", str(file))
    (answer,) = (json.loads(line) for line in ran.out.splitlines() if line.startswith("{"))
    assert ran.code == 1
    assert (answer["accepted"], answer["verdict"]) == (False, "refuted")
    witness = answer["findings"][0]["witness"]
    assert witness["block_a"][axis] != witness["block_b"][axis]
