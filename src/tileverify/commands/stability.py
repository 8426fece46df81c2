"""The command ``stability``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..system.version import __version__
from .shell import Working, emit, talk, writable

if TYPE_CHECKING:
    from ..pipeline.stability import Stability, TriedLaunch

_EXIT_CODES = """\b
Exit codes:
  0  every launch has one verdict; with smaller limits some may be undecided
  1  a verdict changes
  2  bad usage, or a kernel or spec with an error
  4  no kernel found
"""


def _factors(context: click.Context, parameter: click.Parameter, value: str) -> tuple[float, ...]:
    """The numbers of ``A,B``, in order; raises `click.BadParameter`."""
    try:
        found = tuple(sorted({float(part) for part in value.split(",")}))
    except ValueError:
        raise click.BadParameter(f"'{value}' is no list of numbers, as in 0.1,1") from None
    if not all(0 < factor <= 1_000_000 for factor in found):
        raise click.BadParameter("limits are larger than 0 and at most 1000000")
    return found


@click.command(epilog=_EXIT_CODES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--seeds", type=click.IntRange(min=1, max=10_000), default=5, show_default=True, help="Seeds to try.")
@click.option(
    "--limits",
    callback=_factors,
    default="1",
    show_default=True,
    metavar="A,B",
    help="How many times the usual limits of the solver's questions to try.",
)
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE, whole.")
@click.pass_context
def stability(
    context: click.Context,
    paths: tuple[str, ...],
    seeds: int,
    limits: tuple[float, ...],
    spec: Path | None,
    format_: str,
    output: Path | None,
) -> None:
    """Try whether verdicts depend on the solver's seed, or on its limits.

    Every launch is proved anew under each seed and limit.  A verdict, what it holds for, its clauses or its codes that
    differ are told; so is apart what is merely undecided with smaller limits.
    """
    writable(output)
    from ..contract.launch import KernelUnit
    from ..frontend.sources.discover import discover
    from ..pipeline import CheckOptions
    from ..pipeline.stability import SCHEMA, StabilityDocument, stability_json, stability_of, stability_text
    from ..pipeline.unit_summary import solver_version

    rows, broken = [], False
    with Working(live=True) as working:
        for item in discover(paths, spec_file=spec):
            if not isinstance(item, KernelUnit):
                broken = True
                talk(f"error: {item.error}")
                continue
            row = stability_of(item, seeds, limits, CheckOptions())
            working.progress(row.name)
            rows.append(row)
    document = StabilityDocument(SCHEMA, __version__, solver_version(), seeds, limits, tuple(map(_document, rows)))
    emit((stability_json if format_ == "json" else stability_text)(document), output)
    broken = broken or any(row.failed for row in rows)
    context.exit(2 if broken else 1 if any(row.changes for row in rows) else 0)


def _document(row: Stability) -> TriedLaunch:
    from ..pipeline.stability import OutcomeDocument, TriedLaunch

    outcomes = tuple(
        OutcomeDocument(limits, tuple(seeds), told.verdict.value, told.holds_for or None, told.requires, told.codes)
        for limits in sorted({run.limits for run in row.runs})
        for told, seeds in row.outcomes(limits).items()
    )
    return TriedLaunch(row.file, row.kernel, row.launch, row.changes, row.undecided_below, outcomes)
