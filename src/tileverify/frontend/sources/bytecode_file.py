"""Tile IR bytecode files: every entry under every launch spec that names its symbol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import SourceError, SpecError
from .compiled_facts import entry_parameters
from .launch import INFERRED, EntryParameter, KernelUnit, LaunchSpec

MAGIC = b"\x7fTileIR\0"


def is_bytecode(path: Path) -> bool:
    """Whether the file begins with the magic of Tile IR bytecode."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class BytecodeEntry:
    """One entry of a bytecode module; ``file`` is what reports name, also where the bytecode was compiled from it."""

    file: Path
    symbol: str
    parameter_count: int
    bytecode: bytes
    line: int | None = None
    compile_ms: float = 0.0


def read_bytecode(path: Path) -> bytes:
    """The bytes of a file; :class:`SourceError` where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror})", str(path)) from None


def bytecode_entries(data: bytes, file: Path, *, compile_ms: float = 0.0) -> tuple[BytecodeEntry, ...]:
    """The entries of a module; :class:`~tileverify.errors.DecodeError` for corrupt bytecode."""
    from ..bytecode import decode

    return tuple(
        BytecodeEntry(
            file=file,
            symbol=entry.name,
            parameter_count=len(entry.parameters),
            bytecode=data,
            line=entry.location.line if entry.location else None,
            compile_ms=compile_ms,
        )
        for entry in decode(data, file=str(file)).entries
    )


def entry_unit(entry: BytecodeEntry, spec: LaunchSpec) -> KernelUnit:
    """The unit of one entry under a spec; :class:`SpecError` where the arguments do not fill its parameters."""
    parameters = entry_parameters(spec)
    if not spec.inferred:
        check_parameter_count(parameters, entry.parameter_count, spec, entry.symbol)
    return KernelUnit(
        file=entry.file,
        kernel=entry.symbol,
        launch=spec,
        bytecode=entry.bytecode,
        symbol=entry.symbol,
        parameters=parameters,
        compile_ms=entry.compile_ms,
        line=entry.line,
        notes=spec.notes,
    )


def unknown_launch(symbol: str) -> LaunchSpec:
    """The spec of an entry that nobody described: nothing is known about its parameters."""
    note = f"no launch spec for '{symbol}': the meaning of its parameters is unknown"
    return LaunchSpec(kernel=symbol, name=INFERRED, arguments=(), inferred=True, notes=(note,))


def check_parameter_count(parameters: Sequence[EntryParameter], count: int, spec: LaunchSpec, symbol: str) -> None:
    """Refuse a spec whose arguments take another number of entry parameters than the entry has."""
    if len(parameters) == count:
        return
    taken: dict[str, int] = {}
    for parameter in parameters:
        taken[parameter.argument] = taken.get(parameter.argument, 0) + 1
    described = ", ".join(f"{name} takes {number}" for name, number in taken.items()) or "there are none"
    raise SpecError(
        f"args: the arguments fill {len(parameters)} entry parameters ({described}), but '{symbol}' has {count}",
        spec.where or None,
    )
