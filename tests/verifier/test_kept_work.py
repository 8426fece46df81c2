"""Generated kernels that were proved under clauses which leave nothing, or keep blocks along an axis from work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.pipeline import check_paths
from tileverify.results import KernelResult, Verdict

KEPT = Path(__file__).parent / "kept_work"


def judged(name: str) -> KernelResult:
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
    result = judged(name)
    assert result.verdict is Verdict.REFUTED
    assert was not in result.requires


@pytest.mark.slow
def test_another_access_may_be_what_works_along_an_axis() -> None:
    """The load has room for one block alone, and the store for two: the clause is not one block along z."""
    result = judged("another_access_works_along_z")
    assert result.verdict is Verdict.PROVED
    assert "grid.z == 1" not in result.requires
