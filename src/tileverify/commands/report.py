"""``tileverify report``: what a program lets pass without a proof."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ..shell import emit, talk

_EXIT_CODES = """\b
Exit codes:
  0  listed
  1  --strict, and there is one
  2  bad usage, or a file that cannot be read
"""


@click.command(epilog=_EXIT_CODES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--strict", is_flag=True, help="An opt-out is an error.")
@click.pass_context
def report(context: click.Context, paths: tuple[Path, ...], format_: str, strict: bool) -> None:
    """List where Python files let launches pass without a proof, and the reasons they give.

    Every `tileverify.unproved(reason=...)` in the files and folders PATH, which are read and not run.
    """
    from ..launching.opt_out_sources import opt_outs

    found = list(opt_outs(paths))
    if format_ == "json":
        import json

        emit(json.dumps([asdict(each) for each in found], indent=2) + "\n")
    else:
        from ..reports.plain import printable

        lines = (f"{each.file}:{each.line} in {each.function}: {each.reason}" for each in found)
        emit("".join(f"{printable(line)}\n" for line in lines))
    talk(f"{len(found)} opt-out{'' if len(found) == 1 else 's'}")
    context.exit(1 if strict and found else 0)
