"""From a proved kernel to a bundle."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ...backend.assembler import Assembler
from ...backend.compiled.cubin_look import ProvedEntry, refuse_differences
from ...contract.launch import KernelUnit
from ...frontend.bytecode.location import user_frame
from ...frontend.bytecode.model import Block, Op
from ...pipeline.second_readings import MadeCode, made_code, proved_entry
from ...reports.reasons import undetermined
from ...results import KernelResult, Verdict
from ...system.paths import display_path
from ...system.version import __version__
from ...verifier.certificate.document import certificate_text, read_certificate
from .manifest import entry_of, parameter_types
from .model import Bundle, Cubin


def build_bundle(
    unit: KernelUnit, result: KernelResult, solver: str, assembler: Assembler | None, architectures: Sequence[str]
) -> Bundle:
    """The bundle of a result that is `proved` and has its certificate; raises `AssemblyError`, which is `CodeDiffers`
    where the code does other than the bytecode.

    Without an ``assembler`` the bundle has no cubins, and is assembled where it runs.
    """
    assert result.verdict is Verdict.PROVED
    assert result.certificate is not None
    assert result.holds_for is not None
    made = {} if assembler is None else _made(proved_entry(unit, result), assembler, architectures)
    compared = tuple(each.compared for each in made.values())
    certificate = replace(read_certificate(result.certificate.text, result.file), compared_code=compared)
    lines = tuple(_lines(unit, result.file))
    files = {_shown(str(unit.file)): unit.file}
    return Bundle(
        tool=__version__,
        solver=solver,
        bytecode=unit.bytecode,
        certificate_text=certificate_text(certificate),
        certificate=certificate,
        contract=result.stated,
        assumes=result.assumes,
        holds_for=result.holds_for,
        # A bundle is launched with everything that the proof covers, not only with what was asked for.
        deterministic=None if undetermined(result) and result.deterministic else result.deterministic,
        parameter_types=parameter_types(unit.bytecode, unit.symbol, result.file),
        cubins={name: _cubin(each) for name, each in made.items()},
        lines=lines,
        sources={name: digest for name, file in files.items() if (digest := _hash_of(file)) is not None},
    )


def _made(proved: ProvedEntry, assembler: Assembler, architectures: Sequence[str]) -> dict[str, MadeCode]:
    """The code for each architecture, none of which differs from the bytecode."""
    made = {}
    for architecture in architectures:
        made[architecture] = made_code(proved, assembler, architecture)
        refuse_differences(made[architecture].seen)
    return made


def _cubin(code: MadeCode) -> Cubin:
    seen = code.compared
    return Cubin(seen.architecture, seen.assembler, code.made.cubin, seen.outcome, seen.ptx_sha256)


def _lines(unit: KernelUnit, file: str) -> Iterator[tuple[int, str, int, int]]:
    """(offset in the bytecode, file, line, column) of every op whose source is known."""
    for op in _ops(entry_of(unit.bytecode, unit.symbol, file).body):
        frame = user_frame(op.location)
        if frame is not None:
            yield op.offset, _shown(frame.file), frame.line, frame.offset


def _ops(block: Block) -> Iterator[Op]:
    for op in block.ops:
        yield op
        for region in op.regions:
            for inner in region.blocks:
                yield from _ops(inner)


def _shown(file: str) -> str:
    """A path that means something on another machine: below the current folder, or the name alone."""
    path = Path(display_path(Path(file)))
    return path.name if path.is_absolute() else str(path)


def _hash_of(file: Path) -> str | None:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None
