"""The judge of changed kernels reads clauses on addresses: of witnesses, and of launches that it lays out itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.contract.expression_parser import parse_condition
from tileverify.contract.launch import (
    ArrayArgument,
    ConcreteArray,
    ConcreteLaunch,
    KernelUnit,
    LaunchSpec,
    ListArgument,
    Number,
)
from tileverify.results import Witness

from ..mutants.admission import why_not_admitted
from ..mutants.launches import launches_around, recorded_launch

ROW = ArrayArgument("x", "f32", (Number(64),))
BESIDE = ArrayArgument("y", "f32", (Number(64),))
ONE_BLOCK = (Number(1), Number(1), Number(1))
ALIGNED = "x.address % 16 == 0"


def admitted(spec: LaunchSpec, launch: ConcreteLaunch) -> str | None:
    return why_not_admitted(spec, launch, Witness({}, launch.grid, (0, 0, 0), None, ""))


@pytest.mark.parametrize(("offset", "reason"), [(0, None), (256, None), (8, f"{ALIGNED} does not hold")])
def test_a_witness_has_addresses(offset: int, reason: str | None) -> None:
    spec = LaunchSpec("k", "0", (ROW,), ONE_BLOCK, (parse_condition(ALIGNED),))
    assert admitted(spec, ConcreteLaunch((1, 1, 1), {"x": placed(offset)}, {})) == reason


@pytest.mark.parametrize(("offsets", "reason"), [((0, 32), None), ((0, 8), "xs.address % 16 == 0 does not hold")])
def test_what_is_said_of_a_list_is_said_of_each_array(offsets: tuple[int, ...], reason: str | None) -> None:
    listed = ListArgument("xs", ROW, Number(len(offsets)))
    clauses = (parse_condition("xs.address % 16 == 0"), parse_condition("xs.shape[0] >= 64"))
    launch = ConcreteLaunch((1, 1, 1), {}, {}, {"xs": tuple(map(placed, offsets))})
    assert admitted(LaunchSpec("k", "0", (listed,), ONE_BLOCK, clauses), launch) == reason


@pytest.mark.parametrize("requires", [(), (ALIGNED,), ("y.address % 64 == 0", "x.shape[0] == 64")])
def test_arrays_that_may_overlap_are_laid_out_as_clauses_want_them(requires: tuple[str, ...]) -> None:
    spec = LaunchSpec("k", "0", (ROW, BESIDE), ONE_BLOCK, overlap=(frozenset("xy"),))
    unit = KernelUnit(Path("k.tileirbc"), "k", spec, b"", "k", ())
    ((launch,),) = [drawn.launches for drawn in recorded_launch(unit, requires)]
    apart = sorted(array.byte_offset for array in launch.arrays.values())
    assert apart == ([0, 256] if requires else [0, 4])
    around = launches_around(unit, requires, "launch", 1)
    assert [sorted(array.byte_offset for array in each.arrays.values()) for each in around] == [apart]


def placed(offset: int) -> ConcreteArray:
    return ConcreteArray("f32", (64,), (1,), byte_offset=offset)
