"""Launches whose arrays name one element several times: contents are drawn for the elements, not for their names."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.command_line import CommandLine

from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.backend.numbers.inputs import Given, make_inputs, view
from tileverify.backend.numbers.trial_launches import Constants
from tileverify.contract.launch import KernelUnit
from tileverify.equality.answer_text import sentence
from tileverify.equality.deciding import Decision, ExactAnswer, decide
from tileverify.equality.points import FILLINGS, SEARCHING, Options, drawn_point, given_point
from tileverify.equality.reference_runs import other_of
from tileverify.equality.targets import kernel_of
from tileverify.frontend.sources.discover import discover
from tileverify.gating.jobs import trial_contents
from tileverify.system.errors import UsageError

Array = NDArray[Any]
KERNEL = """import cuda.tile as ct

@ct.kernel
def copy_rows(x, out, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, (i, 0), ct.load(x, (i, 0), (1, T)))
"""
LAYOUTS = {"bands": "1, 1", "one-row": "0, 1", "one-column": "1, 0", "one-element": "0, 0", "apart": "16, 1"}
TYPES = ("f32", "i32")


@cache
def units(folder: Path) -> dict[str, KernelUnit]:
    (folder / "rows.py").write_text(KERNEL)
    (folder / "rows.tileverify.toml").write_text(
        "".join(
            f'[[launch]]\nkernel = "copy_rows"\nname = "{dtype}-{name}"\ngrid = ["N"]\n'
            f'args = {{ x = "{dtype}[N, 8; strides=({strides})]", out = "{dtype}[N, 8]", T = 8 }}\n'
            for dtype in TYPES
            for name, strides in LAYOUTS.items()
        )
    )
    found = [unit for unit in discover([str(folder / "rows.py")]) if isinstance(unit, KernelUnit)]
    return {unit.launch.name: unit for unit in found}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelUnit]:
    return units(tmp_path_factory.mktemp("rows"))


def answer(unit: KernelUnit, function: Callable[[Array], dict[str, Array]]) -> ExactAnswer:
    return decide(unit, kernel_of(unit), ContractInNumbers(unit.launch), other_of(function), Options(steps=1 << 23))


def itself(x: Array) -> dict[str, Array]:
    return {"out": x}


def first_row(x: Array) -> dict[str, Array]:
    return {"out": np.broadcast_to(x[:1], x.shape)}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_larger_launches_take_part(rows: dict[str, KernelUnit], layout: str, dtype: str) -> None:
    unit = rows[f"{dtype}-{layout}"]
    same, other = answer(unit, itself), answer(unit, first_row)
    assert same.answer is Decision.EQUAL, sentence(same)
    assert any(launch["N"] > 1 for launch in same.launches)
    expected = Decision.EQUAL if layout in ("one-row", "one-element") else Decision.DIFFERENT
    assert other.answer is expected, sentence(other)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_drawn_is_what_the_memory_holds(rows: dict[str, KernelUnit], layout: str) -> None:
    inputs = make_inputs(ContractInNumbers(rows[f"f32-{layout}"].launch), Given({"N": 4}, {}, {}))
    x = inputs.launch.arrays["x"]
    held = inputs.memory[x.allocation]
    assert len(set(view(held, x.shape, x.strides).flat)) == min(len(held), 32)


def test_contents_that_are_given_still_have_to_agree(rows: dict[str, KernelUnit]) -> None:
    contract = ContractInNumbers(rows["f32-bands"].launch)
    x = np.add.outer(np.arange(4), np.arange(8)).astype(np.float32)
    assert make_inputs(contract, Given({"N": 4}, {}, {"x": x})).memory["x"].tolist() == list(range(11))
    assert given_point(contract, {"N": 4}, {"x": x}).contents["x"]["s"].tolist() == list(range(11))
    x[2, 3] += 1
    for attempt in (
        lambda: make_inputs(contract, Given({"N": 4}, {}, {"x": x})),
        lambda: given_point(contract, {"N": 4}, {"x": x}),
    ):
        with pytest.raises(UsageError, match="the input x gives different values to elements that share memory"):
            attempt()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_contents_of_every_kind_are_drawn(rows: dict[str, KernelUnit], layout: str, dtype: str) -> None:
    contract, known = ContractInNumbers(rows[f"{dtype}-{layout}"].launch), Constants((3, 8), (0.5,))
    for filling in (*FILLINGS, *SEARCHING):
        drawn_point(contract, {"N": 4}, filling, known, 1)
    for filling in trial_contents.FILLINGS:
        made = trial_contents.inputs_of(contract, {"N": 4}, filling, known, 1)
        assert made.launch.arrays["x"].shape == (4, 8)


@pytest.mark.parametrize("layout", ["bands", "one-element"])
def test_the_command_runs_such_a_launch(tileverify: CommandLine, layout: str) -> None:
    units(Path.cwd())
    ran = tileverify("run", f"rows.py::copy_rows::f32-{layout}", "--size", "N=3")
    assert ran.code == 0, ran.err
    assert "24 of 24" in ran.out
