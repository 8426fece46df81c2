"""TV403 on random kernels: what is called determined is so in every launch that is run, and warnings are none too many.

proved and deterministic   ->  in no block of any launch does an open value reach anything
a warning                  ->  its witness, run again, shows an open value at the place that it names
a launch of numbers        ->  a warning only if that launch itself shows one
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.corpus.problems import Numbers, problem
from tests.profiles import tries

from tileverify.contract.launch import KernelUnit
from tileverify.contract.terms import FALSE, Term
from tileverify.frontend.bytecode.model import Op
from tileverify.frontend.sources.discover import discover, nothing
from tileverify.frontend.symbolic import open_rules
from tileverify.frontend.symbolic.open_values import OpenEquations, OpenValues
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict
from tileverify.results.claim import claim_from_json

from ..generated.truth import PATIENT_STEPS, Interpreted
from ..open_kernels import OpenKernel, make

pytestmark = pytest.mark.random

COUNT = tries(short=36, long=200)
SOON = 400
"""Kernels that are enough to expose the flaws below; most show in the first fifty."""


@dataclass(frozen=True, slots=True)
class Judged:
    made: OpenKernel
    result: KernelResult
    reached: tuple[frozenset[int], ...]  # for each launch, the ops that an open value reaches
    shown: tuple[bool, ...]  # for each warning, whether its witness shows it


def judge(numbers: range) -> Iterator[Judged]:
    """Every kernel that the compiler takes."""
    made = {f"open_{number}": make(number) for number in numbers}
    with TemporaryDirectory() as folder:
        file = Path(folder, "kernels.py")
        file.write_text("import cuda.tile as ct\n\n\n" + "\n\n\n".join(each.source for each in made.values()) + "\n")
        file.with_suffix(".tileverify.toml").write_text("\n".join(each.spec for each in made.values()))
        for unit in discover([str(file)], skip=nothing):
            if isinstance(unit, KernelUnit):
                yield _judged(made[unit.kernel], unit)


def _judged(made: OpenKernel, unit: KernelUnit) -> Judged:
    result, interpreted = check_unit(unit), Interpreted(unit)
    reached = tuple(interpreted.undetermined(problem(unit, Numbers(numbers)).launch) for numbers in made.launches)
    shown = []
    for finding in result.findings if result.verdict is Verdict.PROVED else ():
        assert finding.witness is not None
        assert finding.witness.launch is not None
        launch, claim = claim_from_json(finding.witness.launch)
        shown.append(claim.offset_a in interpreted.undetermined(launch, PATIENT_STEPS))
    return Judged(made, result, reached, tuple(shown))


@cache
def judged() -> tuple[Judged, ...]:
    return tuple(judge(range(COUNT)))


def test_nothing_open_reaches_anything_in_a_determined_kernel() -> None:
    wrong = [each for each in judged() if each.result.deterministic and any(each.reached)]
    assert not wrong, "\n".join(f"{each.made.source}\n{each.made.spec}{each.reached}" for each in wrong)


def test_every_warning_is_shown_by_its_witness() -> None:
    assert all(all(each.shown) for each in judged())


def test_a_launch_of_numbers_gets_no_warning_that_it_does_not_show() -> None:
    numbers = [each for each in judged() if each.made.launches == ({},) and each.result.verdict is Verdict.PROVED]
    assert numbers
    wrong = [each for each in numbers if each.result.findings and not any(each.reached)]
    assert not wrong, "\n".join(f"{each.made.source}\n{each.made.spec}" for each in wrong)


def test_the_kernels_show_both_sides() -> None:
    counts = Counter((each.result.verdict, bool(each.result.deterministic)) for each in judged())
    assert len(judged()) >= 0.9 * COUNT
    assert counts[Verdict.PROVED, True] >= COUNT // 6
    assert counts[Verdict.PROVED, False] >= COUNT // 6
    doubts = sum(each.result.deterministic is False and not each.result.findings for each in judged())
    assert doubts <= max(COUNT // 20, 3)


def _nothing(o: OpenValues, op: Op) -> Term:
    return FALSE


def _only(operand: str) -> Callable[[OpenValues, Op], Term]:
    return lambda o, op: o.of(op.value(operand))


FLAWS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "reductions close": lambda patch: patch.setitem(open_rules.RULES, "reduce", _nothing),
    "scans close": lambda patch: patch.setitem(open_rules.RULES, "scan", _nothing),
    "products close": lambda patch: patch.setitem(open_rules.RULES, "mmaf", _only("acc")),
    "one side of a choice": lambda patch: patch.setitem(open_rules.RULES, "select", _only("t")),
    "nothing is carried": lambda patch: patch.setattr(OpenValues, "_unknown", lambda self, op, number, value: None),
    "nothing is handed on": lambda patch: patch.setattr(
        OpenEquations, "_flows_into", lambda self, function: {function: True}
    ),
    "lanes stay in a loop": lambda patch: patch.setattr(OpenEquations, "_some_lane", lambda self, unknown: {}),
    "branches close": lambda patch: patch.setattr(OpenValues, "_joined", lambda self, op: (FALSE,) * len(op.results)),
}
"""Mistakes that somebody could make."""


AT_ONCE = ("one side of a choice", "nothing is carried")


@pytest.mark.parametrize(
    "flaw", [pytest.param(flaw, marks=() if flaw in AT_ONCE else pytest.mark.slow) for flaw in FLAWS]
)
def test_a_flaw_is_found_out(monkeypatch: pytest.MonkeyPatch, flaw: str) -> None:
    FLAWS[flaw](monkeypatch)
    assert any(each.result.deterministic and any(each.reached) for each in judge(range(SOON)))
