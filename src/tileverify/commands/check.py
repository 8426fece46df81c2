"""The command ``check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import __version__
from ..errors import NoKernelFound, UsageError
from ..reports.formats import FORMATS, TEXT
from ..shell import Working, emit, talk
from .options import EXIT_CODES
from .outputs import outputs_of, pages, write_reports

if TYPE_CHECKING:
    from ..results import KernelResult, Report


@click.command(epilog=EXIT_CODES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "format_", type=click.Choice(FORMATS), default=TEXT, show_default=True)
@click.option(
    "--output",
    multiple=True,
    metavar="[FORMAT=]FILE",
    help="Write the report to FILE, whole; with FORMAT=, a further report (sarif=out.sarif), as often as you like.",
)
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
@click.option("--repair", is_flag=True, help="Try repairs of what is refuted, and tell those that are proved.")
@click.option("-q", "--quiet", is_flag=True, help="Only what is not proved.")
@click.option("-v", "--verbose", is_flag=True, help="Also what was checked, hashes and times.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.pass_context
def check(
    context: click.Context,
    paths: tuple[str, ...],
    format_: str,
    output: tuple[str, ...],
    spec: Path | None,
    deny_requires: bool,
    strict: bool,
    jobs: int,
    no_cache: bool,
    timeout: float | None,
    playback: str | None,
    certificate: Path | None,
    repair: bool,
    quiet: bool,
    verbose: bool,
    color: str,
) -> None:
    """Verify kernels under every launch that satisfies their contract.

    PATH is a .py or .cu file, a Tile IR bytecode file, a folder, FILE::KERNEL or FILE::KERNEL::LAUNCH.
    """
    if quiet and verbose:
        raise UsageError("--quiet and --verbose exclude each other")
    outputs = outputs_of(format_, output)
    if playback == "print" and format_ != TEXT and outputs[0].file is None:
        raise UsageError(f"--playback print and --format {format_} both write to stdout; give --output or a folder")
    if playback not in (None, "print") and Path(playback).exists() and not Path(playback).is_dir():
        raise UsageError(f"--playback: '{playback}' is not a folder")
    if certificate is not None:
        _make_folder(certificate, "--certificate")
    from ..cache import default_folder
    from ..check import CheckOptions, check_paths, solver_version
    from ..results import Report

    cache = None if no_cache else default_folder()
    page = pages(outputs)
    options = CheckOptions(
        timeout,
        deny_requires,
        jobs,
        cache,
        playback is not None or page,
        certificate is not None,
        repair,
        details=page,
    )
    with Working(live=not quiet) as working:
        try:
            report = check_paths(
                paths, spec=spec, options=options, progress=lambda result: working.progress(_name(result))
            )
        except NoKernelFound as error:
            talk(str(error))
            report = Report((), __version__, solver_version())
    from ..reports.text import Detail

    detail = Detail.QUIET if quiet else Detail.VERBOSE if verbose else Detail.NORMAL
    write_reports(report, outputs, detail, color)
    if playback is not None:
        _write_playback(report, playback)
    if certificate is not None:
        from ..certificates.files import write_certificates

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


def _name(result: KernelResult) -> str:
    return f"{result.verdict.value} {result.file}::{result.kernel} [{result.launch}]"
