"""Whether verdicts hang on the solver's luck: kernels under several seeds and limits, as a table and as JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import Struct
from rich.console import Console
from rich.table import Table

from ..contract.launch import KernelUnit
from ..results import KernelResult, Verdict
from ..results.json_report import to_json
from ..system.printable import display_path, plural, printable
from .options import CheckOptions
from .unit_check import check_unit


@dataclass(frozen=True, slots=True)
class OneVerdict:
    """What a run says of a launch, as far as it must be the same in every run: its clauses and the ``codes`` of its
    findings, sorted, as their order says nothing."""

    verdict: Verdict
    holds_for: str
    requires: tuple[str, ...]
    codes: tuple[str, ...]

    def __str__(self) -> str:
        said = [self.verdict.value, *([f"for {self.holds_for}"] if self.holds_for else [])]
        said += [f"requires {' and '.join(self.requires)}"] if self.requires else []
        return " ".join([*said, *self.codes])


@dataclass(frozen=True, slots=True)
class OneRun:
    """``limits``: how many times the usual ones."""

    seed: int
    limits: float
    told: OneVerdict


@dataclass(frozen=True, slots=True)
class Stability:
    """All runs of one launch."""

    file: str
    kernel: str
    launch: str
    runs: tuple[OneRun, ...]

    @property
    def name(self) -> str:
        return f"{self.file}::{self.kernel} [{self.launch}]"

    def outcomes(self, limits: float) -> dict[OneVerdict, list[int]]:
        """What was said under these limits, and by which seeds."""
        found: dict[OneVerdict, list[int]] = {}
        for run in self.runs:
            if run.limits == limits:
                found.setdefault(run.told, []).append(run.seed)
        return found

    @property
    def changes(self) -> tuple[str, ...]:
        """How the verdict hangs on the seed, or on limits in another way than that less is decided with less."""
        words = []
        steady: list[tuple[float, OneVerdict]] = []
        for limits in sorted({run.limits for run in self.runs}):
            found = self.outcomes(limits)
            if len(found) > 1:
                words.append(f"limits x {limits:g}: {'; '.join(_by(seeds, told) for told, seeds in found.items())}")
            steady += [(limits, told) for told in found]
        decided = dict.fromkeys(told for _, told in steady if told.verdict is not Verdict.UNDECIDED)
        gained = [limits for limits, told in steady if told.verdict is Verdict.UNDECIDED]
        least = min((limits for limits, told in steady if told in decided), default=None)
        if not words and len(decided) > 1:
            words.append("; ".join(f"{told} with limits x {limits:g}" for limits, told in steady if told in decided))
        if not words and least is not None and any(limits > least for limits in gained):
            words.append(f"decided with limits x {least:g}, undecided with limits x {max(gained):g}")
        return tuple(words)

    @property
    def failed(self) -> bool:
        """Whether a run came to no verdict, but to an error."""
        return any(run.told.verdict is Verdict.ERROR for run in self.runs)

    @property
    def undecided_below(self) -> float | None:
        """The least limits with which it is decided, if it is not with all, and nothing else changes."""
        if self.changes:
            return None
        decided = [run.limits for run in self.runs if run.told.verdict is not Verdict.UNDECIDED]
        return min(decided) if 0 < len(decided) < len(self.runs) else None


def _by(seeds: Sequence[int], told: OneVerdict) -> str:
    return f"{told} with seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def stability_of(unit: KernelUnit, seeds: int, limits: Sequence[float], options: CheckOptions) -> Stability:
    """One launch under the seeds 0 to ``seeds`` - 1 and all ``limits``; nothing is taken from a cache."""
    runs = tuple(
        OneRun(seed, factor, told_of(check_unit(unit, replace(options, cache=None, seed=seed, limits=factor))))
        for factor in limits
        for seed in range(seeds)
    )
    return Stability(display_path(unit.file), unit.kernel, unit.launch.name, runs)


def told_of(result: KernelResult) -> OneVerdict:
    """Of an undecided launch no more than that: which question was reached first with nothing left is no verdict."""
    if result.verdict is Verdict.UNDECIDED:
        return OneVerdict(result.verdict, "", (), ())
    codes = tuple(sorted({finding.code for finding in result.findings}))
    return OneVerdict(result.verdict, result.holds_for or "", tuple(sorted(result.clauses)), codes)


# ------------------------------------------------------------------------------------------------------------ stability
# What `stability` found, as a table for people and as JSON.
#
# The module knows nothing of how it was found: rows come as they are shown.


SCHEMA: Final = "tileverify/stability/1"
_WIDTH: Final = 120


class OutcomeDocument(Struct, frozen=True):
    """What so many ``seeds`` said under ``limits`` times the usual limits."""

    limits: float
    seeds: tuple[int, ...]
    verdict: str
    holds_for: str | None
    requires: tuple[str, ...]
    codes: tuple[str, ...]


class TriedLaunch(Struct, frozen=True):
    """``changes``: how the verdict differs, in sentences; ``undecided_below``: the least limits that decide it, where
    smaller ones only leave it undecided."""

    file: str
    kernel: str
    launch: str
    changes: tuple[str, ...]
    undecided_below: float | None
    outcomes: tuple[OutcomeDocument, ...]


class StabilityDocument(Struct, frozen=True):
    """``seeds``: how many, from 0 on; ``limits``: those that were tried, 1 for the usual ones."""

    schema: str
    tool: str
    solver: str
    seeds: int
    limits: tuple[float, ...]
    launches: tuple[TriedLaunch, ...]


def stability_json(document: StabilityDocument) -> str:
    """The document, ending with a newline."""
    return json.dumps(to_json(document), indent=2) + "\n"


def stability_text(document: StabilityDocument) -> str:
    """A table of what limits and verdicts there were, then what changes; ends with a newline."""
    table = Table(box=None, pad_edge=False)
    verdicts = ("proved", "refuted", "undecided", "error")
    for heading in ("limits", "seeds", *verdicts):
        table.add_column(heading, justify="right")
    for limits in document.limits:
        counts = dict.fromkeys(verdicts, 0)
        for launch in document.launches:
            for outcome in launch.outcomes:
                counts[outcome.verdict] += len(outcome.seeds) if outcome.limits == limits else 0
        table.add_row(f"x {limits:g}", str(document.seeds), *(str(counts[each]) for each in verdicts))
    out = io.StringIO()
    Console(file=out, width=_WIDTH, no_color=True).print(table)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    for launch in document.launches:
        lines += [f"changes: {_name(launch)}: {words}" for words in launch.changes]
    less = [launch for launch in document.launches if launch.undecided_below is not None]
    lines += [f"decided with limits x {launch.undecided_below:g} and more: {_name(launch)}" for launch in less]
    changed = sum(bool(launch.changes) for launch in document.launches)
    total = len(document.launches)
    counted = plural(total, "launch")
    lines.append(
        f"{counted}: {total - changed - len(less)} the same in every run, {len(less)} undecided with less,"
        f" {changed} changed"
    )
    return "".join(f"{printable(line)}\n" for line in lines)


def _name(launch: TriedLaunch) -> str:
    return f"{launch.file}::{launch.kernel} [{launch.launch}]"
