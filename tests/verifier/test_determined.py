"""`deterministic` is not said of results that depend on what the specification leaves open."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.pipeline import check_paths
from tileverify.results import KernelResult, Verdict

HEAD = "import cuda.tile as ct\n\n\n@ct.kernel\n"
ROWS = 'kernel = "k"\ngrid = ["M"]\nrequires = ["N >= 1", "N <= 256"]\nargs = { x = "f32[M, N]", out = "f32[M]" }\n'
FLAGS = ROWS.replace("f32", "i32")

REDUCED = """def k(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.max(ct.load(x, (i, 0), (1, 256)), axis=1))
"""
TIMES_ZERO = """def k(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256))
    inside = ct.arange(256, dtype=ct.int32)[None, :] < x.shape[1]
    ct.store(out, (i,), ct.sum(row * ct.astype(inside, ct.float32), axis=1))
"""
CARRIED = """def k(x, out):
    i = ct.bid(0)
    total = ct.zeros((1, 64), dtype=ct.float32)
    for j in range(ct.cdiv(x.shape[1], 64)):
        total = total + ct.load(x, (i, j), (1, 64))
    ct.store(out, (i,), ct.sum(total, axis=1))
"""
BRANCH = """def k(x, out):
    i = ct.bid(0)
    if ct.max(ct.load(x, (i, 0), (1, 256))) > 0:
        ct.store(out, (i,), ct.full((1,), 1, dtype=ct.int32))
"""
BOUND = """def k(x, out):
    i = ct.bid(0)
    n = ct.min(ct.load(x, (i, 0), (1, 256)))
    total = ct.zeros((1,), dtype=ct.int32)
    for j in range(n):
        total = total + 1
    ct.store(out, (i,), total)
"""
MASK = """def k(x, out):
    i = ct.bid(0)
    lanes = ct.arange(256, dtype=ct.int32)
    row = ct.reshape(ct.load(x, (i, 0), (1, 256)), (256,))
    place = ct.where((lanes == 255) & (row > 0), i, -1)
    ct.scatter(out, place, 1)
"""
CARRIED_OVER = """def k(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256))
    last = ct.zeros((1, 256), dtype=ct.float32)
    for j in range(2):
        last = row
    ct.store(out, (i,), ct.sum(last, axis=1))
"""
OPEN = {
    "reduced": (REDUCED, ROWS), "times zero": (TIMES_ZERO, ROWS), "carried": (CARRIED, ROWS), "branch": (BRANCH, FLAGS),
    "bound": (BOUND, FLAGS), "mask": (MASK, FLAGS), "carried over": (CARRIED_OVER, ROWS),
}  # fmt: skip

CHOSEN = TIMES_ZERO.replace("row * ct.astype(inside, ct.float32)", "ct.where(inside, row, 0.0)")
STORED_AS_IT_IS = """def k(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (256,)) * 2.0)
"""
TURNED = STORED_AS_IT_IS.replace("out, (i,)", "out, (ct.num_blocks(0) - 1 - i,)")
TILES = 'kernel = "k"\ngrid = ["cdiv(N, 256)"]\nargs = { x = "f32[N]", out = "f32[N]" }\n'
PADDED = [
    (source.replace("256))", "256), padding_mode=ct.PaddingMode.ZERO)"), spec)
    for source, spec in OPEN.values()
    if "64" not in source
]
DETERMINED = {
    "chosen": (CHOSEN, ROWS), "whole rows": (REDUCED, ROWS.replace("N <= 256", "N == 256")),
    "whole tiles": (CARRIED, ROWS.replace("N <= 256", "N % 64 == 0")), "clipped": (STORED_AS_IT_IS, TILES),
    **{f"padded {number}": pair for number, pair in enumerate(PADDED)},
}  # fmt: skip


def checked(folder: Path, source: str, spec: str) -> KernelResult:
    return judged(folder, HEAD + source, spec)


@pytest.mark.parametrize("name", OPEN)
def test_results_that_depend_on_open_values_are_not_deterministic(tmp_path: Path, name: str) -> None:
    result = checked(tmp_path, *OPEN[name])
    assert result.verdict is Verdict.PROVED, result.findings
    assert result.deterministic is False
    assert {finding.code for finding in result.findings} == {"TV403"}
    assert all(finding.witness is not None for finding in result.findings)


@pytest.mark.parametrize("name", DETERMINED)
def test_what_is_padded_chosen_or_clipped_is_deterministic(tmp_path: Path, name: str) -> None:
    result = checked(tmp_path, *DETERMINED[name])
    assert (result.verdict, result.deterministic, result.findings) == (Verdict.PROVED, True, ())


def test_sizes_that_nobody_gave_are_no_fault_of_the_kernel(tmp_path: Path) -> None:
    """Without a launch spec nothing is known of `x` beside `out`; but a row is never as wide as the tile by itself, and
    the last tile that is stored first is short however equal the sizes are."""
    for number, (source, warned) in enumerate(((STORED_AS_IT_IS, False), (REDUCED, True), (TURNED, True))):
        file = tmp_path / f"k{number}.py"
        file.write_text(HEAD + source)
        (result,) = check_paths([str(file)]).results
        assert result.verdict is Verdict.PROVED
        assert result.deterministic is not True
        assert bool(result.findings) is warned
        assert any("determined (TV403) where" in note for note in result.notes) is not warned
