"""``tileverify recheck``: certificates of files and folders, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ...results.compared_code import CodeAgain
from ...results.second_reading import SecondReading
from ...system.errors import UsageError
from ...system.printable import display_path
from .document import read_certificate
from .files import CertificateFile, bytecode_from, certificate_and_bytecode, certificate_files
from .model import Certificate, CertificateError
from .recheck import recheck
from .report import CertificateRow
from .scripts import write_scripts
from .second_solver import SecondSolver


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
