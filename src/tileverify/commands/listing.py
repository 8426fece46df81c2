"""The command ``list``: kernels, their launches, and, where asked for, what is to be proved of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ..system.errors import UsageError
from ..system.plural import plural
from .shell import Working, emit, talk

if TYPE_CHECKING:
    from ..frontend.sources.discover import Skip, SourceFailure
    from ..pipeline.known_files import CountedObligations

_WORDS: Final = {None: "", "hold": ": proved", "broken": ": broken"}


@click.command("list")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option(
    "--obligations", is_flag=True, help="Compile, and count what is to be proved; verdicts that are kept are told."
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.pass_context
def list_(context: click.Context, paths: tuple[str, ...], obligations: bool, format_: str, spec: Path | None) -> None:
    """List kernels and their launches without verifying them.

    Without PATH, `paths` of the configuration. With --obligations, how many questions of each code `check` asks of a
    launch, and what they came to, if a verdict of an earlier `check` is kept; undecided ones are not.
    """
    from ..frontend.sources.discover import nothing
    from ..pipeline.configuration import configuration

    skip: Skip = nothing
    if not paths:
        chosen = configuration((), isolated=False)
        paths = chosen.paths
        skip = chosen.excludes if chosen.exclude else nothing
    if not paths:
        raise UsageError("name a PATH, or `paths` in [tool.tileverify]")
    rows: list[dict[str, Any]] = []
    failed = False
    with Working(live=False):
        found = _with_obligations(paths, spec, skip) if obligations else _launches(paths, spec, skip)
        for each in found:
            if isinstance(each, dict):
                rows.append(each)
            else:
                failed = True
                talk(str(each.error))
    if format_ == "json":
        emit(json.dumps(rows, indent=2) + "\n")
    else:
        emit("".join(f"{line}\n" for row in rows for line in _listed(row)))
    context.exit(2 if failed else 0)


def _launches(paths: Sequence[str], spec: Path | None, skip: Skip) -> Iterator[dict[str, Any] | SourceFailure]:
    """A row for each launch, of which nothing is compiled."""
    from ..frontend.sources.discover import SourceFailure, candidates

    for found in candidates(paths, spec_file=spec, skip=skip):
        if isinstance(found, SourceFailure):
            yield found
        else:
            yield _row(found.file, found.line, found.kernel, found.launch.name if found.launch else None)


def _with_obligations(paths: Sequence[str], spec: Path | None, skip: Skip) -> Iterator[dict[str, Any] | SourceFailure]:
    """The same with what is to be proved."""
    from ..frontend.sources.discover import SourceFailure, discover
    from ..pipeline import CheckOptions
    from ..pipeline.configuration import configuration
    from ..pipeline.known_files import counted_obligations
    from ..pipeline.verdict_cache import default_folder
    from ..results import EVERY_REFUTATION, MOST_REFUTATIONS
    from ..system.errors import TileVerifyError

    chosen = configuration((), isolated=False)  # as `check` is asked in this folder
    options = CheckOptions(
        cache=None if chosen.cache is False else default_folder(),
        deny_requires=bool(chosen.deny_requires),
        effort=chosen.effort or 1.0,
        per_file=chosen.per_file,
        refutations=EVERY_REFUTATION if chosen.baseline or chosen.ignores else MOST_REFUTATIONS,
    )
    for unit in discover(paths, spec_file=spec, skip=skip):
        if isinstance(unit, SourceFailure):
            yield unit
            continue
        launch = unit.launch.name if unit.launch.has_spec else None
        try:
            counted = counted_obligations(unit, options)
        except TileVerifyError as error:
            yield SourceFailure(unit.file, unit.kernel, launch, error)
        else:
            yield _row(unit.file, unit.line, unit.kernel, launch) | _counted(counted)


def _row(file: Path, line: int | None, kernel: str, launch: str | None) -> dict[str, Any]:
    from ..system.paths import display_path

    return {"file": display_path(file), "line": line, "kernel": kernel, "launch": launch}


def _counted(found: CountedObligations) -> dict[str, Any]:
    from ..results.conditional import is_conditional

    return {
        "verdict": None if found.known is None else found.known.verdict.value,
        "requires": None if found.known is None else list(found.known.requires),
        "limits": None if found.known is None else list(found.known.limits),
        "conditional": None if found.known is None else is_conditional(found.known),
        "problem": found.problem,
        "obligations": {
            str(code): {"count": count, "came_to": found.came_to(code)} for code, count in found.counts.items()
        },
    }


def _listed(row: dict[str, Any]) -> Iterator[str]:
    from ..system.printable import printable

    launch = "no spec: inferred" if row["launch"] is None else row["launch"]
    name = f"{row['file']}::{row['kernel']} [{launch}]"
    if "obligations" not in row:
        yield printable(name)
        return
    from ..results.codes import CODES
    from ..results.conditional import PROVED_IF, conjunction

    total = sum(each["count"] for each in row["obligations"].values())
    told = row["verdict"] or "no verdict is kept"
    if row["conditional"]:
        told = f"{PROVED_IF} {conjunction(row['requires'])}"
    elif clauses := len(row["requires"] or ()):
        told += f" with {plural(clauses, 'clause')}"
    told += "".join(f", limit {limit}" for limit in row["limits"] or ())
    if row["problem"] is not None:
        yield printable(f"{name}: {row['problem']}")
        return
    yield printable(f"{name}: {told}; {plural(total, 'obligation')}")
    for code, each in row["obligations"].items():
        yield f"  {each['count']:5}  {code}  {CODES[code].title}{_WORDS[each['came_to']]}"
