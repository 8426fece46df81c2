"""``tileverify report``: what a program lets pass without a proof, and what changed between two reports."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from ..system.errors import UsageError
from ..system.printable import plural
from .shell import emit, talk

_LIST_EXIT_CODES: Final = """\b
Exit codes:
  0  listed
  1  --strict, and there is one
  2  bad usage, or a file that cannot be read
"""

_DIFF_EXIT_CODES: Final = """\b
Exit codes:
  0  nothing is worse
  1  a verdict is worse, a proof is of fewer launches than before, or a new launch is not proved
  2  bad usage, or a file that is no report
"""

_LIST: Final = "opt-outs"


class _PathsOrCommand(click.Group):
    """``report PATH...`` lists opt-outs; only the name of a command in its place is something else."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else ""
        if first not in self.commands and first not in ("-h", "--help"):
            args = [_LIST, *args]
        return super().parse_args(ctx, args)


@click.group(cls=_PathsOrCommand, subcommand_metavar="PATH... | diff OLD NEW")
def report() -> None:
    """List launches that need no proof, or compare two reports.

    `report PATH...` is `report opt-outs PATH...`; for a file named like a command, write ./diff.
    """


@report.command(_LIST, epilog=_LIST_EXIT_CODES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--strict", is_flag=True, help="An opt-out is an error.")
@click.pass_context
def opt_outs_(context: click.Context, paths: tuple[Path, ...], format_: str, strict: bool) -> None:
    """List where Python files let launches pass without a proof, and the reasons they give.

    Every `tileverify.unproved(reason=...)` in the files and folders PATH, which are read and not run.
    """
    from ..launching.optouts import opt_outs

    found = list(opt_outs(paths))
    if format_ == "json":
        import json

        emit(json.dumps([asdict(each) for each in found], indent=2) + "\n")
    else:
        from ..system.printable import printable

        lines = (f"{each.file}:{each.line} in {each.function}: {each.reason}" for each in found)
        emit("".join(f"{printable(line)}\n" for line in lines))
    talk(plural(len(found), "opt-out"))
    context.exit(1 if strict and found else 0)


@report.command(epilog=_DIFF_EXIT_CODES)
@click.argument("reports", nargs=-1, required=True, metavar="[OLDER]... OLD NEW", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.pass_context
def diff(context: click.Context, reports: tuple[Path, ...], format_: str) -> None:
    """Tell what changed from the report OLD to the report NEW, and what OLDER ones said of that.

    All are what `check --format json` or `check --format html` wrote, in the order of time.
    """
    if len(reports) < 2:
        raise UsageError("report diff compares at least two reports: OLD NEW")
    from ..reports.history import compare, history_json, history_text, read_report
    from ..verifier.abduction.clauses import implied

    *older, earlier, results = map(read_report, reports)
    history = compare(earlier, results, older, implied)
    if format_ == "markdown":
        from ..reports.history import history_markdown

        emit(history_markdown(history, results))
    else:
        emit(history_json(history) if format_ == "json" else history_text(history))
    context.exit(1 if any(change.alarming for change in history.changes) else 0)
