"""The comparison of the interpreter with a GPU: how results are judged, and the whole of it where there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.device.compare import GUARD, Launcher, distance, main
from benchmarks.device.ops import op_problems
from benchmarks.device.prepare import RACY, parameters_of
from benchmarks.device.roundings import rounding_problems
from tests.corpus.problems import Problem, interpret, problem
from tests.corpus.references import NUMBERS
from tests.written_kernel import unit_at

from tileverify.corpus import ROOT, corpus_launches
from tileverify.results import Verdict


def test_integers_are_equal_or_wrong() -> None:
    assert distance(np.array([1, -2]), np.array([1, -3]), "i32").tolist() == [0, np.inf]


def test_floats_may_be_off_by_a_tolerance() -> None:
    off = distance(np.array([1.0, 1.00001, 2000, 1.001], np.float32), np.array([1, 1, 2000.01, 1], np.float32), "f32")
    assert (off <= 1).tolist() == [True, True, True, False]
    assert off[0] == 0
    bits = np.array([0x3F80, 0x3F81, 0x3F90], np.uint16)
    assert (distance(bits, np.full(3, 0x3F80, np.uint16), "bf16") <= 1).tolist() == [True, True, False]


def test_what_is_not_finite_must_be_the_same() -> None:
    inf, nan = np.inf, np.nan
    seen, wanted = np.array([nan, inf, nan, 1, inf, -inf]), np.array([nan, inf, 1, nan, 1, inf])
    assert (distance(seen, wanted, "f64") <= 1).tolist() == [True, True, False, False, False, False]


def test_chosen_launches_have_the_verdict_that_their_table_needs() -> None:
    labels = {label.id: label.verdict for label in corpus_launches()}
    assert {labels[name] for name in NUMBERS} == {Verdict.PROVED}
    assert {labels[name] for name in RACY} == {Verdict.REFUTED}


def test_parameters_are_passed_as_the_entry_takes_them() -> None:
    unit = unit_at(ROOT / "race_free" / "list_of_arrays.py")
    given = problem(unit, NUMBERS["race_free/list_of_arrays.py::sum_all[any-length]"])
    places = {name: number for number, name in enumerate(given.contents)}
    passed = parameters_of(given, places)
    rows = [[places[f"xs[{k}]"], 0, 600, 1] for k in range(4)]
    number = {n: {"bytes": n.to_bytes(4, "little").hex()} for n in (1, 4, 600)}
    assert passed == [{"rows": rows}, number[4], {"memory": places["out"], "offset": 0}, number[600], number[1]]

    class Uploads:
        def upload(self, data: bytes) -> int:
            self.words = np.frombuffer(data, np.uint64).tolist()
            return 0x7000

    launcher, uploads = object.__new__(Launcher), Uploads()
    kept: list[Any] = []
    launcher.driver = uploads  # type: ignore[assignment]
    bases = [0x10000 * (place + 1) for place in range(5)]
    assert launcher._bytes(passed[0], bases, kept) == (0x7000).to_bytes(8, "little")
    assert uploads.words[:6] == [bases[rows[0][0]] + GUARD, 600, 1, bases[rows[1][0]] + GUARD, 600, 1]
    assert launcher._bytes(passed[2], bases, kept) == (bases[places["out"]] + GUARD).to_bytes(8, "little")


@pytest.mark.parametrize(
    "given", [pytest.param(given, id=name) for name, given in (*op_problems(), *rounding_problems())]
)
def test_op_kernels_are_defined_on_all_their_inputs(given: Problem) -> None:
    """Undefined behaviour on one lane would make the whole comparison with the device worthless."""
    run = interpret(given)
    assert not [event for log in run.logs for event in log.events]
    for name, stored in given.contents.items():
        changed = run.arrays[name].tobytes() != stored.tobytes()
        assert changed == (name not in {f"in{k}" for k in range(3)}), name


@pytest.mark.gpu
@pytest.mark.slow
def test_every_launch_on_the_device(tmp_path: Path) -> None:
    assert main(["all", str(tmp_path)]) == 0
