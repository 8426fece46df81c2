"""Slots that blocks draw from counters: enough of them, too few of them, and what is drawn beyond is dropped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tileverify.pipeline import check_paths
from tileverify.results import KernelResult, Verdict

pytest.importorskip("cuda.tile", reason="kernels are compiled")

KERNELS = """
import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def route(x, experts, counters, slots, WIDTH: ConstInt):
    t = ct.bid(0)
    expert = ct.load(experts, (t,), ()).item()
    slot = ct.atomic_add(counters, (expert,), 1).item()
    row = ct.load(x, (t, 0), (1, WIDTH))
    ct.store(slots, (expert, slot, 0), row.reshape((1, 1, WIDTH)))


@ct.kernel
def route_and_drop(x, experts, counters, slots, WIDTH: ConstInt):
    t = ct.bid(0)
    expert = ct.load(experts, (t,), ()).item()
    slot = ct.atomic_add(counters, (expert,), 1).item()
    if slot < slots.shape[1]:
        row = ct.load(x, (t, 0), (1, WIDTH))
        ct.store(slots, (expert, slot, 0), row.reshape((1, 1, WIDTH)))
"""
ARRAYS = 'x = "f16[T, 64]", experts = "i32[T]", counters = "i32[E]", slots = "f16[E, SLOTS, 64]", WIDTH = 64'


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., KernelResult]:
    (tmp_path / "k.py").write_text(KERNELS)

    def run(kernel: str, slots: int, *requires: str) -> KernelResult:
        (tmp_path / "k.tileverify.toml").write_text(
            f'[[launch]]\nkernel = "{kernel}"\ngrid = ["T"]\nrequires = {list(requires)}\n'
            'data = ["range(experts, 0, E)", "range(counters, 0, 1)"]\n'
            f"args = {{ {ARRAYS.replace('SLOTS', str(slots))} }}\n"
        )
        (result,) = check_paths([f"{tmp_path / 'k.py'}::{kernel}"]).results
        return result

    return run


@pytest.mark.parametrize("slots", [2, 63, 64, 256])
def test_one_token_more_than_slots_leaves_the_array(check: Callable[..., KernelResult], slots: int) -> None:
    """Whole launches are run, of as many blocks as it takes."""
    result = check("route", slots)
    assert result.verdict is Verdict.REFUTED
    (finding,) = result.findings
    assert finding.code == "TV301"
    assert finding.witness is not None
    assert finding.witness.grid == (slots + 1, 1, 1)


def test_enough_slots_or_a_token_dropped_is_proved(check: Callable[..., KernelResult]) -> None:
    assert check("route", 256, "T <= 256").verdict is Verdict.PROVED
    assert check("route", 256, "T <= 257").verdict is Verdict.REFUTED
    assert check("route_and_drop", 256).verdict is Verdict.PROVED
