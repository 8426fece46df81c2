"""Tile IR bytecode files: every entry under every launch spec that names its symbol."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ...contract.launch import EntryParameter, KernelUnit, LaunchSpec
from ...results.conditional import plain_name
from ...system.errors import SourceError
from ...system.readings import plain_file, read
from .abi import entry_types, fitting_parameters

MAGIC = b"\x7fTileIR\0"


def is_bytecode(path: Path) -> bool:
    """Whether the file begins with the magic of Tile IR bytecode."""
    try:
        with plain_file(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def noted_source(file: Path, beside: Path) -> str:
    """The name that reports have for a source ``file`` which the debug information of a bytecode file names.

    Whoever made the bytecode wrote it, so it may be any file of this machine, which a report would quote.  Only what
    lies below the working folder or the folder ``beside`` the bytecode keeps a name that can be opened.
    """
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        there = file.resolve()
        if not there.exists() or any(there.is_relative_to(folder.resolve()) for folder in (Path.cwd(), beside)):
            return str(file)
    return f"not read: {file}"


@dataclass(frozen=True, slots=True)
class BytecodeEntry:
    """One entry of a bytecode module; ``file`` is what reports name, also where the bytecode was compiled from it.

    ``name`` is the kernel's name for reports and specs, ``alias`` another that specs and targets may use.
    """

    file: Path
    name: str
    alias: str
    symbol: str
    parameter_types: tuple[str, ...]
    bytecode: bytes
    line: int | None = None
    compile_ms: float = 0.0


def read_bytecode(path: Path) -> bytes:
    """The bytes of a file; :class:`SourceError` where it cannot be read."""
    try:
        return read(path)
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror})", str(path)) from None


def bytecode_entries(
    data: bytes, file: Path, *, plain_names: bool = False, compile_ms: float = 0.0
) -> tuple[BytecodeEntry, ...]:
    """The entries of a module; :class:`~tileverify.system.errors.DecodeError` for corrupt bytecode.

    A kernel is called by its symbol, or with ``plain_names`` by the function's name in it; the other name is the
    alias.  A plain name that two entries share stands for neither.
    """
    from ..bytecode import decode

    entries = decode(data, file=str(file)).entries
    shared = Counter(plain_name(entry.name) for entry in entries)
    found = []
    for entry in entries:
        plain = plain_name(entry.name)
        names = (entry.name, plain if shared[plain] == 1 else entry.name)
        found.append(
            BytecodeEntry(
                file=file,
                name=names[plain_names],
                alias=names[not plain_names],
                symbol=entry.name,
                parameter_types=entry_types(entry),
                bytecode=data,
                line=entry.location.line if entry.location else None,
                compile_ms=compile_ms,
            )
        )
    return tuple(found)


def entry_unit(entry: BytecodeEntry, spec: LaunchSpec) -> KernelUnit:
    """The unit of one entry under a spec; :class:`SpecError` where the arguments do not fit its parameters."""
    parameters = fitting_parameters(spec, entry.parameter_types, entry.symbol)
    return unit_of(entry, spec, parameters)


def unit_of(entry: BytecodeEntry, spec: LaunchSpec, parameters: tuple[EntryParameter, ...]) -> KernelUnit:
    """The unit of one entry whose parameters mean this."""
    return KernelUnit(
        file=entry.file,
        kernel=entry.name,
        launch=spec,
        bytecode=entry.bytecode,
        symbol=entry.symbol,
        parameters=parameters,
        compile_ms=entry.compile_ms,
        line=entry.line,
        notes=spec.notes,
    )
