"""The command ``mcp``."""

from __future__ import annotations

from pathlib import Path

import click

from ..system.errors import UsageError


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
    from ..gating.mcp_server import serve
    from ..gating.mcp_tools import Desk
    from ..gating.runs.candidates import read_text

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
