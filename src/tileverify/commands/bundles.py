"""The commands ``build`` and ``show``.  What they need is imported when they run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ..system.errors import TileVerifyError, UsageError
from ..system.version import __version__
from .shell import Working, emit, talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..backend.assembler import Assembler
    from ..contract.launch import KernelUnit
    from ..launching.bundle.manifest import Bundle
    from ..pipeline import CheckOptions
    from ..results import KernelResult

_BUILD_EXIT_CODES = """\b
Exit codes:
  0  everything is proved, and its bundle written
  1  something is refuted, or needs a size limit that is denied: no bundle was written for it
  2  bad usage, a kernel or spec with an error, no assembler, or one that refuses a kernel, or compiled code that
     differs (TV503)
  3  something is undecided: no bundle was written for it
  4  no kernel found
"""

_SHOW_EXIT_CODES = """\b
Exit codes:
  0  the bundle is whole (with --prove, its kernel is proved; with --assemble, its cubins are what tileiras makes)
  1  it is refused: damaged, changed, of another schema, signed wrongly, or not proved again (TV503)
  2  bad usage
"""

_MOST_BYTES: Final = 1 << 30


@click.command(epilog=_BUILD_EXIT_CODES)
@click.argument("target", metavar="FILE::KERNEL[::LAUNCH]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help="The bundle; a folder gets one KERNEL.LAUNCH.tvk for each launch.  [default: KERNEL.tvk]",
)
@click.option(
    "--arch",
    "architectures",
    multiple=True,
    metavar="SM",
    help="Assemble for sm_80 to sm_121; may be repeated; none: no cubin, assembled where it runs.  [default: sm_90]",
)
@click.option(
    "--sign", "key", type=click.Path(path_type=Path), metavar="KEY.pem", help="Sign with this Ed25519 private key."
)
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--deny-requires", is_flag=True, help="Prove under your contract alone, add no clause to it.")
@click.option("--deny-limits", is_flag=True, help="Write no bundle of a proof with size limits.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Seconds for the proof.")
@click.pass_context
def build(
    context: click.Context,
    target: str,
    output: Path | None,
    architectures: tuple[str, ...],
    key: Path | None,
    spec: Path | None,
    deny_requires: bool,
    deny_limits: bool,
    timeout: float | None,
) -> None:
    """Prove a kernel and put it into a bundle: bytecode, proof, cubins, contract and entry, in one file.

    Nothing is written for a kernel that is not proved, or whose compiled code differs (TV503).  The same kernel gives
    the same bytes.
    """
    from ..backend.assembler import AssemblyError, CodeDiffers
    from ..pipeline import CheckOptions
    from ..pipeline.unit_summary import solver_version
    from ..results import Report, Verdict

    names = _architectures(architectures)
    assembler = _assembler() if names else None
    options = CheckOptions(timeout_s=timeout, deny_requires=deny_requires, deny_limits=deny_limits, certificate=True)
    with Working(live=True):
        checked = _checked(target, spec, options)
    files = _files([unit for unit, _ in checked], output)
    written, failed, uncertified = [], False, False
    for (unit, result), file in zip(checked, files, strict=True):
        if result.certificate is None or result.counts_as is not Verdict.PROVED:
            _say_why_not(result)
            uncertified |= result.counts_as is Verdict.PROVED
            continue
        try:
            with Working(live=True):
                bundle = _signed(unit, result, solver_version(), assembler, names, key)
        except AssemblyError as error:
            failed = True
            if isinstance(error, CodeDiffers):
                talk(f"error: {error}")
                _tell_repairs(unit, replace(options, certificate=False, compiled=names, quick_repairs=True))
            else:
                talk(f"error: {result.file}::{unit.kernel} [{unit.launch.name}]: {error}")
            continue
        _write(bundle, file)
        written.append(file)
    for file in written:
        talk(f"{file}: proved and built; look at it with: tileverify show {file}")
    exit_code = Report(tuple(result for _, result in checked), "", "").exit_code
    context.exit(2 if failed else exit_code or (3 if uncertified else 0))


def _architectures(given: Sequence[str]) -> tuple[str, ...]:
    from ..backend.assembler import ARCHITECTURES

    names = tuple(dict.fromkeys(given or ("sm_90",)))
    if names == ("none",):
        return ()
    for name in names:
        if name not in ARCHITECTURES:
            raise UsageError(f"--arch: '{name}' is not one of {', '.join(ARCHITECTURES)} or none")
    return names


def _assembler() -> Assembler:
    from ..backend.assembler import find_assembler

    return find_assembler()


def _checked(target: str, spec: Path | None, options: CheckOptions) -> list[tuple[KernelUnit, KernelResult]]:
    from ..frontend.sources.discover import SourceFailure, discover
    from ..pipeline.unit_check import check_unit

    checked = []
    for unit in list(discover([target], spec_file=spec)):
        if isinstance(unit, SourceFailure):
            raise unit.error
        checked.append((unit, check_unit(unit, options)))
    return checked


def _files(units: Sequence[KernelUnit], output: Path | None) -> list[Path]:
    from ..launching.bundle.manifest import SUFFIX
    from ..system.printable import FreeNames, plain_stem

    folder = output is not None and not output.is_file() and output.suffix != SUFFIX
    if output is not None and (output.is_dir() or (len(units) > 1 and folder)):
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--output: cannot make the folder '{output}': {error.strerror or error}") from None
        names = FreeNames()
        return [output / f"{names.stem(f'{unit.kernel}.{unit.launch.name}')}{SUFFIX}" for unit in units]
    if len(units) > 1:
        launches = ", ".join(f"{unit.kernel}::{unit.launch.name}" for unit in units)
        raise UsageError(f"there are {len(units)} launches ({launches}): name one, or give -o a folder")
    file = output or Path(f"{plain_stem(units[0].kernel)}{SUFFIX}")
    if not file.parent.is_dir():
        raise UsageError(f"--output: there is no folder '{file.parent}'")
    return [file]


def _say_why_not(result: KernelResult) -> None:
    from ..pipeline.unit_summary import solver_version
    from ..reports.text import text_report
    from ..results import Report, Verdict

    for line in text_report(Report((result,), __version__, solver_version())).rstrip().split("\n"):
        talk(line)
    denied = ""
    if result.verdict is Verdict.PROVED:
        denied = ", but without a certificate" if result.counts_as is Verdict.PROVED else ", with what is denied"
    talk(f"{result.kernel} [{result.launch}] is {result.verdict.value}{denied}: no bundle of it was written")


def _tell_repairs(unit: KernelUnit, options: CheckOptions) -> None:
    """What mends compiled code that differs, where something was tried with success."""
    from ..pipeline.unit_check import check_unit

    with Working(live=True):
        checked = check_unit(unit, options)
    hints = [hint for finding in checked.findings for hint in finding.hints if hint.applicability != "display"]
    for text in dict.fromkeys(hint.text for hint in hints):
        talk(f"help: {text}")
    if any(hint.edits for hint in hints):
        asked = " ".join(f"--compiled {name}" for name in options.compiled)
        talk(f"help: make it with: tileverify check {asked} --fix {checked.file}::{unit.kernel}")


def _signed(
    unit: KernelUnit,
    result: KernelResult,
    solver: str,
    assembler: Assembler | None,
    architectures: Sequence[str],
    key: Path | None,
) -> Bundle:
    from ..launching.bundle.build import build_bundle
    from ..launching.bundle.trust import sign

    bundle = build_bundle(unit, result, solver, assembler, architectures)
    return bundle if key is None else sign(bundle, key)


def _write(bundle: Bundle, file: Path) -> None:
    from ..launching.bundle.manifest import bundle_bytes
    from ..system.atomic_file import write_whole

    try:
        write_whole(file, bundle_bytes(bundle))
    except OSError as error:
        raise UsageError(f"cannot write '{file}': {error.strerror or error}") from None


# -------------------------------------------------------------------------------------------------- show
@click.command(epilog=_SHOW_EXIT_CODES)
@click.argument("file", metavar="FILE.tvk", type=click.Path(path_type=Path))
@click.option(
    "--trust", "keys", multiple=True, type=click.Path(path_type=Path), metavar="KEY.pub", help="A trusted public key."
)
@click.option("--assemble", is_flag=True, help="Assemble the bytecode again and compare the cubins.")
@click.option("--prove", is_flag=True, help="Prove the kernel again under the contract in the bundle.")
@click.option("--extract", type=click.Path(path_type=Path), metavar="DIR", help="Write bytecode and certificate there.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def show(file: Path, keys: tuple[Path, ...], assemble: bool, prove: bool, extract: Path | None, format_: str) -> None:
    """Show what a bundle holds, and whether it is whole.

    A bundle that is not signed by a key that is trusted proves nothing by itself: what it says is shown as its own word
    unless `--prove` proves it again. A signature that is wrong is refused.
    """
    import json

    from ..launching.bundle.build import Belief, bundle_json, bundle_text
    from ..launching.bundle.trust import can_verify, check_proof, signer, trusted_cubin, trusted_keys

    bundle = read_file(file)
    trusted = trusted_keys(keys)
    looked = bundle.signature is not None and (bool(trusted) or can_verify())
    vouched = signer(bundle, trusted, str(file)) if looked else None
    if prove:
        with Working(live=True):
            check_proof(bundle, str(file))
    if assemble:
        assembler = _assembler()
        for architecture in bundle.cubins:
            trusted_cubin(bundle, architecture, str(file), assembler=assembler)
    belief = Belief(vouched.file if vouched else None, looked, prove)
    if extract is not None:
        _extract(bundle, extract)
    if format_ == "json":
        emit(json.dumps(bundle_json(bundle, belief), indent=2) + "\n")
    else:
        emit(bundle_text(bundle, str(file), belief))


def read_file(file: Path) -> Bundle:
    """The bundle in ``file``; raises `UsageError` where it cannot be read, `BundleRefused` where it is none."""
    from ..launching.bundle.manifest import read_bundle

    try:
        if file.stat().st_size > _MOST_BYTES:
            raise UsageError(f"'{file}' is larger than any bundle")
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {error.strerror or error}") from None
    return read_bundle(data, str(file))


def _extract(bundle: Bundle, folder: Path) -> None:
    from ..system.atomic_file import write_whole
    from ..system.printable import plain_stem
    from ..verifier.certificate.files import BYTECODE_SUFFIX
    from ..verifier.certificate.files import SUFFIX as CERTIFICATE_SUFFIX

    stem = plain_stem(bundle.certificate.kernel)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{stem}{BYTECODE_SUFFIX}", bundle.bytecode)
        write_whole(folder / f"{stem}{CERTIFICATE_SUFFIX}", bundle.certificate_text)
    except OSError as error:
        raise TileVerifyError(f"cannot write to '{folder}': {error.strerror or error}") from None
    talk(f"{folder}: bytecode and certificate; check the proof with: tileverify recheck {folder}")
