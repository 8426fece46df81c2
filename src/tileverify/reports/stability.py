"""What `stability` found, as a table for people and as JSON.

The module knows nothing of how it was found: rows come as they are shown.
"""

from __future__ import annotations

import io
import json
from typing import Final

from msgspec import Struct
from rich.console import Console
from rich.table import Table

from ..results.documents import to_json
from ..system.printable import plural, printable

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
