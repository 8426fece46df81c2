"""The command ``gate``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ..errors import NoKernelFound, UsageError
from ..shell import emit, talk

if TYPE_CHECKING:
    from ..gating import Submission

_EXIT_CODES = """\b
Exit codes:
  0  every kernel is accepted: proved, and nothing else speaks against it
  1  something is not accepted
  2  bad usage, or untrusted code cannot be isolated on this machine
  4  there is no submission
"""

_LARGEST: Final = 1 << 24
"""Bytes that are read of one submission; the screen's own limit is far below."""


@click.command(epilog=_EXIT_CODES)
@click.argument("target", default="-", metavar="[-|FILE|FOLDER]")
@click.option(
    "--spec", type=click.Path(path_type=Path), help="Launches that you vouch for; each of them must be proved."
)
@click.option("--trust-specs", is_flag=True, help="Vouch for the NAME.tileverify.toml beside each NAME.py.")
@click.option(
    "--bundle", type=click.Path(path_type=Path), metavar="DIR", help="Write a bundle of each accepted kernel."
)
@click.option(
    "--reference", metavar="FILE.py::FUNCTION", help="What a proved kernel must compute, on small inputs (NumPy)."
)
@click.option("--complete", is_flag=True, help="What a proved kernel writes it must write in full, on small inputs.")
@click.option("--deny-requires", is_flag=True, help="Prove under the contract alone, add no clause to it.")
@click.option(
    "--isolation",
    type=click.Choice(["auto", "bubblewrap", "landlock"]),
    default="auto",
    show_default=True,
    help="What stands around untrusted code, besides seccomp and resource limits.",
)
@click.pass_context
def gate(
    context: click.Context,
    target: str,
    spec: Path | None,
    trust_specs: bool,
    bundle: Path | None,
    reference: str | None,
    complete: bool,
    deny_requires: bool,
    isolation: str,
) -> None:
    """Judge untrusted kernels: one line of JSON for each, accepted only if it is proved.

    A submission is Python source (stdin, a file, or every .py file under a folder).  It is screened, then compiled and
    proved in a sandbox without files, network or processes.  Run what was accepted from its bundle: the verdict speaks
    of the bytecode, not of what the source might do elsewhere.
    """
    if spec is not None and trust_specs:
        raise UsageError("--spec and --trust-specs exclude each other")
    from ..gating import GateOptions, judge

    text = None if spec is None else _text(spec, "--spec")
    if bundle is not None:
        _make(bundle)
    count = accepted = 0
    for submission in _submissions(target):
        given = text if text is not None or not trust_specs else submission.own_spec
        options = GateOptions(
            given, deny_requires, bundle is not None, isolation=isolation, reference=reference, complete=complete
        )
        result = judge(submission, options)
        emit(result.lines())
        count += len(result.kernels)
        accepted += sum(kernel.accepted for kernel in result.kernels)
        if bundle is not None:
            try:
                result.write_bundles(bundle)
            except OSError as error:
                raise UsageError(f"--bundle: cannot write: {error.strerror or error}") from None
    if not count:
        raise NoKernelFound("there is no submission", target)
    talk(f"{accepted} of {count} accepted")
    context.exit(0 if accepted == count else 1)


def _submissions(target: str) -> Iterator[Submission]:
    from ..check import display_path
    from ..gating import Submission

    if target == "-":
        yield Submission(sys.stdin.buffer.read(_LARGEST), "<stdin>")
        return
    path = Path(target)
    if not path.is_file() and not path.is_dir():
        raise UsageError(f"there is no file or folder '{target}'")
    for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
        # A link in a folder of submissions would have the gate read, and quote, what it points to.
        if file != path and (file.is_symlink() or not file.is_file()):
            talk(f"{file}: left out, it is no plain file")
            continue
        own = file.with_name(f"{file.stem}.tileverify.toml")
        there = own.is_file() and not own.is_symlink()
        source = _bytes(file)
        # What is no text in an untrusted spec shall stop its own submission alone.
        yield Submission(source, display_path(file), _bytes(own).decode("utf-8", errors="replace") if there else None)


def _text(path: Path, what: str) -> str:
    try:
        return _bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{what}: '{path}' is not UTF-8 ({error})") from None


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_LARGEST)
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror or error}") from None


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--bundle: cannot make the folder '{folder}': {error.strerror or error}") from None
