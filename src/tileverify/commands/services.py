"""The commands that serve: ``lsp`` an editor, ``mcp`` a model, ``worker`` other command lines."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..system.errors import UsageError
from .shell import emit

if TYPE_CHECKING:
    from ..serving.worker.client import WorkerPlace


@click.command()
@click.option("--stdio", is_flag=True, help="Taken for granted; some editors say it.")
@click.pass_context
def lsp(context: click.Context, stdio: bool) -> None:
    """Serve an editor: a language server on stdin and stdout (extra `lsp`).

    Shows verdicts and contracts beside kernels, findings with both places, proved repairs. docs/editors.md has settings
    for Neovim, Helix and VS Code.
    """
    try:
        from ..serving.lsp.language_server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise UsageError("lsp needs pygls: pip install 'tileverify[lsp]'") from None
    serve()
    context.exit(0)  # the streams are closed: nothing more is written


# ------------------------------------------------------------------------------------------------------------------ mcp
# The command ``mcp``.


@click.command()
@click.option("--spec", type=click.Path(path_type=Path), help="Launches that you vouch for, of all submissions.")
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="NAME=FILE.py::FUNCTION",
    help="Trusted NumPy code that submissions may be compared with, by its name; may be repeated.",
)
@click.option("--no-hints", "hints", flag_value=False, default=True, help="Look for no repairs of what is refuted.")
@click.option("--allow-undetermined", is_flag=True, help="As for `gate`.")
@click.option("--allow-idle", is_flag=True, help="As for `gate`.")
@click.option("--allow-requires", is_flag=True, help="As for `gate`.")
@click.option("--no-exact", "exact", flag_value=False, default=True, help="As for `gate`.")
@click.option("--isolation", type=click.Choice(["auto", "bubblewrap", "landlock"]), default="auto", show_default=True)
def mcp(
    spec: Path | None,
    references: tuple[str, ...],
    hints: bool,
    allow_undetermined: bool,
    allow_idle: bool,
    allow_requires: bool,
    exact: bool,
    isolation: str,
) -> None:
    """Serve the gate to a model: a server of the Model Context Protocol on stdin and stdout (extra `mcp`).

    Its tools are check_kernel, get_finding and explain.  Sources go to the sandbox as with `gate`, and nowhere else; a
    client can name references that you gave here, and bring none.
    """
    from ..gating import GateOptions
    from ..gating.mcp_server import Desk, serve
    from ..gating.runs.workers import read_text

    options = GateOptions(
        None if spec is None else read_text(spec, "--spec"),
        hints=hints,
        isolation=isolation,
        exact=exact,
        allow_undetermined=allow_undetermined,
        allow_idle=allow_idle,
        allow_requires=allow_requires,
    )
    serve(Desk(options, dict(map(_named, references))))


def _named(text: str) -> tuple[str, str]:
    from ..gating.jobs.references import own_reference

    name, separator, reference = text.partition("=")
    if not separator or not name:
        raise UsageError(f"--reference {text}: write NAME=FILE.py::FUNCTION")
    own_reference(reference)  # what is wrong with it is said now
    return name, reference


# ---------------------------------------------------------------------------------------------------------- warm worker
# The command ``worker``: the process that has everything loaded and answers `check`.


@click.group()
def worker() -> None:
    """The process that has everything loaded and answers `check` at once.

    One for each project and Python. `check` starts it from a terminal, `--watch` and `lsp` always do; it ends by itself
    after a quarter of an hour without work, and when a package that it has loaded changes. TILEVERIFY_WORKER=0 does
    without it, TILEVERIFY_WORKER=1 starts it from anywhere. Linux only.
    """


@worker.command()
def status() -> None:
    """List the workers of this user."""
    lines = [_words(*each) for each in _running()]
    emit("\n".join([*lines, ""]) if lines else "no worker is running\n")


@worker.command()
@click.option("--all", "everywhere", is_flag=True, help="Those of other projects, too.")
def stop(everywhere: bool) -> None:
    """End the workers of this project, when what they have begun is done."""
    from ..serving.worker.client import project_of
    from ..serving.worker.client import stop as stop_worker

    here = project_of(os.getcwd())
    stopped = [each for each, project, _, _ in _running() if (everywhere or project == here) and stop_worker(each)]
    emit(f"{len(stopped)} stopped\n" if stopped else "no worker is running\n")


@worker.command()
@click.option("--wait", type=click.FloatRange(min=0), default=30, show_default=True, help="Seconds until it listens.")
def start(wait: float) -> None:
    """Start the worker of this project. Raises an error where there can be none."""
    from ..serving.worker.client import start as start_worker

    if not start_worker(seconds=wait):
        raise UsageError(
            "no worker has started: there is none on this system, in a folder of others, or with TILEVERIFY_WORKER=0"
        )
    emit("\n".join([*(_words(*each) for each in _running()), ""]))


@worker.command(hidden=True)
@click.argument("key")
@click.argument("project")
@click.pass_context
def serve(context: click.Context, key: str, project: str) -> None:
    """Be a worker; `start` runs this."""
    from ..serving.worker.serving import Changed
    from ..serving.worker.serving import serve as serve_requests

    program = context.find_root().command

    def carry_out(words: Sequence[str]) -> None:
        program.main(list(words), prog_name="tileverify")

    try:
        serve_requests(key, project, carry_out)
    except Changed as problem:
        raise UsageError(f"no worker: {problem}") from None


@worker.command(hidden=True)
@click.pass_context
def once(context: click.Context) -> None:
    """Do what a request on stdin asks for, where there can be no worker: a JSON object of words and texts of files."""
    from ..system.readings import stand_for

    request = json.loads(sys.stdin.read())
    stand_for(request["overlay"])
    context.find_root().command.main(list(request["words"]), prog_name="tileverify")


def _running() -> list[tuple[WorkerPlace, str, int, int]]:
    """The workers that listen: place, project, process, and since when (seconds since 1970)."""
    from ..serving.worker.client import WorkerPlace, folder_of_sockets, is_own_folder, is_running

    folder = folder_of_sockets()
    if folder is None or not is_own_folder(folder):
        return []
    found = []
    for lock in sorted(Path(folder).glob("*.lock")):
        at = WorkerPlace(folder, lock.stem, "")
        try:
            said = json.loads(lock.read_text(encoding="utf-8"))
            one = (at, str(said["project"]), int(said["pid"]), int(said["since"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if is_running(at):
            found.append(one)
    return found


def _words(at: WorkerPlace, project: str, pid: int, since: int) -> str:
    minutes = max(int(time.time()) - since, 0) // 60
    return f"process {pid}, for {project}, since {minutes} minutes"
