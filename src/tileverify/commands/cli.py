"""The command line: the group and its commands.  Data goes to stdout, everything else to stderr."""

from __future__ import annotations

import os
from typing import Final

import click

from ..system.errors import TRACEBACK
from ..system.version import __version__
from . import (
    bundles,
    check,
    doctor,
    equal,
    explain,
    gate,
    init,
    looking,
    recheck,
    record,
    report,
    run,
    services,
    stability,
)
from .shell import EXIT_CODES, Shell

_COMMANDS: Final = (
    check.check,
    init.init,
    looking.footprint,
    looking.dis,
    looking.list_,
    run.run,
    recheck.replay,
    equal.equal,
    gate.gate,
    services.mcp,
    services.lsp,
    recheck.recheck,
    stability.stability,
    bundles.build,
    bundles.show,
    report.report,
    record.record,
    explain.explain,
    explain.schema,
    doctor.doctor,
    doctor.clean,
    services.worker,
)


def main() -> None:
    """The console script; never returns."""
    command(prog_name="tileverify")


@click.group(cls=Shell, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option("--traceback", is_flag=True, help="Show where an error happened (also: TILEVERIFY_TRACEBACK=1).")
def command(traceback: bool) -> None:
    """Prove GPU tile kernels free of data races, out-of-bounds accesses and broken promises."""
    if traceback:
        os.environ[TRACEBACK] = "1"  # worker processes shall know, too


for _each in _COMMANDS:
    command.add_command(_each)
