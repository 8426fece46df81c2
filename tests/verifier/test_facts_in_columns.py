"""Index arrays of one column, or of one row, keep facts that speak of arrays of one axis."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.results import KernelResult, Verdict

KERNEL = """
import cuda.tile as ct

@ct.kernel
def fill(starts, lengths, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    start = ct.load(starts, index={place}, shape={tile}).item()
    count = ct.load(lengths, index=(i,), shape=(1,)).item()
    for k in range(ct.cdiv(count, TILE)):
        j = k * TILE + ct.arange(TILE, dtype=ct.int32)
        ct.scatter(out, start + j, j, mask=j < count, check_bounds=False)
"""
SPEC = """
kernel = "fill"
grid = ["E"]
data = [{data}]
args = {{ starts = "i32[{shape}]", lengths = "i32[E]", out = "i32[N]", TILE = 16 }}
"""
FORMS = [("E", "(i,)", "(1,)"), ("E, 1", "(i, 0)", "(1, 1)"), ("1, E", "(0, i)", "(1, 1)")]


def result(folder: Path, shape: str, place: str, tile: str, data: str) -> KernelResult:
    return judged(folder, KERNEL.format(place=place, tile=tile), SPEC.format(shape=shape, data=data))


@pytest.mark.parametrize(("shape", "place", "tile"), FORMS)
def test_segments_begin_in_a_row_or_a_column(tmp_path: Path, shape: str, place: str, tile: str) -> None:
    assert result(tmp_path, shape, place, tile, '"segments(starts, lengths, 0, N)"').verdict is Verdict.PROVED


@pytest.mark.parametrize(("shape", "place", "tile"), FORMS[1:])
def test_without_the_fact_nothing_is_known(tmp_path: Path, shape: str, place: str, tile: str) -> None:
    assert result(tmp_path, shape, place, tile, "").verdict is not Verdict.PROVED


def test_two_columns_are_no_column(tmp_path: Path) -> None:
    found = result(tmp_path, "E, 2", "(i, 0)", "(1, 1)", '"segments(starts, lengths)"')
    assert found.verdict is Verdict.ERROR
    assert "'starts' has rank 2; segments are given by arrays of rank 1" in found.findings[0].message
