"""Runs of a kernel and of a changed one, on the launches that the contract allows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import unit_at, written

from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.cutile import edited_unit
from tileverify.pipeline.repair.small_runs import Comparison, SmallRuns

TWO_OUTPUTS = """import cuda.tile as ct


@ct.kernel
def both(x, a, b, count, T: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i,), (T,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(a, (i,), t)
    ct.store(b, (i,), t + 1)
    if ct.atomic_add(count, (0,), 1).item() >= 0:
        ct.print("done %d", i)
"""
OF_TWO = """[[launch]]
kernel = "both"
grid = ["cdiv(N, 16)"]
args = { x = "f32[N]", a = "f32[N]", b = "f32[N]", count = "i32[1]", T = 16 }
"""


def unit_of(folder: Path, source: str, spec: str) -> KernelUnit:
    return unit_at(written(folder, source, spec, "k"))


@pytest.mark.parametrize(
    ("before", "after", "comparison"),
    [
        ("t + 1)", "1 + t)", Comparison.SAME),
        ("t + 1)", "(t + 3) - 2)", Comparison.SAME),  # but for rounding
        ("t + 1)", "t + 2)", Comparison.OTHER),
        ("    ct.store(b, (i,), t + 1)\n", "", Comparison.OTHER),
        ("    ct.store(a, (i,), t)\n", "    if i > 0:\n        ct.store(a, (i,), t)\n", Comparison.OTHER),
        ("    ct.store(a, (i,), t)\n", "    if i >= 0:\n        ct.store(a, (i,), t)\n", Comparison.SAME),
        ("ct.store(a, (i,), t)", "ct.store(a, (i,), ct.where(t > 0, t, ct.load(a, (i,), (T,))))", Comparison.OTHER),
        ("(count, (0,), 1)", "(count, (0,), 2)", Comparison.OTHER),
        ("ct.atomic_add(count, (0,), 1)", "ct.atomic_add(count, (0,), 0)", Comparison.OTHER),
        ("ct.atomic_add(count, (0,), 1)", "ct.gather(count, (0,))", Comparison.OTHER),
        ('"done %d", i', '"done %d", i + 1', Comparison.OTHER),
    ],
)
def test_what_else_changes_is_seen(tmp_path: Path, before: str, after: str, comparison: Comparison) -> None:
    unit = unit_of(tmp_path, TWO_OUTPUTS, OF_TWO)
    assert before in TWO_OUTPUTS
    changed = edited_unit(unit, TWO_OUTPUTS.replace(before, after))
    assert SmallRuns(unit, ()).compared(changed) is comparison


def test_a_store_that_changes_nothing_is_missed_all_the_same(tmp_path: Path) -> None:
    source = TWO_OUTPUTS.replace("    ct.store(a, (i,), t)\n", "    ct.store(a, (i,), ct.load(a, (i,), (T,)))\n")
    unit = unit_of(tmp_path, source, OF_TWO)
    changed = edited_unit(unit, source.replace("    ct.store(a, (i,), ct.load(a, (i,), (T,)))\n", ""))
    assert SmallRuns(unit, ()).compared(changed) is Comparison.OTHER


ROWS = """import cuda.tile as ct


@ct.kernel
def rows(x, out, T: ct.Constant[int]):
    r = ct.bid(0)
    t = ct.load(x, (r, 0), (1, T))
    ct.store(out, (r, 0), COMPUTED)
"""
OF_ROWS = """[[launch]]
kernel = "rows"
grid = ["M"]
requires = ["1 <= N", "N <= 64"]
args = { x = "DTYPE[M, N]", out = "DTYPE[M, N]", T = 64 }
"""
CENTRED = "t - ct.sum(t, axis=1, keepdims=True)"


@pytest.mark.parametrize(
    ("computed", "dtype", "mode", "comparison"),
    [
        ("t - ct.max(t, axis=1, keepdims=True)", "f32", "NEG_INF", Comparison.SAME),
        ("t - ct.max(t, axis=1, keepdims=True)", "f32", "ZERO", Comparison.OTHER),
        ("t - ct.max(t, axis=1, keepdims=True)", "i32", "ZERO", Comparison.OTHER),
        ("t - ct.min(t, axis=1, keepdims=True)", "f32", "POS_INF", Comparison.SAME),
        ("t - ct.min(t, axis=1, keepdims=True)", "bf16", "ZERO", Comparison.OTHER),
        (CENTRED, "f32", "ZERO", Comparison.SAME),
        (f"t / ct.sum(ct.exp({CENTRED}), axis=1, keepdims=True)", "f32", "ZERO", Comparison.OTHER),
        ("t / ct.sum(ct.exp(t), axis=1, keepdims=True)", "f32", "ZERO", Comparison.OTHER),
        ("t / ct.sum(ct.exp(t), axis=1, keepdims=True)", "f32", "NEG_INF", Comparison.SAME),
        ("t * ct.prod(t, axis=1, keepdims=True)", "f32", "ZERO", Comparison.OTHER),
        ("ct.cumsum(t, axis=1)", "f32", "ZERO", Comparison.SAME),
        ("ct.cumsum(t, axis=1, reverse=True)", "f32", "POS_INF", Comparison.OTHER),
        ("t + ct.load(x, (r, 0), (1, T), padding_mode=ct.PaddingMode.ZERO)", "f32", "NAN", Comparison.SAME),
    ],
)
def test_lanes_beyond_the_array_are_not_there(
    tmp_path: Path, computed: str, dtype: str, mode: str, comparison: Comparison
) -> None:
    source = ROWS.replace("COMPUTED", computed)
    unit = unit_of(tmp_path, source, OF_ROWS.replace("DTYPE", dtype))
    padded = source.replace("(1, T))\n", f"(1, T), padding_mode=ct.PaddingMode.{mode})\n", 1)
    assert SmallRuns(unit, ()).compared(edited_unit(unit, padded), lanes=True) is comparison


def test_what_is_meant_by_a_lane_beyond_the_array_may_be_unknown(tmp_path: Path) -> None:
    """The last elements take those behind them, which are not there."""
    source = ROWS.replace("COMPUTED", "ct.load(x, (r, 1), (1, T))")
    spec = OF_ROWS.replace("N <= 64", "N <= 128").replace("1 <= N", "65 <= N").replace("DTYPE", "f32")
    unit = unit_of(tmp_path, source, spec)
    padded = source.replace("(r, 1), (1, T)", "(r, 1), (1, T), padding_mode=ct.PaddingMode.ZERO")
    assert SmallRuns(unit, ()).compared(edited_unit(unit, padded), lanes=True) is Comparison.PARTLY
