"""Certificates as files, ``NAME.tvcert.json`` beside the bytecode ``NAME.tileirbc``, and checks of many of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ...frontend.sources.bytecode_file import read_bytecode
from ...results import CodeAgain, KernelResult, SecondReading, Verdict
from ...system.atomic_file import write_whole
from ...system.errors import SourceError, UsageError
from ...system.printable import FreeNames, display_path
from .model import Certificate, CertificateError, read_certificate
from .recheck import recheck
from .report import CertificateRow
from .scripts import write_scripts
from .second_solver import SecondSolver

SUFFIX: Final = ".tvcert.json"
BYTECODE_SUFFIX: Final = ".tileirbc"
MAX_BYTES: Final = 1 << 28


def write_certificates(results: Sequence[KernelResult], folder: Path) -> str:
    """Write what ``results`` have into ``folder``, which exists, and say how many files; raises `UsageError`.

    What is proved without a certificate is counted: its result has a note that says why.
    """
    written = FreeNames()
    try:
        for result in results:
            if result.certificate is not None:
                name = written.stem(f"{result.kernel}.{result.launch}")
                write_whole(folder / f"{name}{BYTECODE_SUFFIX}", result.certificate.bytecode)
                write_whole(folder / f"{name}{SUFFIX}", result.certificate.text)
    except OSError as error:
        raise UsageError(f"cannot write certificates to '{folder}': {error.strerror or error}") from None
    missing = sum(result.verdict is Verdict.PROVED for result in results) - len(written)
    without = f"; {missing} proved without one, as its notes say" if missing else ""
    check = f"; check them with: tileverify recheck {folder}" if written else ""
    return f"{len(written)} certificate{'' if len(written) == 1 else 's'} in {folder}{without}{check}"


def certificate_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The certificates under ``paths``: files as they are, folders with everything below.  Raises `UsageError`."""
    for path in paths:
        if path.is_dir():
            found = sorted(path.rglob(f"*{SUFFIX}"))
            if not found:
                raise UsageError(f"there is no certificate (*{SUFFIX}) in '{path}'")
            yield from found
        else:
            yield path


def read_certificate_file(path: Path) -> str:
    """Raises `UsageError` for a file that cannot be read, `CertificateError` for what cannot be one."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CertificateError("it is larger than any certificate", str(path))
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise CertificateError("it is no text, so it is no certificate", str(path)) from None


@dataclass(frozen=True, slots=True)
class CertificateFile:
    """A certificate as text, the bytecode and the machine code (by architecture) that came with it."""

    text: str
    bytecode: bytes | None
    cubins: Mapping[str, bytes] = field(default_factory=dict)


def certificate_and_bytecode(path: Path) -> CertificateFile:
    """As `check --certificate` writes them; raises `UsageError` for files that cannot be read."""
    return CertificateFile(read_certificate_file(path), bytecode_beside(path))


def bytecode_beside(path: Path) -> bytes | None:
    """The bytecode that was written with the certificate, if it is still there."""
    beside = path.with_name(path.name.removesuffix(SUFFIX) + BYTECODE_SUFFIX)
    return read_bytecode(beside) if path.name.endswith(SUFFIX) and beside.is_file() else None


def bytecode_from(path: Path, certificate: Certificate) -> bytes:
    """The bytecode in a file, or what a source compiles to for the certificate's kernel and launch.

    Raises `SourceError` or `UsageError`.
    """
    from ...contract.launch import KernelUnit
    from ...frontend.sources.bytecode_file import is_bytecode
    from ...frontend.sources.discover import discover

    if is_bytecode(path):
        return read_bytecode(path)
    wanted = (certificate.kernel, certificate.launch.name)
    for unit in discover([f"{path}::{certificate.kernel}"]):
        if isinstance(unit, KernelUnit):
            if (unit.kernel, unit.launch.name) == wanted:
                return unit.bytecode
        else:
            raise unit.error
    raise SourceError(
        f"the source has no launch '{wanted[1]}' of '{wanted[0]}', which the certificate is for", str(path)
    )


# ---------------------------------------------------------------------------------------------------------------- batch
# ``tileverify recheck``: certificates of files and folders, one after the other.


def recheck_files(
    paths: Sequence[Path], *, bytecode: Path | None, scripts: Path | None, solver: SecondSolver,
    reads: Callable[[Certificate, bytes], SecondReading] | None = None,
    opened: Callable[[Path], CertificateFile] = certificate_and_bytecode,
    compares: Callable[[Certificate, bytes | None, Mapping[str, bytes]], tuple[CodeAgain, ...]] | None = None,
    executor: bool = True,
) -> Iterator[CertificateRow]:  # fmt: skip
    """A row for every certificate under ``paths``; one that is rejected does not stop the others.

    ``bytecode``: a file to compare with, in place of the one beside each certificate.  ``reads``: how the summary of a
    certificate is compared with runs, where that is asked for and the bytecode is at hand.  ``opened``: how a file is
    read.  ``compares``: how what a certificate says of compiled code is compared again.  ``executor``: as in
    `recheck`.

    Raises `UsageError` for files that cannot be read or written, and errors of the source that ``bytecode`` is.
    """
    files = list(certificate_files(paths))
    if len(files) > 1 and (bytecode is not None or scripts is not None):
        raise UsageError("--bytecode and --scripts are for one certificate")
    for path in files:
        name = display_path(path)
        try:
            given = opened(path)
            text = given.text
            if scripts is not None:
                _write(text, name, scripts)
            data = given.bytecode if bytecode is None else bytecode_from(bytecode, read_certificate(text, name))
            found = recheck(text, name, bytecode=data, solver=solver, executor=executor)
            reading = None if reads is None or data is None else reads(found.certificate, data)
            code = () if compares is None else compares(found.certificate, data, given.cubins)
            yield CertificateRow(name, found, reading=reading, code=code)
        except CertificateError as error:
            yield CertificateRow(name, problem=error.message)


def _write(text: str, name: str, folder: Path) -> None:
    certificate = read_certificate(text, name)
    try:
        write_scripts(certificate, folder)
    except OSError as error:
        raise UsageError(f"--scripts: cannot write to '{folder}': {error.strerror or error}") from None
