"""Loops without a closed form, and counters that could wrap: what is shown of them, and what must not be."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.pipeline import CheckOptions
from tileverify.results import KernelResult, Verdict

HEAD = "import cuda.tile as ct\n\nC = ct.Constant[int]\n\n\n@ct.kernel\n"


UNEXPLAINED = CheckOptions(witnesses=False)
"""Whether it is proved, and not how it fails otherwise."""


def checked(folder: Path, source: str, spec: str, options: CheckOptions = UNEXPLAINED) -> KernelResult:
    return judged(folder, HEAD + source, f'kernel = "kernel"\n{spec}', options)


CURSOR = """def kernel(out, rounds, columns, TILE: C):
    column = {start}
    for k in range(rounds):
        ct.store(out, index=(ct.bid(0), column), tile=ct.full((1, TILE), k, dtype=out.dtype))
        column += {step}
        if column {reset}:
            column = 0
"""
CURSOR_SPEC = """grid = ["B"]
requires = ["W >= 1", "{more}"]
args = {{ out = "i32[B, W]", rounds = "i32", columns = "i32 = cdiv(W, 64)", TILE = 64 }}"""


def test_a_cursor_that_starts_over_stays_in_its_row(tmp_path: Path) -> None:
    source = CURSOR.format(start=0, step=1, reset=">= columns")
    assert checked(tmp_path, source, CURSOR_SPEC.format(more="W >= 1")).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("start", "step", "reset", "more"),
    [
        (0, 1, "> columns", "rounds >= 0"),
        (1, 1, "== columns", "rounds >= 0"),  # one column: it starts behind it and never meets the limit
        (0, 2, "== columns", "rounds >= 0"),  # three columns: 0, 2, 4, ...
        (0, 1, "== columns + 1", "rounds >= 0"),
    ],
)
def test_a_cursor_that_leaves_its_row_is_not_proved(
    tmp_path: Path, start: int, step: int, reset: str, more: str
) -> None:
    source = CURSOR.format(start=start, step=step, reset=reset)
    result = checked(tmp_path, source, CURSOR_SPEC.format(more=more))
    assert result.verdict is not Verdict.PROVED or result.requires


def test_an_empty_row_has_no_place_for_a_cursor(tmp_path: Path) -> None:
    """Without ``W >= 1`` there are launches in which 0 <= column < columns fails at the start."""
    source = CURSOR.format(start=0, step=1, reset=">= columns")
    result = checked(tmp_path, source, CURSOR_SPEC.format(more="rounds >= 1").replace('"W >= 1", ', ""))
    assert result.verdict is not Verdict.PROVED or result.requires


def test_a_loop_that_is_not_reached_says_nothing(tmp_path: Path) -> None:
    """With no columns the cursor's invariant is false, but the loop does not run and the last store does."""
    source = """def kernel(out, rounds, columns, TILE: C):
    column = 0
    if columns > 0:
        for k in range(rounds):
            ct.store(out, index=(ct.bid(0) + 1, column), tile=ct.full((1, TILE), k, dtype=out.dtype))
            column += 1
            if column >= columns:
                column = 0
    ct.store(out, index=(0, column), tile=ct.full((1, TILE), 7, dtype=out.dtype))
"""
    spec = """grid = [2]
requires = ["columns <= 0", "M >= 2"]
args = { out = "i32[M, 64]", rounds = "i32", columns = "i32", TILE = 64 }"""
    result = checked(tmp_path, source, spec, CheckOptions())
    assert result.verdict is Verdict.REFUTED
    assert {finding.code for finding in result.findings} >= {"TV101"}


COUNTER = """def kernel(out, tiles, step, TILE: C):
    i = ct.astype(ct.bid(0), ct.int8)
    last = ct.astype(tiles, ct.int8)
    while {condition}:
        ct.store(out, index=(ct.astype(i, ct.int32),), tile=ct.full((TILE,), 1, dtype=out.dtype))
        i = ct.astype(ct.astype(i, ct.int32) + step, ct.int8)
"""
COUNTER_SPEC = """grid = [{blocks}]
requires = ["N <= {tiles} * 16", "N > {tiles} * 16 - 16"]
args = {{ out = "i32[N]", tiles = "i32 = cdiv(N, 16)", step = "i32 = {step}", TILE = 16 }}"""


@pytest.mark.parametrize(
    ("condition", "tiles", "step", "blocks", "proved"),
    [
        ("i < last", 120, 8, 8, True),
        ("i < last", 121, 8, 8, False),
        ("i < last", 127, 1, 1, True),
        ("i < last", 126, 2, 2, True),
        ("i < last", 127, 2, 2, False),
        ("i != last", 127, 1, 1, True),
        ("i <= last - 1", 120, 8, 8, True),
        ("i < last", 120, 8, 9, False),  # block 8 begins where block 0 goes on
        ("i < last", 100, -1, 1, False),  # downwards, to -1
    ],
)
def test_a_counter_of_eight_bits(
    tmp_path: Path, condition: str, tiles: int, step: int, blocks: int, proved: bool
) -> None:
    spec = COUNTER_SPEC.format(blocks=blocks, tiles=tiles, step=step)
    result = checked(tmp_path, COUNTER.format(condition=condition), spec)
    assert (result.verdict is Verdict.PROVED) == proved, result.findings


def test_a_loop_that_only_ends_by_its_second_counter_may_wrap_the_first(tmp_path: Path) -> None:
    source = """def kernel(out, rounds, TILE: C):
    i = ct.astype(ct.bid(0), ct.int8)
    k = 0
    while k < rounds:
        ct.store(out, index=(ct.astype(i, ct.int32),), tile=ct.full((TILE,), 1, dtype=out.dtype))
        i = ct.astype(ct.astype(i, ct.int32) + 1, ct.int8)
        k += 1
"""
    spec = """grid = [1]
requires = ["N == 127 * 16"]
args = { out = "i32[N]", rounds = "i32 = 200", TILE = 16 }"""
    result = checked(tmp_path, source, spec)
    assert result.verdict is not Verdict.PROVED


RUNNING_COUNT = """def kernel(out, counts, segments, TILE: C):
    tile = {start}
    before = {before}
    for e in range(segments):
        tiles = ct.load(counts, index=(e,), shape=()).item()
        while tile >= before and tile < before + tiles:
            ct.store(out, index=(e, tile - before), tile=ct.full((1, TILE), e, dtype=out.dtype))
            tile += {stride}
        before += tiles{more}
"""


@pytest.mark.parametrize(
    ("start", "before", "stride", "more", "segments", "proved"),
    [
        ("ct.bid(0)", "0", "ct.num_blocks(0)", "", 3, True),
        ("ct.bid(0)", "0", "2 * ct.num_blocks(0)", "", 3, True),
        ("ct.bid(0)", "2", "ct.num_blocks(0)", "", 3, True),  # blocks 0 and 1 never begin
        ("ct.bid(0)", "0", "ct.num_blocks(0)", " + e", 3, True),
        ("ct.bid(0) // 2", "0", "ct.num_blocks(0)", "", 3, False),
        ("ct.bid(0)", "0", "ct.num_blocks(0) - 1", "", 3, False),
        ("ct.bid(0)", "0", "ct.num_blocks(0) + ct.bid(0)", "", 3, False),
        ("ct.bid(0)", "ct.bid(0)", "ct.num_blocks(0)", "", 3, False),
        ("ct.bid(0)", "0", "ct.num_blocks(0)", " + ct.bid(0)", 3, False),
        ("ct.bid(0)", "0", "ct.num_blocks(0)", "", 1 << 29, False),  # the count may wrap, and 6 does not divide 2**32
    ],
)
def test_a_running_count_is_the_same_in_all_blocks_and_a_stride_keeps_them_apart(
    tmp_path: Path, start: str, before: str, stride: str, more: str, segments: int, proved: bool
) -> None:
    spec = f"""grid = [6]
data = ["range(counts, 0, 9)"]
args = {{ out = "i32[{segments}, 512]", counts = "i32[{segments}]", segments = "i32 = {segments}", TILE = 64 }}"""
    result = checked(tmp_path, RUNNING_COUNT.format(start=start, before=before, stride=stride, more=more), spec)
    assert (result.verdict is Verdict.PROVED) is proved


STRIDE = """def kernel(out, counts, TILE: C):
    place = ct.bid(0)
    for e in range(3):
        ct.store(out, index=(place % {period},), tile=ct.full((TILE,), e, dtype=out.dtype))
        place += {stride} * ct.load(counts, index=(e,), shape=()).item()
"""


@pytest.mark.parametrize(
    ("period", "stride", "most", "proved"),
    [
        (6, 6, 100, True),
        (6, 18, 100, True),
        (6, 9, 100, False),  # 9 leaves 3
        (6, 6, 1 << 28, False),  # wraps, and 6 does not divide 2 ** 32
    ],
)
def test_a_stride_holds_as_long_as_nothing_wraps(
    tmp_path: Path, period: int, stride: int, most: int, proved: bool
) -> None:
    spec = f"""grid = [6]
data = ["range(counts, 0, {most})"]
args = {{ out = "i32[512]", counts = "i32[3]", TILE = 64 }}"""
    result = checked(tmp_path, STRIDE.format(period=period, stride=stride), spec)
    assert (result.verdict is Verdict.PROVED) is proved
