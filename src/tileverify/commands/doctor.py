"""The command ``doctor``."""

from __future__ import annotations

import click

from ..pipeline.verdict_cache import clear, default_folder
from .shell import Working, emit, use_color

_EXIT_CODES = """\b
Exit codes:
  0  `check` works here; what is absent is for other commands
  2  something that is needed is broken
"""


@click.command(epilog=_EXIT_CODES)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.pass_context
def doctor(context: click.Context, format_: str, color: str) -> None:
    """Look at what works on this machine: versions, solver, compiler, assembler, driver, GPUs, sandbox, cache.

    It proves one kernel and refutes another; no GPU is needed.
    """
    from .health import HealthState, examine

    with Working(live=False):
        found = list(examine())
    if format_ == "json":
        import json

        rows = [
            {"name": each.name, "state": each.state.value, "found": each.found, "advice": each.advice} for each in found
        ]
        emit(json.dumps({"schema": "tileverify/doctor/1", "diagnoses": rows}, indent=2) + "\n")
    else:
        from ..system.printable import printable

        colors = {HealthState.OK: "green", HealthState.ABSENT: "yellow", HealthState.BROKEN: "red"}
        colored = use_color(color)
        lines = []
        for each in found:
            state = f"{each.state.value:7}"
            head = click.style(state, fg=colors[each.state]) if colored else state
            advice = f"; {each.advice}" if each.advice else ""
            lines.append(f"{head} {each.name:14} {printable(each.found + advice)}\n")
        emit("".join(lines))
    context.exit(2 if any(each.state is HealthState.BROKEN for each in found) else 0)


# ---------------------------------------------------------------------------------------------------------------- clean
# The command ``clean``.


@click.command()
def clean() -> None:
    """Remove kept verdicts, of this and of other versions, so that `check` proves everything anew.

    They lie in TILEVERIFY_CACHE_DIR, or else in the user's cache folder (`doctor` says where); whatever else is there,
    machine code of launches among it, stays.
    """
    folder = default_folder()
    count, size = clear(folder)
    emit(f"{folder}: {count} files removed, {size / (1 << 20):.1f} MB\n")
