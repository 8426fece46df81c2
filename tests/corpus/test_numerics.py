"""The reference interpreter against NumPy: every proved launch of the corpus, whole memory compared."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tileverify.corpus import ROOT, Labelled, corpus_launches
from tileverify.results import Verdict

from .compiled import units
from .problems import Numbers, Problem, as_numbers, decided, interpret, numbers, overwritten, problem
from .references import NUMBERS, REFERENCES, WITHOUT_REFERENCE

TOLERANCES = {"f32": 2e-5, "f16": 2e-3, "bf16": 1.6e-2}
"""Of the larger of the value and one: two units in the last place of the short types, some twenty for sums in f32."""

PROVED = [label for label in corpus_launches() if label.verdict is Verdict.PROVED]
SLOW = {"race_free/matmul.py::matmul[square-4096]", "race_free/early_return.py::copy_rows[more-blocks-than-rows]"}


def given(label: Labelled) -> Problem:
    return problem(units()[str(label.file), label.kernel, label.launch], NUMBERS[label.id])


def values_of(case: Problem) -> dict[str, float]:
    return {**case.launch.scalars, **case.launch.floats}


def test_every_proved_launch_is_computed_or_says_why_not() -> None:
    ids = {label.id for label in PROVED}
    assert ids == NUMBERS.keys() | WITHOUT_REFERENCE.keys()
    assert not NUMBERS.keys() & WITHOUT_REFERENCE.keys()
    assert {label.kernel for label in PROVED if label.id in NUMBERS} == REFERENCES.keys()
    assert ids >= SLOW


@pytest.mark.parametrize(
    "label",
    [
        pytest.param(label, id=label.id, marks=[pytest.mark.slow] if label.id in SLOW else [])
        for label in PROVED
        if label.id in NUMBERS
    ],
)
def test_interpreter_equals_numpy(label: Labelled) -> None:
    case = given(label)
    run = interpret(case)
    assert not [event for log in run.logs for event in log.events]
    expected = overwritten(case, REFERENCES[label.kernel](numbers(case), values_of(case)))
    for place, dtype in case.dtypes.items():
        known = decided(case, run, place)
        seen, wanted = as_numbers(run.arrays[place], dtype)[known], expected[place][known]
        if dtype[0] in "iu":
            np.testing.assert_array_equal(seen, wanted, err_msg=place)
        else:
            np.testing.assert_allclose(seen, wanted, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype], err_msg=place)


@pytest.mark.parametrize("label", [label for label in PROVED if label.id in NUMBERS], ids=lambda label: label.id)
def test_a_launch_changes_its_memory(label: Labelled) -> None:
    """A reference that returned its input, or a launch without work, would prove nothing."""
    case = given(label)
    if label.id in SLOW:
        return
    expected = overwritten(case, REFERENCES[label.kernel](numbers(case), values_of(case)))
    before = {place: as_numbers(stored, case.dtypes[place]) for place, stored in case.contents.items()}
    assert any((expected[place] != before[place]).any() for place in expected)


def test_a_product_of_512_by_512_matrices_takes_seconds() -> None:
    unit = units()[str(ROOT / "showcase" / "matmul_swizzled.py"), "matmul_swizzled", "any-size"]
    case = problem(unit, Numbers({"M": 512, "N": 512, "K": 512}))
    started = time.perf_counter()
    interpret(case)
    assert time.perf_counter() - started < 10
