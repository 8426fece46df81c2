"""The command ``init``: the launch specs that ``check`` infers, written down to be edited."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ..system.errors import TileVerifyError, UsageError
from ..system.printable import plural
from .shell import Working, emit, talk, writable

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit
    from ..pipeline import CheckOptions
    from ..results import KernelResult

_BOUND: Final = re.compile(r"grid\.([xyz]) <= (.+)")
NAME: Final = "any"
"""Of the launches that are written."""


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|FOLDER...")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE, not beside the source.")
@click.option("--force", is_flag=True, help="Write anew what is there already; launches in it are lost.")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep verdicts of earlier runs.")
@click.pass_context
def init(context: click.Context, paths: tuple[Path, ...], output: Path | None, force: bool, no_cache: bool) -> None:
    """Write the launch specs that `check` infers: arguments, and the clauses of each proof.

    FILE is a .py or .cu file or Tile IR bytecode; its specs go to NAME.tileverify.toml beside it, and are checked again
    as they stand there. Of a FOLDER, files without kernels or with a spec are passed over. Kernels whose launches are
    written in the source or in pyproject.toml are left out.

    What is written is a question to you: `origin = "inferred"` says that nobody promised it. Delete that line once the
    launch says what you promise.
    """
    from ..pipeline import CheckOptions
    from ..pipeline.verdict_cache import default_folder

    sources = _sources(paths, output, force)
    writable(output)
    options = CheckOptions(cache=None if no_cache else default_folder())
    complete = True
    with Working(live=False):
        for source in sources:
            try:
                complete &= _write(source, options)
            except TileVerifyError as error:
                if source.passed_over:
                    continue
                if len(sources) == 1:
                    raise
                complete = False
                talk(f"{source.file}: {error}")
    context.exit(0 if complete else 2)


@dataclass(frozen=True, slots=True)
class _Source:
    """A file and where its specs go.  ``passed_over``: it came with a folder, and may have nothing to write."""

    file: Path
    target: Path
    passed_over: bool


def _sources(paths: Sequence[Path], output: Path | None, force: bool) -> list[_Source]:
    """Raises `UsageError` for a path that is not there, or a spec that is and may not be overwritten."""
    from ..contract.spec_files import spec_path
    from ..frontend.sources.discover import source_files

    found: list[_Source] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"init takes files and folders: there is none called '{path}'")
        files = sorted(source_files(path)) if path.is_dir() else [path]
        found += (_Source(file, output or spec_path(file), path.is_dir()) for file in files)
    if not found:
        raise UsageError(f"there is no .py, .cu or bytecode file in '{paths[0]}'")
    if output is not None and len(found) > 1:
        raise UsageError("--output takes the specs of one file; without it each goes beside its source")
    named = [source.target for source in found if not source.passed_over and source.target.exists()]
    if named and not force:
        raise UsageError(f"'{named[0]}' is there already; --force writes it anew, without what is in it")
    left = [source for source in found if force or not source.target.exists()]
    if not left:
        talk(f"nothing to write: each source in {', '.join(map(str, paths))} has a spec")
    return left


def _write(source: _Source, options: CheckOptions) -> bool:
    """Whether all of a file's kernels are written, and proved again where they were proved."""
    from ..pipeline.unit_check import check_unit

    units, failed = _inferred_units(source.file)
    if not units:
        reason = failed or "all of its launches are written down"
        raise UsageError(f"nothing is inferred for '{source.file}': {reason}")
    named = [_with_names(unit) for unit in units]
    results = [check_unit(unit, options) for unit, _ in named]
    tables = [_table(unit, result, said) for (unit, said), result in zip(named, results, strict=True)]
    text = "\n".join(["# Inferred by `tileverify init`; to be edited.\n", *tables])
    again = _proved_again(source, text, options)
    emit(text, source.target)
    proved = [unit.kernel for unit, result in zip(units, results, strict=True) if result.verdict.value == "proved"]
    lost = [kernel for kernel in proved if kernel not in again]
    talk(f"{source.target}: {plural(len(units), 'launch')}; proved as written: {len(proved) - len(lost)}")
    if lost:
        talk(f"no longer proved under what is written: {', '.join(lost)}")
    if failed:
        talk(f"left out: {failed}")
    return not (lost or failed)


def _inferred_units(file: Path) -> tuple[list[KernelUnit], str]:
    """The kernels that have no launch but what is inferred, and what is wrong with the first that gives none."""
    from ..contract.spec_files import SourceSpecs, read_pyproject
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


def _with_names(unit: KernelUnit) -> tuple[KernelUnit, tuple[str, ...]]:
    """The unit with sizes called as the kernel calls them, and which of its axes are taken for one size."""
    from ..frontend.sources.usage import with_size_names

    if unit.file.suffix != ".py" or unit.producer == "triton":
        return unit, ()  # sizes are parameters, which have names
    launch, said = with_size_names(unit.launch, unit.file, unit.kernel)
    return replace(unit, launch=launch), said


def _table(unit: KernelUnit, result: KernelResult, said: Iterable[str]) -> str:
    """The launch as it was inferred, with the clauses that its proof needs, and what came of it."""
    from ..contract.spec_text import spec_text

    findings = dict.fromkeys(f"{finding.code}: {finding.sentence}" for finding in result.findings)
    assumed = (f"assumed by tileverify, is this what you promise? {each}" for each in said)
    remarks = (result.verdict.value, *findings, *_grid(result.requires), *assumed)
    return spec_text(unit.launch, NAME, result.requires, remarks)


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


def _proved_again(source: _Source, text: str, options: CheckOptions) -> set[str]:
    """The kernels that are proved under what is to be written."""
    from ..contract.spec_files import SourceSpecs, launches_of_text
    from ..frontend.sources.discover import SourceFailure, discover
    from ..pipeline.unit_check import check_unit

    specs = SourceSpecs(launches_of_text(text, source.target), given=True)
    units = [each for each in discover([str(source.file)], specs=specs) if not isinstance(each, SourceFailure)]
    results = [check_unit(unit, options) for unit in units if unit.launch.has_spec]
    return {result.kernel for result in results if result.verdict.value == "proved"}
