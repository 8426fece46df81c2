"""The corpus' kernels judged with the default options: twice in a test run, whatever the number of tests and processes.

A test that patches the prover, or asks for other options, judges for itself.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TypeAlias

from tileverify.corpus import corpus_launches
from tileverify.pipeline import check_paths
from tileverify.pipeline.unit_check import check_unit
from tileverify.reports.causes import with_causes, with_fingerprints
from tileverify.reports.snippets import Snippets
from tileverify.results import KernelResult, Verdict

from ..shared import once
from .compiled import units

Results: TypeAlias = dict[tuple[str, str], KernelResult]
"""By kernel and launch."""


@cache
def results_of(file: Path) -> Results:
    """All results of one corpus file, from source to report."""
    return once(f"judged {file}", lambda: _by_name(check_paths([str(file)]).results))


@cache
def judged_again(file: Path) -> Results:
    """The same from what was compiled for all tests, the last launch first."""
    return {**_again(file, refuted=False), **refuted_again(file)}


@cache
def refuted_again(file: Path) -> Results:
    """Of `judged_again` the launches that are refuted, which more tests look at than at the others."""
    return _again(file, refuted=True)


def is_judged_again(file: Path) -> bool:
    """Whether every run does so, or one with `--slow` or `--long` alone: it takes as long as the first time."""
    return _files().index(file) % 4 == 0


@cache
def _files() -> list[Path]:
    return sorted({label.file for label in corpus_launches()})


def _again(file: Path, *, refuted: bool) -> Results:
    def judged() -> Results:
        snippets, first = Snippets(), results_of(file)
        mine = [
            unit
            for unit in reversed(units().values())
            if unit.file == file and (first[unit.kernel, unit.launch.name].verdict is Verdict.REFUTED) is refuted
        ]
        return _by_name(tuple(with_causes(with_fingerprints(check_unit(unit), snippets)) for unit in mine))

    return once(f"judged again {file} {refuted}", judged)


def _by_name(results: tuple[KernelResult, ...]) -> Results:
    return {(result.kernel, result.launch): result for result in results}
