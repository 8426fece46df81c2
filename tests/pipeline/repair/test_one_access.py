"""A repair changes the access at fault and no other, by as little as proves the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pipeline.repair.offered import Offer


def test_a_promise_is_taken_back_where_it_is_broken(tmp_path: Path) -> None:
    offer = Offer(
        tmp_path,
        """
def steps(x, out, T: ct.Constant[int]):
    i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    here = i < x.shape[0]
    value = ct.gather(x, i, mask=here, check_bounds=False)
    before = ct.where(i > 0, ct.gather(x, i - 1, mask=here, check_bounds=False), 0)
    ct.scatter(out, i, value - before)
""",
        'grid = ["cdiv(N, 64)"]\nargs = { x = "i32[N]", out = "i32[N]", T = 64 }',
    )
    assert offer.hints == [("mask-tail", "safe")]
    assert offer.changes() == ["before = ct.where(i > 0, ct.gather(x, i - 1, mask=here, check_bounds=True), 0)"]


def test_all_promises_that_are_broken_are_taken_back(tmp_path: Path) -> None:
    offer = Offer(
        tmp_path,
        """
def doubled(x, y, out, T: ct.Constant[int]):
    i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    scale = ct.gather(y, ct.bid(0), check_bounds=False)
    ct.scatter(out, i, ct.gather(x, i, check_bounds=False) * scale, check_bounds=False)
""",
        'grid = [2]\nargs = { x = "i32[100]", y = "i32[2]", out = "i32[100]", T = 64 }',
    )
    assert set(offer.hints) == {("mask-tail", "safe")}
    assert len(offer.result.findings[0].hints[0].edits) == 2
    text = offer.mended()
    assert text.count("check_bounds=True") == 2
    assert "ct.gather(y, ct.bid(0), check_bounds=False)" in text


@pytest.mark.parametrize("repair", [True, False])
def test_a_guard_is_on_the_side_where_the_tile_lies_outside(tmp_path: Path, repair: bool) -> None:
    """`part + 1` is never negative: nothing is asked about that."""
    offer = Offer(
        tmp_path,
        """
def lengths(ends, out, PARTS: ct.Constant[int]):
    part = ct.bid(0) // PARTS
    first = ct.load(ends, (part,), ()).item()
    last = ct.load(ends, (part + 1,), ()).item()
    ct.atomic_add(out, (part,), last - first)
""",
        'grid = ["(S + 1) * 4"]\nargs = { ends = "i32[S + 1]", out = "i32[S]", PARTS = 4 }',
        repair=repair,
    )
    assert offer.hints == [("guard-launch", "safe")]
    assert offer.changes() == ["if part + 1 >= ends.shape[0]:", "return"]


def test_a_guard_before_the_array(tmp_path: Path) -> None:
    offer = Offer(
        tmp_path,
        """
def moved_up(x, out, rows, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, (i - 1,), ct.load(x, (i,), (T,), padding_mode=ct.PaddingMode.ZERO))
    ct.atomic_add(rows, (0,), 1)
""",
        'grid = ["cdiv(N, 16)"]\nargs = { x = "f32[N]", out = "f32[N]", rows = "i32[1]", T = 16 }',
    )
    assert offer.hints == [("guard-access", "safe")]
    assert offer.changes()[0] == "if i - 1 >= 0:"


ALL_BLOCKS_STORE = """
def first_and_last(total, T: ct.Constant[int]):
    b = ct.bid(0)
    if b == 0:
        ct.store(total, (0,), 0)
    n = 64 * b
    while n < 64:
        n = 2 * n + 1
    ct.store(total, (0,), n)
"""


@pytest.mark.parametrize("repair", [True, False])
def test_one_block_stores_for_all(tmp_path: Path, repair: bool) -> None:
    offer = Offer(tmp_path, ALL_BLOCKS_STORE, 'grid = [4]\nargs = { total = "i32[1]", T = 1 }', repair=repair)
    assert offer.hint.id == "one-block"
    assert offer.hint.applicability == "maybe"
    store = "    ct.store(total, (0,), n)\n"
    assert offer.mended() == offer.source.replace(store, f"    if b == 0:\n    {store}")


def test_what_each_block_loads_for_itself_is_not_left_to_one(tmp_path: Path) -> None:
    kernel = ALL_BLOCKS_STORE.replace("n = 64 * b", "n = ct.load(total, (b,), ()).item()")
    offer = Offer(tmp_path, kernel, 'grid = [4]\nargs = { total = "i32[4]", T = 1 }')
    assert "one-block" not in [hint for hint, _ in offer.hints]


@pytest.mark.parametrize("repair", [True, False])
def test_one_block_is_enough_where_all_do_the_same(tmp_path: Path, repair: bool) -> None:
    offer = Offer(
        tmp_path,
        """
def twice(a, out, T: ct.Constant[int]):
    for i in range(2):
        row = ct.load(a, (i, 0), (2, T), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, (i, 0), row * 2)
""",
        'grid = ["C // 4"]\nargs = { a = "f32[4, C]", out = "f32[4, C]", T = 2 }',
        repair=repair,
    )
    assert offer.hints[0] == ("one-block", "maybe")
    assert offer.result.findings[0].hints[0].text.endswith("launch one, grid = [1] (proved)")
    assert "split-output-index" not in [hint for hint, _ in offer.hints]


HANDED_ON = """
def handed_on(x, carry, ready, looks, out, T: ct.Constant[int]):
    b = ct.bid(0)
    before = 0.0
    if b > 0:
        while ct.atomic_add(ready, (b - 1,), 0, memory_order=ct.MemoryOrder.RELAXED).item() == 0:
            pass
        ct.atomic_add(looks, (0,), 1, memory_order=ct.MemoryOrder.RELAXED)
        before = ct.load(carry, (b - 1,), ()).item()
    ct.store(carry, (b,), before + ct.sum(ct.load(x, (b,), (T,), padding_mode=ct.PaddingMode.ZERO)))
    ct.atomic_xchg(ready, (b,), 1, memory_order=ct.MemoryOrder.RELAXED)
    ct.store(out, (b,), before)
"""


@pytest.mark.parametrize("repair", [True, False])
def test_the_flag_is_ordered_and_a_mere_counter_is_not(tmp_path: Path, repair: bool) -> None:
    offer = Offer(
        tmp_path,
        HANDED_ON,
        """
grid = ["cdiv(N, 64)"]
requires = ["N >= 1"]
data = ["range(ready, 0, 1)"]

[launch.args]
x = "f32[N]"
carry = "f32[cdiv(N, 64)]"
ready = "i32[cdiv(N, 64)]"
looks = "i32[1]"
out = "f32[cdiv(N, 64)]"
T = 64
""",
        repair=repair,
    )
    assert offer.hint.id == "strengthen-order"
    assert offer.hint.applicability == "safe"
    changes = offer.changes()
    assert len(changes) == 2
    assert all("ready" in line and "ACQ_REL" in line for line in changes)


@pytest.mark.parametrize("repair", [True, False])
def test_the_last_one_of_a_split_sum(tmp_path: Path, repair: bool) -> None:
    offer = Offer(
        tmp_path,
        """
def last_adds(x, parts, arrived, out, T: ct.Constant[int], SPLIT: ct.Constant[int]):
    m, s = ct.bid(0), ct.bid(1)
    ct.store(parts, (s, m), ct.load(x, (s, m), (1, T), padding_mode=ct.PaddingMode.ZERO))
    before = ct.atomic_add(arrived, (m,), 1, memory_order=ct.MemoryOrder.RELAXED)
    if before == SPLIT - 1:
        total = ct.zeros((1, T), dtype=ct.float32)
        for k in range(SPLIT):
            total = total + ct.load(parts, (k, m), (1, T), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, (0, m), total)
""",
        """
grid = ["cdiv(N, 64)", "4"]
data = ["range(arrived, 0, 1)"]
args = { x = "f32[4, N]", parts = "f32[4, N]", arrived = "i32[cdiv(N, 64)]", out = "f32[1, N]", T = 64, SPLIT = 4 }
""",
        repair=repair,
    )
    assert offer.hint.id == "strengthen-order"
    assert offer.hint.applicability == "safe"
    assert offer.changes() == ["before = ct.atomic_add(arrived, (m,), 1, memory_order=ct.MemoryOrder.ACQ_REL)"]


def test_a_suppressed_finding_is_left_alone(tmp_path: Path) -> None:
    from tileverify.pipeline.repair.fixing import ALL, fixed
    from tileverify.reports.suppressions import with_suppressions
    from tileverify.results import Report

    kernel = ALL_BLOCKS_STORE.replace("ct.store(total, (0,), n)", "ct.store(total, (0,), n)  # tileverify: IGNORE")
    kernel = kernel.replace("IGNORE", "ignore[TV101] -- any of them will do")
    offer = Offer(tmp_path, kernel, 'grid = [4]\nargs = { total = "i32[1]", T = 1 }')
    report = Report((offer.result,), "0", "none")
    assert list(fixed(with_suppressions(report, whole=True).results, lambda file, text: {}, ALL)) == []
    assert len(list(fixed(report.results, lambda file, text: {}, ALL))) == 1


@pytest.mark.parametrize("repair", [True, False])
def test_lanes_without_an_index_of_their_own_are_masked(tmp_path: Path, repair: bool) -> None:
    """Of 16 lanes N have a place; the others all have the padding of their gather, which is the place of one."""
    offer = Offer(
        tmp_path,
        """
def placed(places, x, out, T: ct.Constant[int]):
    lane = ct.arange(T, dtype=ct.int32)
    used = lane < places.shape[0]
    place = ct.gather(places, lane, mask=used, padding_value=0)
    ct.scatter(out, (place,), ct.gather(x, lane, mask=used, padding_value=0.0))
""",
        """
grid = [1]
data = ["injective(places)", "range(places, 0, 9)"]
args = { places = "i32[5]", x = "f32[5]", out = "f32[9]", T = 16 }
""",
        repair=repair,
    )
    assert offer.hints == [("mask-lanes", "maybe")]
    assert offer.changes() == ["ct.scatter(out, (place,), ct.gather(x, lane, mask=used, padding_value=0.0), mask=used)"]
