"""The command ``recheck``.  What it needs is imported when it runs: ``--help`` loads no solver."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ..system.errors import UsageError
from ..system.version import __version__
from .shell import Working, emit, talk

if TYPE_CHECKING:
    from ..results import Finding, KernelResult
    from ..verifier.certificate.files import CertificateFile

_EXIT_CODES = """\b
Exit codes:
  0  every proof is confirmed
  1  a certificate is rejected: damaged, not about this bytecode, a proof that is none, or contradicted by a run
     or by compiled code
  2  bad usage, or no second solver
  3  something is not confirmed, nothing rejected; also without the bytecode, where there are no obligations, or
     where compiled code is not compared again
"""


@click.command(epilog=_EXIT_CODES)
@click.argument("certificates", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="CERTIFICATE...")
@click.option(
    "--bytecode",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Bytecode of the kernel, or a source to compile, instead of the .tileirbc file beside the certificate.",
)
@click.option("--scripts", type=click.Path(path_type=Path), metavar="DIR", help="Write the SMT-LIB scripts into DIR.")
@click.option("--limit", type=click.IntRange(min=1), help="Resource units of the second solver for one script.")
@click.option(
    "--replay",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also run N launches of the contract in the interpreter, and compare every access with what was proved.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="The checker alone reads the bytecode: what it does not follow is not confirmed, and the prover's executor is "
    "not loaded.  What is said of compiled code is not compared again.",
)
@click.option("--allow-open", is_flag=True, help="Exit with 0 where something is not confirmed and nothing rejected.")
@click.option("-v", "--verbose", is_flag=True, help="Say of every obligation what confirms it.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE, whole.")
@click.pass_context
def recheck(
    context: click.Context,
    certificates: tuple[Path, ...],
    bytecode: Path | None,
    scripts: Path | None,
    limit: int | None,
    replay: int | None,
    strict: bool,
    allow_open: bool,
    verbose: bool,
    format_: str,
    output: Path | None,
) -> None:
    """Check proofs that `check --certificate` wrote, with cvc5 as a second solver.

    CERTIFICATE is a file, a folder of them, or a bundle (FILE.tvk).  Every obligation is derived again from the
    bytecode and compared with the certificate; then cvc5 has to confirm every proof.  What it cannot confirm is
    counted.  The contract that the proofs are about is printed: whoever relies on them compares it with his own.
    Where the tileiras that made code of the bytecode is installed, what is said of that code is compared again.
    """
    if output is not None and not output.parent.is_dir():
        raise UsageError(f"--output: there is no folder '{output.parent}'")
    if strict and replay is not None:
        raise UsageError("--strict and --replay exclude each other: what is replayed is the executor's reading")
    from ..pipeline.second_readings import compared_again
    from ..verifier.certificate.files import recheck_files
    from ..verifier.certificate.report import exit_code, recheck_json, recheck_text
    from ..verifier.certificate.second_solver import LIMIT, SecondSolver

    solver = SecondSolver(limit or LIMIT)
    reads = None
    if replay is not None:
        from ..pipeline.second_readings import reading_of_certificate

        reads = partial(reading_of_certificate, count=replay)
    with Working(live=True) as working:
        rows = []
        found = recheck_files(
            certificates,
            bytecode=bytecode,
            scripts=scripts,
            solver=solver,
            reads=reads,
            opened=_opened,
            compares=partial(compared_again, executor=not strict),
            executor=not strict,
        )
        for row in found:
            working.progress(f"{row.answer.value} {row.file}")
            rows.append(row)
    render = recheck_json if format_ == "json" else partial(recheck_text, verbose=verbose)
    emit(render(rows, __version__, solver.version), output)
    code = exit_code(rows)
    context.exit(0 if code == 3 and allow_open else code)


def _opened(path: Path) -> CertificateFile:
    """A certificate, or the one in a bundle."""
    from ..launching.bundle.manifest import SUFFIX, BundleRefused
    from ..verifier.certificate.files import CertificateFile, certificate_and_bytecode
    from ..verifier.certificate.model import CertificateError
    from .bundles import read_file

    if path.suffix != SUFFIX:
        return certificate_and_bytecode(path)
    try:
        bundle = read_file(path)
    except BundleRefused as error:
        raise CertificateError(error.message, str(path)) from None
    cubins = {name: each.code for name, each in bundle.cubins.items()}
    return CertificateFile(bundle.certificate_text, bundle.bytecode, cubins)


# ------------------------------------------------------------------------------------------------------- by fingerprint
# The command ``replay``: one finding, by its fingerprint, in the interpreter.


_EXIT_CODES_OF_REPLAY: Final = """\b
Exit codes:
  0  the fault did not show
  1  it showed
  2  bad usage or an error
  4  no finding has the fingerprint: it is mended, or of other PATHs
"""

_FEWEST: Final = 4
"""Digits of a fingerprint that are enough."""


@click.command(epilog=_EXIT_CODES_OF_REPLAY)
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
    from ..reports.ci_formats import explanation, title
    from ..reports.playback import FaultNotSeen, replay_of, unit_of
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
