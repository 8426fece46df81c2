"""The kernel's half of a comparison, which a gate runs where the reference must not be."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import written

from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.backend.numbers.trial_launches import NARROW
from tileverify.contract.launch import KernelUnit
from tileverify.equality.kernel_runs import SentEnd, SentGap, SentPoint, runs
from tileverify.equality.points import Options
from tileverify.equality.targets import kernel_of
from tileverify.frontend.sources.discover import discover

KERNEL = """import cuda.tile as ct

@ct.kernel
def k(x, out):
    row = ct.load(x, (ct.bid(0), 0), (1, 64), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (ct.bid(0), 0), row / (1 + ct.exp(row)))
"""
SPEC = """[[launch]]
kernel = "k"
grid = ["M"]
requires = ["M >= 1", "N >= 1", "N <= 64"]
args = { x = "f32[M, N]", out = "f32[M, N]" }
"""


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> KernelUnit:
    folder: Path = tmp_path_factory.mktemp("kernel_runs")
    written(folder, KERNEL, SPEC, "k")
    (found,) = [unit for unit in discover([str(folder / "k.py")]) if isinstance(unit, KernelUnit)]
    return found


@pytest.mark.parametrize("steps", [1 << exponent for exponent in (19, 20, 21)])
def test_differences_are_searched_for_where_the_kernel_came_to_its_end(unit: KernelUnit, steps: int) -> None:
    """A launch that was cut off by the budget is cheap, and would be again."""
    options = Options(seed=5, steps=steps, launches=24, spread=NARROW)
    sent = list(runs(unit, kernel_of(unit), ContractInNumbers(unit.launch, ()), options))
    end = sent.pop()
    assert isinstance(end, SentEnd)
    assert any(isinstance(each, SentGap) and each.left_out for each in sent)
    whole = [number for number, each in enumerate(sent) if isinstance(each, SentPoint) and not each.stored]
    last_gap = max(number for number, each in enumerate(sent) if isinstance(each, SentGap))
    assert len([number for number in whole if number > last_gap]) > 5
