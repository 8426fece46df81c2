"""The command ``init``: the launch specs that ``check`` infers, written down to be edited."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ..system.errors import UsageError
from .options import writable
from .shell import Working, emit, talk

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit
    from ..pipeline import CheckOptions
    from ..results import KernelResult

_BOUND: Final = re.compile(r"grid\.([xyz]) <= (.+)")
NAME: Final = "any"
"""Of the launches that are written."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE, not beside the source.")
@click.option("--force", is_flag=True, help="Write anew what is there already; launches in it are lost.")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep verdicts of earlier runs.")
@click.pass_context
def init(context: click.Context, file: Path, output: Path | None, force: bool, no_cache: bool) -> None:
    """Write the launch specs that `check` infers for FILE: arguments, and the clauses of each proof.

    FILE is a .py or .cu file or Tile IR bytecode; its specs go to NAME.tileverify.toml beside it, and are checked again
    as they stand there. Kernels whose launches are written in the source or in pyproject.toml are left out.
    """
    from ..contract.spec_files import spec_path
    from ..pipeline import CheckOptions, check_unit
    from ..pipeline.cache.verdicts import default_folder

    if not file.is_file():
        raise UsageError(f"init takes one file: there is none called '{file}'")
    target = output or spec_path(file)
    writable(output)
    if target.exists() and not force:
        raise UsageError(f"'{target}' is there already; --force writes it anew, without what is in it")
    options = CheckOptions(cache=None if no_cache else default_folder())
    with Working(live=False):
        units, failed = _inferred_units(file)
        if not units:
            raise UsageError(f"nothing is inferred for '{file}': {failed or 'all of its launches are written down'}")
        results = [check_unit(unit, options) for unit in units]
        text = "\n".join(["# Inferred by `tileverify init`; to be edited.\n", *map(_table, units, results)])
        again = _proved_again(file, text, target, options)
    emit(text, target)
    proved = [unit.kernel for unit, result in zip(units, results, strict=True) if result.verdict.value == "proved"]
    lost = [kernel for kernel in proved if kernel not in again]
    talk(f"{target}: {_plural(len(units), 'launch')}; proved as written: {len(proved) - len(lost)}")
    if lost:
        talk(f"no longer proved under what is written: {', '.join(lost)}")
    if failed:
        talk(f"left out: {failed}")
    context.exit(2 if lost or failed else 0)


def _inferred_units(file: Path) -> tuple[list[KernelUnit], str]:
    """The kernels that have no launch but what is inferred, and what is wrong with the first that gives none."""
    from ..contract.gather import SourceSpecs
    from ..contract.spec_files import read_pyproject
    from ..frontend.sources.discover import SourceFailure, discover
    from ..system.errors import NoKernelFound

    elsewhere = SourceSpecs(read_pyproject(file.resolve().parent))
    units: list[KernelUnit] = []
    failed = ""
    try:
        for found in discover([str(file)], specs=elsewhere):
            if isinstance(found, SourceFailure):
                failed = failed or str(found.error)
            elif not found.launch.has_spec and found.parameters:
                units.append(found)
            elif not found.launch.has_spec:
                failed = failed or f"the parameters of '{found.kernel}' have no words in launch specs"
    except NoKernelFound as error:
        failed = failed or str(error)
    return units, failed


def _table(unit: KernelUnit, result: KernelResult) -> str:
    """The launch as it was inferred, with the clauses that its proof needs, and what came of it."""
    from ..contract.spec_text import spec_text

    findings = dict.fromkeys(f"{finding.code}: {finding.sentence}" for finding in result.findings)
    return spec_text(unit.launch, NAME, result.requires, (result.verdict.value, *findings, *_grid(result.requires)))


def _grid(requires: Iterable[str]) -> Iterator[str]:
    """How to say the grid, where clauses on it are what a proof needs: by their bounds, if these say it."""
    clauses = [clause for clause in requires if "grid." in clause]
    bounds: dict[str, str] = {}
    for clause in clauses:
        if found := _BOUND.fullmatch(clause):
            bounds.setdefault(found[1], found[2])
    axes = [bounds[axis] for axis in "xyz"[: len(bounds)] if axis in bounds]
    if clauses:
        grid = ", ".join(f'"{bound}"' for bound in axes) if axes and len(axes) == len(bounds) else '"..."'
        yield f"say how you launch it by grid = [{grid}], and leave out the clauses on the grid"


def _proved_again(file: Path, text: str, target: Path, options: CheckOptions) -> set[str]:
    """The kernels that are proved under what is to be written."""
    from ..contract.gather import SourceSpecs
    from ..contract.spec_files import launches_of_text
    from ..frontend.sources.discover import SourceFailure, discover
    from ..pipeline import check_unit

    specs = SourceSpecs(launches_of_text(text, target), given=True)
    units = [each for each in discover([str(file)], specs=specs) if not isinstance(each, SourceFailure)]
    results = [check_unit(unit, options) for unit in units if unit.launch.has_spec]
    return {result.kernel for result in results if result.verdict.value == "proved"}


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 'es'}"
