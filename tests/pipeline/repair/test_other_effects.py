"""A repair that is called safe mends the fault and leaves all else that a block does as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pipeline.repair.offered import Offer

from tileverify.pipeline.repair.guards import Guards
from tileverify.pipeline.repair.kernel_source import KernelSource

TOO_MANY_ROWS = """
grid = ["cdiv(M, 8)"]
requires = ["M >= N + 8", "N >= 8"]
args = { x = "f32[M]", short = "f32[N]", long = "f32[M]", count = "i32[1]", T = 8 }
"""

BEHIND = {
    "store": "ct.store(long, (row,), tile + 1)",
    "arrival": "ct.atomic_add(count, (0,), 1)",
    "sum": "ct.atomic_add(count, (0,), ct.astype(ct.sum(tile), ct.int32))",
    "loop": "for k in range(2):\n        ct.atomic_add(count, (0,), k)",
}


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
def test_the_access_is_guarded_where_the_block_goes_on(tmp_path: Path, behind: str) -> None:
    offer = Offer(
        tmp_path,
        f"""
def two_lengths(x, short, long, count, T: ct.Constant[int]):
    row = ct.bid(0)
    tile = ct.load(x, (row,), (T,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(short, (row,), tile)
    {behind}
""",
        TOO_MANY_ROWS,
    )
    assert offer.hints == [("guard-access", "safe")]
    guarded = "    if row < ct.num_tiles(short, axis=0, shape=tile.shape):\n        ct.store(short, (row,), tile)\n"
    assert offer.mended() == offer.source.replace("    ct.store(short, (row,), tile)\n", guarded)


def test_what_hangs_on_a_load_is_guarded_with_it(tmp_path: Path) -> None:
    offer = Offer(
        tmp_path,
        """
def one_block_more(x, out, seen, T: ct.Constant[int]):
    row = ct.bid(0)
    tile = ct.load(x, (row,), (T,))
    twice = tile * 2
    ct.store(out, (row,), twice)
    ct.store(seen, (row,), ct.full((1,), 1, dtype=ct.int32))
""",
        """
grid = ["cdiv(N, 8) + 1"]
requires = ["N >= 8"]
args = { x = "f32[N]", out = "f32[N]", seen = "i32[cdiv(N, 8) + 1]", T = 8 }
""",
    )
    assert set(offer.hints) == {("guard-access", "safe")}
    assert offer.changes() == [
        "if row < ct.num_tiles(x, axis=0, shape=(T,)):",
        "tile = ct.load(x, (row,), (T,))",
        "twice = tile * 2",
        "ct.store(out, (row,), twice)",
    ]
    assert "\n    ct.store(seen, " in offer.mended()


def test_a_block_that_has_nothing_else_to_do_returns(tmp_path: Path) -> None:
    offer = Offer(
        tmp_path,
        """
def seen_first(x, out, seen, T: ct.Constant[int]):
    row = ct.bid(0)
    ct.store(seen, (row,), ct.full((1,), 1, dtype=ct.int32))
    ct.store(out, (row,), ct.load(x, (row,), (T,)))
""",
        """
grid = ["cdiv(N, 8) + 1"]
requires = ["N >= 8"]
args = { x = "f32[N]", out = "f32[N]", seen = "i32[cdiv(N, 8) + 1]", T = 8 }
""",
    )
    assert set(offer.hints) == {("guard-launch", "safe")}
    assert offer.changes() == ["if row >= ct.num_tiles(x, axis=0, shape=(T,)):", "return"]


def test_in_a_loop(tmp_path: Path) -> None:
    offer = Offer(
        tmp_path,
        """
def three_columns(x, out, rounds, T: ct.Constant[int]):
    row = ct.bid(0)
    for k in range(3):
        ct.store(out, (row, k), ct.load(x, (row, k), (T, T), padding_mode=ct.PaddingMode.ZERO))
        ct.atomic_add(rounds, (k,), 1)
""",
        """
grid = ["cdiv(M, 8)"]
requires = ["M >= 1"]
args = { x = "f32[M, 24]", out = "f32[M, 16]", rounds = "i32[3]", T = 8 }
""",
    )
    assert offer.hints == [("guard-access", "safe")]
    assert offer.changes()[0] == "if k < ct.num_tiles(out, axis=1, shape=(T, T)):"


SUMMED = """
def summed_up(x, out, count, T: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.load(x, (row,), (T,))
    for k in range(3):
        total += ct.load(x, (row + k,), (T,))
    ct.store(out, (row,), total)
    ct.atomic_add(count, (0,), 1)
"""


def test_what_is_left_out_of_a_sum_is_no_safe_guard(tmp_path: Path) -> None:
    launch = 'grid = ["cdiv(N, 8)"]\nargs = { x = "f32[N]", out = "f32[N]", count = "i32[1]", T = 8 }'
    offer = Offer(tmp_path, SUMMED, launch)
    assert "safe" not in [applicability for _, applicability in offer.hints]


COUNTED = """
def histogram(keys, counts, T: ct.Constant[int]):
    lanes = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    bucket = ct.gather(keys, lanes) & 3
    ct.scatter(counts, bucket, ct.gather(counts, bucket) + 1)
"""


@pytest.mark.parametrize("repair", [True, False])
def test_lanes_that_meet_are_not_counted_one_by_one_unasked(tmp_path: Path, repair: bool) -> None:
    launch = 'grid = ["cdiv(N, 16)"]\nargs = { keys = "i32[N]", counts = "i32[4]", T = 16 }'
    offer = Offer(tmp_path, COUNTED, launch, repair=repair)
    (hint,) = {hint for finding in offer.result.findings for hint in finding.hints if hint.edits}
    assert (hint.id, hint.applicability) == ("use-atomic", "maybe")
    assert "counts every one of the lanes that meet" in hint.text


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ("t = ct.load(x, (i,), (4,))\nct.store(a, (i,), t)", True),
        ("t = ct.load(x, (i,), (4,))\nct.store(a, (i,), t)\nct.store(b, (i,), t * 2)", True),
        ("t = ct.load(x, (i,), (4,))\nu = t + 1\nct.store(b, (i,), u)", True),
        ("t = ct.load(x, (i,), (4,))\nif ct.sum(t) > 0:\n    ct.atomic_add(b, (0,), 1)", True),
        ("t = ct.load(x, (i,), (4,))\nfor k in range(2):\n    ct.store(b, (k,), t)", True),
        ("t = ct.load(x, (i,), (4,))\nct.atomic_add(b, (0,), 1)", False),
        ("t = ct.load(x, (i,), (4,))\nb.tiled_view((4,)).atomic_store_add((0,), 1)", False),
        ("t = ct.load(x, (i,), (4,))\nct.print('%f', i)", False),
        ("t = ct.load(x, (i,), (4,))\nhelper(b, i)", False),
        (
            "t = ct.load(x, (i,), (4,))\nfor k in range(2):\n    ct.store(a, (k,), t)\n    ct.atomic_add(b, (0,), 1)",
            False,
        ),
        ("t = ct.load(x, (i,), (4,))\nif i > 0:\n    ct.store(b, (i,), 1)", False),
        ("t = ct.load(x, (i,), (4,))\nwhile ct.atomic_add(b, (0,), 0) == 0:\n    pass", False),
        ("t = ct.load(x, (i,), (4,))\nreturn", False),
    ],
)
def test_what_a_return_leaves_out(body: str, places: bool) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source = KernelSource(f"import cuda.tile as ct\n\n\n@ct.kernel\ndef k(x, a, b):\n    i = ct.bid(0)\n{lines}")
    function = source.function_at(6)
    assert function is not None
    load = next(call for call in source.calls(function) if call.name == "load")
    assert (Guards(source, function).may_return(load.node) is not None) is places


def test_elements_that_would_no_longer_be_written_are_no_safe_loss(tmp_path: Path) -> None:
    """What is summed in the last block is left open, and yet its element of `out` is one that somebody reads."""
    offer = Offer(
        tmp_path,
        """
def sums(x, out, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, (i,), ct.sum(ct.load(x, (i + 1,), (T,), padding_mode=ct.PaddingMode.ZERO)))
""",
        'grid = ["cdiv(N, 16)"]\nargs = { x = "f32[N]", out = "f32[cdiv(N, 16)]", T = 16 }',
    )
    assert offer.hints[0] == ("guard-launch", "maybe")
    assert "on small launches it does something else than before" in offer.result.findings[0].hints[0].text


@pytest.mark.parametrize(
    ("kernel", "guards"),
    [
        (
            """
def both_short(x, a, b, T: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i,), (T,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(a, (i,), t)
    ct.atomic_add(b, (0,), 1.0)
    ct.store(a, (i,), t + 1)
""",
            2,
        ),
        (
            """
def in_two_branches(x, a, b, T: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i,), (T,), padding_mode=ct.PaddingMode.ZERO)
    if ct.sum(t) > 0:
        ct.store(a, (i,), t)
        ct.atomic_add(b, (0,), 1.0)
    else:
        ct.store(a, (i,), -t)
""",
            2,
        ),
    ],
)
def test_several_accesses_at_fault_have_a_guard_each(tmp_path: Path, kernel: str, guards: int) -> None:
    launch = """
grid = ["cdiv(M, 8)"]
requires = ["M >= N + 8", "N >= 8"]
args = { x = "f32[M]", a = "f32[N]", b = "f32[1]", T = 8 }
"""
    offer = Offer(tmp_path, kernel, launch)
    hint = offer.result.findings[0].hints[0]
    assert (hint.id, hint.applicability) == ("guard-access", "safe")
    text = offer.mended()
    assert text.count("if i < ct.num_tiles(a, axis=0, shape=t.shape):") == guards
    assert "ct.atomic_add(b, (0,), 1.0)\n" in text
