"""Which launches compiled code is compared in: how many of their blocks, on what contents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.written_kernel import unit_at, written

import tileverify.corpus
from tileverify.backend.assembler import find_assembler
from tileverify.backend.compiled.both_runs import border_blocks
from tileverify.backend.compiled.cubin_look import ProvedEntry, looked
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover

CORPUS = Path(tileverify.corpus.__file__).parent


@pytest.mark.parametrize(
    ("kernel", "blocks", "executed"),
    [
        ("race_free/axpy.py::axpy", 64, [0, 62, 63]),
        ("race_free/histogram_atomic.py::histogram", 2, [0, 1]),
        ("race_free/histogram_atomic.py::histogram", 64, range(64)),
        ("race_free/histogram_atomic.py::histogram", 65, [0, 63, 64]),
        ("protocols/atomic_waits.py::add_in_turn", 80, range(80)),  # each waits for the one before it
    ],
)
def test_which_blocks_are_executed(kernel: str, blocks: int, executed: Iterable[int]) -> None:
    unit = next(each for each in discover([str(CORPUS / kernel)]) if isinstance(each, KernelUnit))
    entry = next(each for each in decode(unit.bytecode).entries if each.name == unit.symbol)
    assert border_blocks(entry, (blocks, 1, 1)) == tuple((x, 0, 0) for x in executed)


KERNELS = """
import cuda.tile as ct

C = ct.Constant[int]

@ct.kernel
def copy_rows(x, rows, out, N: C):
    i = ct.bid(0)
    ct.store(out, (i, 0), ct.load(x, (ct.gather(rows, i), 0), (1, N)))
"""
SPEC = """
[[launch]]
kernel = "copy_rows"
grid = ["4"]
data = ["range(rows, 2, 4)"]
args = { x = "f32[4, 64]", rows = "i32[4]", out = "f32[4, 64]", N = 64 }
"""


@pytest.mark.assembler("tileiras")
def test_contents_are_compared_as_they_were_recorded(tmp_path: Path) -> None:
    unit = unit_at(written(tmp_path, KERNELS, SPEC, "kernels"))
    made = find_assembler().assembled(unit.bytecode, "sm_90")
    launch = unit.launch
    recorded = replace(launch, data=(), observed=launch.data)
    unknown = replace(launch, data=())
    for contract, why in ((launch, ""), (recorded, ""), (unknown, "the launch has undefined behaviour")):
        found = looked(ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, contract), made, "sm_90")
        assert (found.why_not, found.differences) == (why, ()), found
