"""Generated kernels that were proved under clauses which leave nothing, or keep blocks along an axis from work."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.pipeline import check_paths
from tileverify.results import KernelResult, Verdict

KEPT = Path(__file__).parent / "nonvacuity"


def of_file(name: str) -> KernelResult:
    (result,) = check_paths([str(KEPT / f"{name}.tileirbc")]).results
    return result


@pytest.mark.parametrize(
    ("name", "was"),
    [
        ("nothing_is_left", "1 == 0"),
        ("an_empty_grid_is_left", "N == 0"),  # the grid is (N, 1, 1), and has a block
        ("no_launch_is_left", "1 == 0"),  # the contract says N >= 2, the clause was N <= 1
        ("contents_leave_no_launch", "N % 4 == 0"),  # as many values as N that differ, and lie in [0, 2)
        ("behind_a_row_lies_the_next", "grid.x == 1"),  # strides of (2, 2): the third row is part of the second
        ("one_block_writes", "M >= 2"),  # two blocks "wrote" that differ along y, where the grid has one block
        ("own_memory_is_no_work", "N <= 1"),  # every block writes to memory that it made itself, and to nothing else
        (
            "two_stores_write",
            "2 * N != 2",
        ),  # each of two blocks by one of them, under N == 1
        pytest.param("grid_of_one_row", "grid.y == 1", marks=pytest.mark.slow),
        ("an_axis_that_is_not_read", "grid.x <= (-grid.y + 1) * grid.x + 1"),  # many blocks along z alone
    ],
)
def test_a_clause_leaves_launches_and_blocks_at_work_along_every_axis(name: str, was: str) -> None:
    result = of_file(name)
    assert result.verdict is Verdict.REFUTED
    assert was not in result.requires


@pytest.mark.slow
def test_another_access_may_be_what_works_along_an_axis() -> None:
    """The load has room for one block alone, and the store for two: the clause is not one block along z."""
    result = of_file("another_access_works_along_z")
    assert result.verdict is Verdict.PROVED
    assert "grid.z == 1" not in result.requires


BEHIND_ITS_ROWS = """
import cuda.tile as ct

@ct.kernel
def fill(starts, lengths, out, TILE: ct.Constant[int]):
    b, i = ct.bid(0), ct.bid(1)
    start = ct.load(starts, index=(b,), shape=()).item()
    length = ct.load(lengths, index=(b,), shape=()).item()
    if GUARD:
        own = out.slice(axis=0, start=start, stop=start + length)
        ct.store(own, index=(i, 0), tile=ct.full((TILE, 16), b, dtype=out.dtype))
"""
PACKED = """
kernel = "fill"
grid = ["B", "cdiv(N, 32)"]
requires = ["N * 16 < 2**31"]
data = ["segments(starts, lengths, 0, N)"]
args = { starts = "i32[B]", lengths = "i32[B]", out = "i32[N, 16]", TILE = 32 }
"""


@pytest.mark.parametrize("guard", ["length < i * TILE", "not i * TILE < length"])
def test_where_all_that_is_written_is_at_fault_no_clause_stops_the_kernel_from_writing(
    tmp_path: Path, guard: str
) -> None:
    """`N <= 32` keeps every block from its store; and the contract is not to blame that no store is right."""
    result = judged(tmp_path, BEHIND_ITS_ROWS.replace("GUARD", guard), PACKED)
    assert (result.verdict, result.findings[0].code, result.requires) == (Verdict.REFUTED, "TV301", ())


def test_its_right_twin_is_proved(tmp_path: Path) -> None:
    result = judged(tmp_path, BEHIND_ITS_ROWS.replace("GUARD", "i * TILE < length"), PACKED)
    assert (result.verdict, result.requires) == (Verdict.PROVED, ())


MARK = """
import cuda.tile as ct

@ct.kernel
def mark(x, out, flag: int):
    i = ct.bid(0)
    if GUARD:
        ct.store(out, index=(i + ct.num_blocks(0),), tile=ct.full((16,), i, dtype=out.dtype))
"""
FLAG = """
kernel = "mark"
grid = ["cdiv(N, 16)"]
requires = ["flag >= 0", "flag <= 1"]
args = { x = "u8[N]", out = "i32[N]", flag = "i32" }
"""


@pytest.mark.parametrize(
    "guard",
    [
        "flag > 0",
        "ct.astype(ct.load(x, index=(i,), shape=()).item(), ct.int32) < flag * 300 - 255",
    ],
)
def test_a_flag_is_no_clause_for_the_only_write_where_that_is_always_at_fault(tmp_path: Path, guard: str) -> None:
    """Whatever contents let a block get there, it goes outside."""
    result = judged(tmp_path, MARK.replace("GUARD", guard), FLAG)
    assert (result.verdict, result.requires) == (Verdict.REFUTED, ())
