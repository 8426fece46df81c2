"""Who notices a deletion: first the labels of the corpus' kernels that run its lines, then tests.

Each question goes to a child (`tests.child`), so nothing that it changes or remembers comes back.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.child import in_child

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import Labelled
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict

from .deletions import Deletion, patched

Lines = frozenset[tuple[str, int]]
"""Files and lines that were run."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A launch of the corpus, the lines of the rules that its check runs, and the seconds that it takes."""

    unit: KernelUnit
    label: Labelled
    lines: Lines
    seconds: float


@dataclass(frozen=True, slots=True)
class Noticed:
    """``how``: `wrong` (a launch is proved against its label), `label` (it disagrees otherwise), `broken` (its check
    breaks down), `test`, `nobody`, or `not run`: no kernel ran the lines, and no test was asked.  ``judged`` of the
    ``reached`` launches were judged.
    """

    how: str
    by: str
    judged: int
    reached: int


def disagreement(label: Labelled, result: KernelResult) -> str | None:
    """`wrong` or `label`, if the result is not what the label says."""
    codes = {finding.code for finding in result.findings}
    if result.verdict not in label.acceptable:
        return "wrong" if result.verdict is Verdict.PROVED else "label"
    if label.adds and set(result.requires) != set(label.adds):
        return "wrong" if set(result.requires) < set(label.adds) else "label"
    if result.verdict is Verdict.PROVED and set(result.limits) != set(label.limits):
        return "wrong" if set(result.limits) < set(label.limits) else "label"
    if result.verdict is Verdict.PROVED:
        return None if codes == set(label.warnings) else "label"
    broken = {code for code in codes if not code.startswith("TV9")}
    if result.verdict is Verdict.REFUTED:
        return None if label.code in codes and broken <= label.codes else "label"
    return None if label.needs or label.code in codes else "label"


def reached(unit: KernelUnit, folder: Path) -> tuple[Lines, float]:
    """The lines below ``folder`` that the check of one launch runs, and its seconds (traced: some more than else)."""
    inside, lines = f"{folder}{os.sep}", set[tuple[str, int]]()

    def each_line(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return each_line

    def each_call(frame: FrameType, _event: str, _: object) -> Any:
        return each_line if frame.f_code.co_filename.startswith(inside) else None

    started = time.process_time()
    sys.settrace(each_call)
    try:
        check_unit(unit)
    finally:
        sys.settrace(None)
    return frozenset(lines), time.process_time() - started


def judge(deletion: Deletion, subjects: Sequence[Subject], tests: Sequence[Path], seconds: float) -> Noticed:
    """Launches that must not be proved are asked first, and quick ones before slow ones; tests last.

    A child that is too slow has noticed nothing; one that breaks down has.
    """
    mine = [each for each in subjects if runs(deletion, each.lines)]
    mine.sort(key=lambda each: (each.label.verdict is Verdict.PROVED, each.seconds))
    judged = 0
    try:
        for how in in_child(lambda: _labelled(deletion, mine), seconds) if mine else ():
            judged += 1
            if how is not None:
                return Noticed(how, mine[judged - 1].label.id, judged, len(mine))
    except TimeoutError:
        pass
    except RuntimeError:
        return Noticed("broken", mine[judged].label.id, judged + 1, len(mine))
    try:
        for failed in in_child(lambda: _tested(deletion, tests), seconds) if tests else ():
            return Noticed("test", failed, judged, len(mine))
    except TimeoutError:
        pass
    return Noticed("nobody" if mine or tests else "not run", "", judged, len(mine))


def runs(deletion: Deletion, lines: Lines) -> bool:
    first, last = deletion.lines
    return any((str(deletion.file), line) in lines for line in range(first, last + 1))


def _labelled(deletion: Deletion, subjects: Sequence[Subject]) -> Iterator[str | None]:
    assert patched(deletion)
    for subject in subjects:
        yield disagreement(subject.label, check_unit(subject.unit))


def _tested(deletion: Deletion, tests: Sequence[Path]) -> Iterator[str]:
    """The first test that fails."""

    class Failures:
        failed = ""

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            self.failed = self.failed or (report.nodeid if report.failed else "")

    assert patched(deletion)
    watch = Failures()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *map(str, tests)], plugins=[watch])
    if watch.failed:
        yield watch.failed


def subjects_of(
    units: Sequence[KernelUnit], labels: Mapping[tuple[Path, str, str], Labelled], folder: Path, seconds: float
) -> list[Subject]:
    """Each launch traced in a child of its own."""
    found = []
    for unit in units:
        label = labels[unit.file, unit.kernel, unit.launch.name]
        with contextlib.suppress(TimeoutError):
            for lines, took in in_child(partial(_traced, unit, folder), seconds):
                found.append(Subject(unit, label, frozenset((file, line) for file, line in lines), took))
    return found


def _traced(unit: KernelUnit, folder: Path) -> Iterator[Any]:
    lines, took = reached(unit, folder)
    yield sorted(lines), took
