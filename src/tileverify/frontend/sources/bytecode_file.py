"""Tile IR of others: bytecode files, every entry under its launch specs, and CUDA Tile C++ compiled with nvcc."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
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


# ------------------------------------------------------------------------------------------------------------- tile cpp
# CUDA Tile C++: compile a ``.cu`` file to Tile IR bytecode with nvcc.


ARCHITECTURE = "sm_90"
"""Bytecode does not depend on it beyond hints; it must be one that nvcc accepts for tile code."""
TIMEOUT_S = 300.0

_DIAGNOSTIC = re.compile(
    r"^(?P<file>[^\s(][^(]*)\((?P<line>\d+)\): (?:catastrophic |fatal )?error\s*[^:]*: (?P<text>.*)$"
)
_DIAGNOSTIC_GNU = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$")


def holds_tile_code(path: Path) -> bool:
    """Whether a ``.cu`` file speaks of tile kernels at all (ordinary CUDA C++ does not)."""
    try:
        return b"__tile_global__" in read(path)
    except OSError:
        return False


def find_nvcc() -> Path | None:
    """nvcc from the ``nvidia`` packages of this Python, or from ``PATH``."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        candidate = Path(folder) / "cu13" / "bin" / "nvcc"
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which("nvcc")
    return Path(found) if found else None


def compiles_tile_code(nvcc: Path) -> bool:
    """Whether this ``nvcc`` knows of tile code, as those from 13.3 on do; raises `OSError` where it does not start."""
    told = subprocess.run([str(nvcc), "--help"], capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    return "--enable-tile" in told.stdout


def compile_tile_cpp(path: Path) -> bytes:
    """The Tile IR bytecode of a ``.cu`` file.

    Raises :class:`SourceError` where there is no nvcc that compiles tile code, or at the user's line where the
    source does not compile.
    """
    nvcc = find_nvcc()
    if nvcc is None:
        raise SourceError(
            "CUDA Tile C++ needs nvcc 13.3 or later; install it with: pip install 'cuda-tile[tileiras]'", str(path)
        )
    with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
        output = Path(folder) / _OUTPUT
        try:
            result = _run([*_command(nvcc, path), "-o", _OUTPUT], folder)
        except OSError as error:
            raise SourceError(f"nvcc does not start ({error.strerror}): {nvcc}", str(path)) from None
        except subprocess.TimeoutExpired:
            raise SourceError(f"nvcc took more than {TIMEOUT_S:.0f} seconds", str(path)) from None
        if result.returncode != 0 or not output.is_file():
            raise _compile_error(path, result.stderr + "\n" + result.stdout)
        return output.read_bytes()


def translation(path: Path) -> str | None:
    """A digest of all that the bytecode of a ``.cu`` file is made from; ``None`` where that cannot be told.

    nvcc preprocesses the file once, and hands the text to one program.  So it is that text, whatever headers it came
    from, how the program is called, and which program it is.
    """
    nvcc = find_nvcc()
    if nvcc is None:
        return None
    with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
        try:
            text = _run([*_command(nvcc, path), "-E"], folder)
            steps = _run([*_command(nvcc, path), "-o", _OUTPUT, "--dryrun"], folder)
            said = [_TEMPORARY.sub("", line).replace(folder, "") for line in steps.stderr.splitlines()]
            folders = [line.removeprefix(_CICC_FOLDER) for line in said if line.startswith(_CICC_FOLDER)]
            calls = [line for line in said if _SETTING.match(line) is None]
            if text.returncode or steps.returncode or len(folders) != 1 or list(map(_kind, calls)) != ["-E", "cicc"]:
                return None
            programs = [(str(each), each.stat().st_size, each.stat().st_mtime_ns) for each in (nvcc, _cicc(folders[0]))]
        except (OSError, subprocess.TimeoutExpired):
            return None
    return hashlib.sha256(repr([text.stdout, calls, programs]).encode()).hexdigest()


_OUTPUT = "module.tileirbc"
_SETTING = re.compile(r"#\$ \w+=")
_TEMPORARY = re.compile(r"\S*tmpxft_[0-9a-f]+_[0-9a-f]+-\d+_")
_CICC_FOLDER = "#$ CICC_PATH="


def _cicc(folder: str) -> Path:
    return Path(folder, "cicc")


def _kind(call: str) -> str:
    """Which of the two steps a line of ``--dryrun`` is; something else, if it is none."""
    return "cicc" if call.startswith('#$ "$CICC_PATH/cicc" ') else "-E" if " -E " in call else call


def _command(nvcc: Path, path: Path) -> list[str]:
    return [str(nvcc), "-std=c++20", "--enable-tile", "--tilebc", f"-arch={ARCHITECTURE}", str(path.resolve())]


def _run(command: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=folder, check=False, errors="replace"
    )


def _compile_error(path: Path, output: str) -> SourceError:
    for line in output.splitlines():
        match = _DIAGNOSTIC.match(line) or _DIAGNOSTIC_GNU.match(line)
        if match:
            return SourceError(f"nvcc: {match['text']}", match["file"], int(match["line"]))
    if "--enable-tile" in output or "--tilebc" in output:
        return SourceError("this nvcc cannot compile tile code; nvcc 13.3 or later can", str(path))
    last = [line.strip() for line in output.splitlines() if line.strip()]
    return SourceError(f"nvcc failed: {last[-1] if last else 'no message'}", str(path))
