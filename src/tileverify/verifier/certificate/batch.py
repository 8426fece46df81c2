"""``tileverify recheck``: certificates of files and folders, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ...results.second_reading import SecondReading
from ...system.errors import UsageError
from ...system.paths import display_path
from .document import read_certificate
from .files import bytecode_beside, bytecode_from, certificate_files, read_certificate_file
from .model import Certificate, CertificateError
from .recheck import recheck
from .report import CertificateRow
from .scripts import write_scripts
from .second_solver import SecondSolver


def recheck_files(
    paths: Sequence[Path], *, bytecode: Path | None, scripts: Path | None, solver: SecondSolver,
    reads: Callable[[Certificate, bytes], SecondReading] | None = None,
) -> Iterator[CertificateRow]:  # fmt: skip
    """A row for every certificate under ``paths``; one that is rejected does not stop the others.

    ``bytecode``: a file to compare with, in place of the one beside each certificate.  ``reads``: how the summary of a
    certificate is compared with runs, where that is asked for and the bytecode is at hand.

    Raises `UsageError` for files that cannot be read or written, and errors of the source that ``bytecode`` is.
    """
    files = list(certificate_files(paths))
    if len(files) > 1 and (bytecode is not None or scripts is not None):
        raise UsageError("--bytecode and --scripts are for one certificate")
    for path in files:
        name = display_path(path)
        text = read_certificate_file(path)
        try:
            if scripts is not None:
                _write(text, name, scripts)
            data = bytecode_beside(path) if bytecode is None else bytecode_from(bytecode, read_certificate(text, name))
            found = recheck(text, name, bytecode=data, solver=solver)
            reading = None if reads is None or data is None else reads(found.certificate, data)
            yield CertificateRow(name, found, reading=reading)
        except CertificateError as error:
            yield CertificateRow(name, problem=error.message)


def _write(text: str, name: str, folder: Path) -> None:
    certificate = read_certificate(text, name)
    try:
        write_scripts(certificate, folder)
    except OSError as error:
        raise UsageError(f"--scripts: cannot write to '{folder}': {error.strerror or error}") from None
