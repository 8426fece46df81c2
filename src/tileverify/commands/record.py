"""The command ``record``."""

from __future__ import annotations

from pathlib import Path

import click

from ..system.errors import UsageError
from ..system.printable import plural
from .shell import Working, talk


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--no-gpu", is_flag=True, help="Run without a GPU: kernels are not executed, and torch's comparisons pass."
)
@click.option("--interpret", is_flag=True, help="Run without a GPU: kernels are executed by the interpreter.")
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
@click.option(
    "--capability",
    default="10.0",
    show_default=True,
    metavar="MAJOR.MINOR",
    help="Compute capability of the GPU that is imitated.",
)
@click.option(
    "--generalise/--no-generalise",
    default=True,
    show_default=True,
    help="Where launches of one specialisation differ in numbers alone, also write one with names, if it is proved.",
)
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.pass_context
def record(
    context: click.Context,
    no_gpu: bool,
    interpret: bool,
    append: bool,
    output: Path,
    specialisations: int,
    capability: str,
    generalise: bool,
    arguments: tuple[str, ...],
) -> None:
    """Run COMMAND and write down every launch of a tile kernel, ready for `tileverify check`."""
    from ..record.recorded_command import RecordOptions
    from ..record.recorded_command import record as run

    options = RecordOptions(
        specialisations=specialisations, generalise=generalise, capability=_major_and_minor(capability)
    )
    with Working(live=False):
        summary = run(
            arguments, output=output, no_gpu=no_gpu, interpret=interpret, append=append, options=options, tell=talk
        )
    for failure in summary.failures:
        message = " ".join(failure["message"].split())
        talk(f"not recorded: {failure['kernel'] or 'a launch'}: {failure['type']}: {message}")
    found = plural(summary.launches, "launch"), plural(summary.specialisations, "specialisation")
    talk(
        f"recorded {', '.join(found)} of {plural(summary.kernels, 'kernel')}"
        f"; check them with: tileverify check {output}"
    )
    if summary.generalised:
        stand = "stands" if summary.generalised == 1 else "stand"
        general = plural(summary.generalised, "launch")
        talk(f"{general} with names for sizes, proved, {stand} for several recorded ones")
    if summary.left_out:
        talk(f"left out {plural(summary.left_out, 'launch')} of further specialisations")
    if summary.exit_code:
        talk(f"the command itself ended with exit code {summary.exit_code}")
    context.exit(2 if summary.exit_code else 0)


def _major_and_minor(text: str) -> tuple[int, int]:
    major, point, minor = text.partition(".")
    if not (point and major.isdecimal() and minor.isdecimal()):
        raise UsageError(f"{text!r} is no compute capability; write, for example, 9.0")
    return int(major), int(minor)
