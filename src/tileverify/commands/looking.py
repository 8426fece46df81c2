"""The commands that show kernels and verify nothing: ``list``, ``footprint`` and ``dis``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ..system.errors import UsageError
from ..system.printable import plural, printable
from .shell import Working, architectures, emit, talk, writable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..contract.launch import KernelUnit
    from ..frontend.sources.discover import Skip, SourceFailure
    from ..pipeline.known_files import CountedObligations


@click.command()
@click.argument("target", metavar="FILE::KERNEL")
@click.option(
    "--bytes", "bytes_", is_flag=True, help="Count the bytes that a launch moves, and the least that it has to move."
)
@click.option(
    "--at", "sizes", multiple=True, metavar="M=4096,N=4096", help="With --bytes, count at these sizes; implies it."
)
@click.option(
    "--compiled", multiple=True, metavar="SM", help="Show what tileiras says of each access for sm_80 to sm_121."
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE, whole.")
def footprint(
    target: str,
    bytes_: bool,
    sizes: tuple[str, ...],
    compiled: tuple[str, ...],
    format_: str,
    spec: Path | None,
    output: Path | None,
) -> None:
    """Show what a kernel reads and writes, as the verifier sees it.

    Array, kind of access, index terms over block id, loop and lane names, guards, tokens and source lines. With
    --bytes, how many bytes a launch moves: every access counts in every block, iteration and lane. The least is each
    byte once.
    """
    from .run import pairs, whole

    writable(output)
    given = pairs("--at", [each for text in sizes for each in text.split(",")])
    at = {name: whole(f"--at {name}", value) for name, value in given}
    asked = _Asked(at if bytes_ or at else None, architectures(compiled))
    if format_ == "json":
        if asked.at is None and not asked.compiled:
            raise UsageError("--format json: say --bytes or --compiled, too; index terms have no JSON")
        documents = [_described(unit, asked) for unit in _units(target, spec)]
        emit(json.dumps(documents, indent=2) + "\n", output)
    else:
        emit("\n".join(_footprint_text(unit, asked) for unit in _units(target, spec)), output)


@dataclass(frozen=True)
class _Asked:
    """``at``: sizes at which bytes are counted, ``None`` where they are not; ``compiled``: architectures."""

    at: Mapping[str, int] | None
    compiled: tuple[str, ...]


def _footprint_text(unit: KernelUnit, asked: _Asked) -> str:
    from ..frontend.bytecode import decode
    from ..frontend.symbolic.execute import footprint_text
    from ..pipeline.unit_summary import access_remarks, summary_of, unit_traffic
    from ..reports.traffic_tables import remark_lines, traffic_lines

    parts = [_heading(unit)]
    if asked.at is None and not asked.compiled:
        module = decode(unit.bytecode, file=str(unit.file))
        parts.append(footprint_text(summary_of(module, unit)).rstrip())
    if asked.at is not None:
        parts += map(printable, traffic_lines(unit_traffic(unit, asked.at)))
    for architecture in asked.compiled:
        parts += map(printable, remark_lines(architecture, access_remarks(unit, architecture)))
    return "\n".join(parts) + "\n"


def _described(unit: KernelUnit, asked: _Asked) -> dict[str, Any]:
    from ..pipeline.unit_summary import access_remarks, unit_traffic
    from ..reports.traffic_tables import remarks_document, traffic_document
    from ..system.printable import display_path

    row: dict[str, Any] = {"file": display_path(unit.file), "kernel": unit.kernel, "launch": unit.launch.name}
    if asked.at is not None:
        row["bytes"] = traffic_document(unit_traffic(unit, asked.at))
    if asked.compiled:
        row["compiled"] = {each: remarks_document(access_remarks(unit, each)) for each in asked.compiled}
    return row


@click.command()
@click.argument("target", metavar="FILE")
@click.option("--locations", is_flag=True, help="Add the source position to every op.")
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE, whole.")
def dis(target: str, locations: bool, spec: Path | None, output: Path | None) -> None:
    """Print Tile IR bytecode as text.

    FILE is bytecode, or a source (also FILE::KERNEL) that is compiled for its launches first.
    """
    from ..frontend.bytecode import decode, print_module

    writable(output)
    path = Path(target)
    if path.is_file() and path.suffix not in (".py", ".cu"):
        emit(print_module(decode(_read(path), file=target), locations=locations), output)
        return
    parts = []
    for unit in _units(target, spec):
        module = decode(unit.bytecode, file=str(unit.file))
        parts.append(f"// {_heading(unit)}\n{print_module(module, locations=locations)}")
    emit("\n".join(parts), output)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror or error}") from None


def _units(target: str, spec: Path | None) -> Iterator[KernelUnit]:
    from ..frontend.sources.discover import SourceFailure, discover

    with Working(live=False):
        found = list(discover([target], spec_file=spec))
    for item in found:
        if isinstance(item, SourceFailure):
            raise item.error
        yield item


def _heading(unit: KernelUnit) -> str:
    from ..system.printable import display_path

    return printable(f"{display_path(unit.file)}::{unit.kernel} [{unit.launch.name}]")


# -------------------------------------------------------------------------------------------------------------- listing
# The command ``list``: kernels, their launches, and, where asked for, what is to be proved of them.


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
    from ..system.printable import display_path

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
