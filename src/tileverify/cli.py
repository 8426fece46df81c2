"""The command line: thin commands over the pipeline.  Data goes to stdout, everything else to stderr.

Heavy modules (the solver, cuda.tile, numpy, rich) are imported by the commands that need them, never for ``--help``.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import __version__
from .bundles.command import build, show
from .certificates.command import recheck
from .errors import NoKernelFound, UsageError
from .failures import TRACEBACK
from .launching.command import report
from .shell import Shell, Working, emit, talk, use_color

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .frontend.sources.launch import KernelUnit
    from .results import KernelResult, Report

_EXIT_CODES = """\b
Exit codes:
  0  everything proved
  1  something refuted
  2  bad usage, a kernel or spec with an error, or a failure of the tool
  3  something undecided, nothing refuted
  4  no kernel found
"""

_RUN_EXIT_CODES = """\b
Exit codes:
  0  the kernel ran to its end
  1  refuted and not run, or it met undefined behaviour, an unspecified value or a false assertion
  2  bad usage, a launch outside the contract, or one that the interpreter cannot run
  3  undecided and not run
  4  no kernel found
"""


def main() -> None:
    """The console script; never returns."""
    command(prog_name="tileverify")


@click.group(cls=Shell, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EXIT_CODES)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option("--traceback", is_flag=True, help="Show where an error happened (also: TILEVERIFY_TRACEBACK=1).")
def command(traceback: bool) -> None:
    """Prove GPU tile kernels free of data races, out-of-bounds accesses and broken promises."""
    if traceback:
        os.environ[TRACEBACK] = "1"  # worker processes shall know, too


# ------------------------------------------------------------------------------------------------- check
@command.command(epilog=_EXIT_CODES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the report to FILE, whole.")
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--deny-requires", is_flag=True, help="Prove under your contract alone, add no clause to it.")
@click.option(
    "--strict/--allow-undecided", default=True, help="Whether undecided fails (exit code 3).  [default: strict]"
)
@click.option("-j", "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Processes; 0: as many as pay.")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep verdicts of earlier runs.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Seconds for each kernel.  [default: none]",
)
@click.option(
    "--playback",
    metavar="print|DIR",
    help="Write a pytest file that reproduces it for every refuted finding: to stdout, or into the folder DIR.",
)
@click.option(
    "--certificate",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the proof of every proved kernel, and its bytecode, into the folder DIR (see `recheck`).",
)
@click.option("-q", "--quiet", is_flag=True, help="Only what is not proved.")
@click.option("-v", "--verbose", is_flag=True, help="Also what was checked, hashes and times.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.pass_context
def check(
    context: click.Context,
    paths: tuple[str, ...],
    format_: str,
    output: Path | None,
    spec: Path | None,
    deny_requires: bool,
    strict: bool,
    jobs: int,
    no_cache: bool,
    timeout: float | None,
    playback: str | None,
    certificate: Path | None,
    quiet: bool,
    verbose: bool,
    color: str,
) -> None:
    """Verify kernels under every launch that satisfies their contract.

    PATH is a .py or .cu file, a Tile IR bytecode file, a folder, FILE::KERNEL or FILE::KERNEL::LAUNCH.
    """
    if quiet and verbose:
        raise UsageError("--quiet and --verbose exclude each other")
    if playback == "print" and format_ == "json" and output is None:
        raise UsageError("--playback print and --format json both write to stdout; give --output or a folder")
    if playback not in (None, "print") and Path(playback).exists() and not Path(playback).is_dir():
        raise UsageError(f"--playback: '{playback}' is not a folder")
    if certificate is not None:
        _make_folder(certificate, "--certificate")
    _writable(output)
    from .cache import default_folder
    from .check import CheckOptions, check_paths, solver_version
    from .results import Report

    cache = None if no_cache else default_folder()
    options = CheckOptions(timeout, deny_requires, jobs, cache, playback is not None, certificate is not None)
    with Working(live=not quiet) as working:
        try:
            report = check_paths(
                paths, spec=spec, options=options, progress=lambda result: working.progress(_name(result))
            )
        except NoKernelFound as error:
            talk(str(error))
            report = Report((), __version__, solver_version())
    if format_ == "json":
        from .reports.json_report import json_report

        emit(json_report(report), output)
    elif report.results:
        emit(_text(report, quiet, verbose, use_color(color, output)), output)
    if output is not None and not quiet:
        from .reports.text import summary_line

        talk(f"{summary_line(report)}; written to {output}")
    if playback is not None:
        _write_playback(report, playback)
    if certificate is not None:
        from .certificates.files import write_certificates

        talk(write_certificates(report.results, certificate))
    code = report.exit_code
    context.exit(0 if code == 3 and not strict else code)


def _make_folder(folder: Path, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option}: cannot make the folder '{folder}': {error.strerror or error}") from None


def _write_playback(report: Report, where: str) -> None:
    """Reproductions to stdout or into a folder; files of the same name get a number."""
    texts: dict[str, str] = {}
    for file in (file for result in report.results for file in result.playback):
        name, number = file.name, 2
        while name in texts:
            name, number = f"{file.name.removesuffix('.py')}_{number}.py", number + 1
        texts[name] = file.text
    if where == "print":
        emit("".join(f"# {name}\n{text}\n" for name, text in texts.items()))
        return
    if not texts:
        talk("nothing is refuted: no reproduction was written")
        return
    folder = Path(where)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--playback: cannot make '{where}': {error.strerror or error}") from None
    for name, text in texts.items():
        emit(text, folder / name)
    talk(f"{len(texts)} reproduction{'s' if len(texts) > 1 else ''} in {where}; run them with: pytest {where}")


def _text(report: Report, quiet: bool, verbose: bool, color: bool) -> str:
    from .reports.text import Detail, text_report

    detail = Detail.QUIET if quiet else Detail.VERBOSE if verbose else Detail.NORMAL
    return text_report(report, detail=detail, color=color)


def _name(result: KernelResult) -> str:
    return f"{result.verdict.value} {result.file}::{result.kernel} [{result.launch}]"


def _writable(output: Path | None, option: str = "--output") -> None:
    """A wrong --output is said before minutes of work, not after."""
    if output is not None and not output.parent.is_dir():
        raise UsageError(f"{option}: there is no folder '{output.parent}'")


# ------------------------------------------------------------------------------------- looking at kernels
@command.command()
@click.argument("target", metavar="FILE::KERNEL")
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE, whole.")
def footprint(target: str, spec: Path | None, output: Path | None) -> None:
    """Show what a kernel reads and writes, as the verifier sees it.

    Array, kind of access, index terms over block id, loop and lane names, guards, tokens and source lines.
    """
    from .check import summary_of
    from .frontend.bytecode import decode
    from .frontend.symbolic.text import footprint_text

    _writable(output)
    parts = []
    for unit in _units(target, spec):
        module = decode(unit.bytecode, file=str(unit.file))
        parts.append(f"{_heading(unit)}\n{footprint_text(summary_of(module, unit)).rstrip()}\n")
    emit("\n".join(parts), output)


@command.command()
@click.argument("target", metavar="FILE")
@click.option("--locations", is_flag=True, help="Add the source position to every op.")
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE, whole.")
def dis(target: str, locations: bool, spec: Path | None, output: Path | None) -> None:
    """Print Tile IR bytecode as text.

    FILE is bytecode, or a source (also FILE::KERNEL) that is compiled for its launches first.
    """
    from .frontend.bytecode import decode, print_module

    _writable(output)
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


@command.command("list")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.pass_context
def list_(context: click.Context, paths: tuple[str, ...], format_: str, spec: Path | None) -> None:
    """List kernels and their launches without compiling or verifying them."""
    from .check import display_path
    from .frontend.sources.discover import SourceFailure, candidates

    rows: list[dict[str, Any]] = []
    failed = False
    with Working(live=False):
        for found in candidates(paths, spec_file=spec):
            if isinstance(found, SourceFailure):
                failed = True
                talk(str(found.error))
            else:
                launch = found.launch.name if found.launch else None
                file = display_path(found.file)
                rows.append({"file": file, "line": found.line, "kernel": found.kernel, "launch": launch})
    if format_ == "json":
        import json

        emit(json.dumps(rows, indent=2) + "\n")
    else:
        emit("".join(f"{_listed(row)}\n" for row in rows))
    context.exit(2 if failed else 0)


def _listed(row: dict[str, Any]) -> str:
    from .reports.plain import printable

    launch = "no spec: inferred" if row["launch"] is None else row["launch"]
    return printable(f"{row['file']}::{row['kernel']} [{launch}]")


def _units(target: str, spec: Path | None) -> Iterator[KernelUnit]:
    from .frontend.sources.discover import SourceFailure, discover

    with Working(live=False):
        found = list(discover([target], spec_file=spec))
    for item in found:
        if isinstance(item, SourceFailure):
            raise item.error
        yield item


def _heading(unit: KernelUnit) -> str:
    from .check import display_path
    from .reports.plain import printable

    return printable(f"{display_path(unit.file)}::{unit.kernel} [{unit.launch.name}]")


# --------------------------------------------------------------------------------------------------- run
@command.command(epilog=_RUN_EXIT_CODES)
@click.argument("target", metavar="FILE::KERNEL[::LAUNCH]")
@click.option("--size", "sizes", multiple=True, metavar="M=256", help="Value of a free name of the spec.")
@click.option("--arg", "args", multiple=True, metavar="n=5", help="Value of a runtime scalar.")
@click.option("--input", "inputs", multiple=True, metavar="x=FILE.npy", help="Contents of an array.")
@click.option(
    "--inputs",
    "archives",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Contents by name: .npz, .safetensors, or a folder of .npy.",
)
@click.option("--grid", metavar="X,Y,Z", help="Grid of a launch whose spec has none.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of generated contents.")
@click.option("--save", type=click.Path(path_type=Path), metavar="PATH", help="Save written arrays: .npz or a folder.")
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--unproved", is_flag=True, help="Run the kernel even if it is not proved.")
@click.option("--keep-going", is_flag=True, help="Go on past undefined behaviour and stores of unspecified values.")
@click.option(
    "--explore",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run under N schedules; show races and results that depend on the order of blocks and accesses.",
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep verdicts of earlier runs.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Seconds for the proof.")
@click.pass_context
def run(
    context: click.Context,
    target: str,
    sizes: tuple[str, ...],
    args: tuple[str, ...],
    inputs: tuple[str, ...],
    archives: tuple[Path, ...],
    grid: str | None,
    seed: int,
    save: Path | None,
    spec: Path | None,
    unproved: bool,
    keep_going: bool,
    explore: int | None,
    no_cache: bool,
    timeout: float | None,
) -> None:
    """Execute a proved kernel on arrays, without a GPU, in the reference interpreter.

    Sizes, scalars and contents that are not given are chosen within the contract.  A kernel that is not proved is
    refused with the exit code of `check`, a launch outside the contract with exit code 2.  The run ends at the first
    undefined behaviour, and where an unspecified value decides something or would be stored.

    With --explore the launch runs many times and nothing is saved: the exit code is 1 if a race, undefined behaviour
    or a result that depends on the schedule was seen.
    """
    if explore is not None and save is not None:
        raise UsageError("--explore runs the launch many times, there is no one result to --save")
    named_sizes = {name: _whole(f"--size {name}", text) for name, text in _pairs("--size", sizes)}
    axes = None if grid is None else tuple(_whole("--grid", axis) for axis in grid.split(","))
    if save is not None and save.suffix == ".npz":
        _writable(save, "--save")
    elif save is not None and save.exists() and not save.is_dir():
        raise UsageError(f"--save: '{save}' is neither a .npz file nor a folder")
    from .cache import default_folder
    from .check import CheckOptions
    from .execution import KernelFault, RunOptions, run_target
    from .execution.files import read_array, read_arrays, write_arrays
    from .execution.text import run_text, saved_text, told_text

    arrays = {name: array for path in archives for name, array in read_arrays(path).items()}
    arrays |= {name: read_array(Path(path)) for name, path in _pairs("--input", inputs)}
    options = RunOptions(
        sizes=named_sizes,
        args=dict(_pairs("--arg", args)),
        arrays=arrays,
        grid=axes,
        seed=seed,
        unproved=unproved,
        keep_going=keep_going,
        spec=spec,
        check=CheckOptions(timeout_s=timeout, cache=None if no_cache else default_folder()),
    )
    if explore is not None:
        from .execution.explored import explore_target, explored_text

        with Working(live=False):
            explored = explore_target(target, options, explore)
        emit(explored_text(explored))
        context.exit(0 if explored.exploration.faultless else 1)
    try:
        with Working(live=False):
            result = run_target(target, options)
    except KernelFault as fault:
        emit(told_text(fault.printed, fault.assertions))
        raise
    emit(run_text(result))
    if save is not None:
        written = {array.name: array for array in result.arrays if array.written}
        write_arrays(save, {name: array.elements for name, array in written.items()})
        talk(saved_text(str(save), written))
    context.exit(1 if result.events or result.assertions else 0)


def _pairs(option: str, texts: tuple[str, ...]) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} {text}: write {option} NAME=VALUE")
        pairs.append((name, value))
    return pairs


def _whole(option: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise UsageError(f"{option}: '{text}' is no integer") from None


command.add_command(recheck)
command.add_command(build)
command.add_command(show)
command.add_command(report)


# ------------------------------------------------------------------------------------------------ record
@command.command(context_settings={"ignore_unknown_options": True})
@click.option("--no-gpu", is_flag=True, help="Run without a GPU: kernels are recorded, not executed.")
@click.option("--append", is_flag=True, help="Add to a recording instead of replacing it.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("tileverify-recording"),
    show_default=True,
    help="Folder for bytecode and launch specs.",
)
@click.option(
    "--specialisations",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="Specialisations kept per kernel.",
)
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.pass_context
def record(
    context: click.Context,
    no_gpu: bool,
    append: bool,
    output: Path,
    specialisations: int,
    arguments: tuple[str, ...],
) -> None:
    """Run COMMAND and write down every cuda.tile launch, ready for `tileverify check`."""
    from .record import RecordOptions
    from .record import record as run

    options = RecordOptions(specialisations=specialisations)
    with Working(live=False):
        summary = run(arguments, output=output, no_gpu=no_gpu, append=append, options=options)
    for failure in summary.failures:
        talk(f"not recorded: {failure['kernel']}: {failure['type']}: {failure['message']}")
    talk(
        f"recorded {summary.launches} launches, {summary.specialisations} specialisations of {summary.kernels} kernels"
        f"; check them with: tileverify check {output}"
    )
    if summary.left_out:
        talk(f"left out {summary.left_out} launches of further specialisations")
    if summary.exit_code:
        talk(f"the command itself ended with exit code {summary.exit_code}")
    context.exit(2 if summary.exit_code else 0)


# ----------------------------------------------------------------------------------------------- explain
@command.command()
@click.argument("code", required=False, metavar="[CODE]")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(code: str | None, format_: str) -> None:
    """Tell what a code means and how to mend what it reports; without CODE, list all codes."""
    from .codes import CODES

    chosen = list(CODES.values())
    if code is not None:
        known = CODES.get(code.upper()) or next((each for each in chosen if each.name == code.lower()), None)
        if known is None:
            from difflib import get_close_matches

            near = get_close_matches(code.upper(), CODES, n=1)
            raise UsageError(f"there is no code '{code}'" + (f"; did you mean {near[0]}?" if near else ""))
        chosen = [known]
    if format_ == "json":
        import json

        emit(json.dumps([{**asdict(each), "family": each.family.value} for each in chosen], indent=2) + "\n")
    elif code is None:
        emit("".join(f"{each.code}  {each.name:27} {each.title}\n" for each in chosen))
    else:
        emit(_explained(chosen[0]))


def _explained(code: Any) -> str:
    from textwrap import fill

    parts = [f"{code.code} ({code.name}): {code.title}\n", fill(code.meaning, 100)]
    for label, text in (("Formula", code.formula), ("What to do", code.fix)):
        parts.append(f"\n{label}:\n{fill(text, 100, initial_indent='  ', subsequent_indent='  ')}")
    return "\n".join(parts) + "\n"


@command.command()
def schema() -> None:
    """Print the JSON Schema of `check --format json`."""
    from .reports.json_report import schema_text

    emit(schema_text())
