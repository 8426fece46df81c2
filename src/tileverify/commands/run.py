"""The command ``run``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ..system.errors import UsageError
from .shell import Working, emit, talk, writable

_EXIT_CODES = """\b
Exit codes:
  0  the kernel ran to its end
  1  refuted and not run, or it met undefined behaviour, an unspecified value or a false assertion
  2  bad usage, a launch outside the contract, or one that the interpreter cannot run
  3  undecided and not run
  4  no kernel found
"""


@click.command(epilog=_EXIT_CODES)
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
    named_sizes = {name: whole(f"--size {name}", text) for name, text in pairs("--size", sizes)}
    axes = None if grid is None else tuple(whole("--grid", axis) for axis in grid.split(","))
    if save is not None and save.suffix == ".npz":
        writable(save, "--save")
    elif save is not None and save.exists() and not save.is_dir():
        raise UsageError(f"--save: '{save}' is neither a .npz file nor a folder")
    from ..backend.numbers.array_files import read_array, read_arrays, write_arrays
    from ..launching.run import KernelFault, RunOptions, run_target, run_text, saved_text, told_text
    from ..pipeline import CheckOptions
    from ..pipeline.verdict_cache import default_folder

    arrays = {name: array for path in archives for name, array in read_arrays(path).items()}
    arrays |= {name: read_array(Path(path)) for name, path in pairs("--input", inputs)}
    options = RunOptions(
        sizes=named_sizes,
        args=dict(pairs("--arg", args)),
        arrays=arrays,
        grid=axes,
        seed=seed,
        unproved=unproved,
        keep_going=keep_going,
        spec=spec,
        check=CheckOptions(timeout_s=timeout, cache=None if no_cache else default_folder()),
    )
    if explore is not None:
        from ..launching.run import explore_target, explored_text

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


def pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} {text}: write {option} NAME=VALUE")
        pairs.append((name, value))
    return pairs


def whole(option: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise UsageError(f"{option}: '{text}' is no integer") from None
