"""The command ``replay``: one finding, by its fingerprint, in the interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ..system.errors import UsageError
from .shell import Working, emit, talk

if TYPE_CHECKING:
    from ..results import Finding, KernelResult

_EXIT_CODES: Final = """\b
Exit codes:
  0  the fault did not show
  1  it showed
  2  bad usage or an error
  4  no finding has the fingerprint: it is mended, or of other PATHs
"""

_FEWEST: Final = 4
"""Digits of a fingerprint that are enough."""


@click.command(epilog=_EXIT_CODES)
@click.argument("fingerprint")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep verdicts of earlier runs.")
@click.pass_context
def replay(context: click.Context, fingerprint: str, paths: tuple[str, ...], spec: Path | None, no_cache: bool) -> None:
    """Show one fault again: run the launch of the finding with FINGERPRINT in the interpreter.

    FINGERPRINT is that of `check --verbose`, JSON or SARIF, or its first digits. PATHs are those of `check`, whose kept
    verdicts are taken where there are some; without any, `paths` of the configuration.
    """
    from ..pipeline import CheckOptions, check_paths
    from ..pipeline.configuration import configuration
    from ..pipeline.verdict_cache import default_folder

    wanted = fingerprint.lower()
    if len(wanted) < _FEWEST or not set(wanted) <= set("0123456789abcdef"):
        raise UsageError(f"'{fingerprint}' is no fingerprint, nor {_FEWEST} of its digits; check --verbose tells them")
    paths = paths or configuration((), isolated=False).paths
    if not paths:
        raise UsageError("replay takes the PATHs that were checked, or `paths` of the configuration")
    with Working(live=True):
        report = check_paths(paths, spec=spec, options=CheckOptions(cache=None if no_cache else default_folder()))
    found = [
        (result, finding)
        for result in report.results
        for finding in result.findings
        if finding.fingerprint.startswith(wanted)
    ]
    if len(several := sorted({finding.fingerprint for _, finding in found})) > 1:
        raise UsageError(f"'{fingerprint}' begins several fingerprints: {', '.join(several)}")
    if not found:
        talk(f"no finding has the fingerprint {fingerprint}: it is mended, or of other files")
        context.exit(4)
    shown = [_shown(result, finding, spec) for result, finding in found]
    context.exit(1 if any(shown) else 0)


def _shown(result: KernelResult, finding: Finding, spec: Path | None) -> bool:
    """Whether the fault showed again; tells what was seen."""
    from ..reports.explanation import explanation, title
    from ..reports.playback.replaying import FaultNotSeen
    from ..reports.playback.saved import replay_of, unit_of
    from ..system.printable import printable

    emit(f"{printable(title(finding))}: {explanation(result, finding)}\n")
    if finding.witness is None or finding.witness.launch is None:
        raise UsageError(f"{finding.code} has no launch that could be replayed: it is not refuted")
    unit = unit_of(result.file, result.kernel, result.launch, result.bytecode_sha256, spec)
    try:
        seen = replay_of(unit, finding.witness.launch)
    except FaultNotSeen as error:
        emit(f"not seen: {printable(str(error))}\n")
        return False
    emit(f"seen again by the {printable(seen.replayed_by)}: {printable(seen.element)}\n")
    return True
