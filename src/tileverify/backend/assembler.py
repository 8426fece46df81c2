"""``tileiras``, the assembler of the CUDA toolkit: Tile IR bytecode to cubins, the PTX on the way, and its remarks.

The same bytecode, architecture and version give the same PTX and the same cubin, byte for byte, which is how a cubin
from somewhere else can be checked.  But ptxas goes by addresses of its own memory now and then: where the system draws
those, one of 176 corpus cubins came out in two forms, each in half of all runs (13.4.92, sm_100).  So it runs where
they are not drawn, if the system allows that, and who compares cubins tries several times (`Assembler.assembled_as`).
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from ..frontend.bytecode import decode
from ..frontend.bytecode.enums import MemoryOrdering
from ..frontend.bytecode.location import Location, user_frame
from ..frontend.bytecode.model import Entry, Op
from ..frontend.bytecode.traverse import walk
from ..frontend.bytecode.wellformed import beyond_tile_ir
from ..system.errors import TileVerifyError

ARCHITECTURES: Final = (
    "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_100", "sm_103", "sm_107", "sm_110", "sm_120", "sm_121",
)  # fmt: skip
"""What tileiras 13.4 assembles for."""

_SECONDS: Final = 600.0
_TRIES: Final = 12
"""Runs that may make one cubin."""


class AssemblyError(TileVerifyError):
    """There is no assembler, or it does not take the bytecode."""


class CodeDiffers(AssemblyError):
    """What tileiras makes of a kernel does other than the bytecode that is proved (TV503), and is not run."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """What one run of ``tileiras`` made.  ``ptx``: the text that the cubin was made of, ``host``: the object with the
    host code that fills tensor maps; ``None`` where they were not seen."""

    cubin: bytes
    ptx: str | None
    host: bytes | None


@dataclass(frozen=True)
class Assembler:
    """An installed ``tileiras``.  ``steady``: it runs with the same addresses each time, where the system allows it."""

    path: Path
    steady: bool = field(default=True, kw_only=True)

    @cached_property
    def version(self) -> str:
        """``13.4.92``."""
        done = subprocess.run([self.path, "--version"], capture_output=True, text=True, check=False, timeout=60)
        found = re.search(r"V(\d+(?:\.\d+)+)", done.stdout)
        if done.returncode or found is None:
            raise AssemblyError(f"'{self.path}' does not say its version, so it is no tileiras")
        return found[1]

    def assemble(self, bytecode: bytes, architecture: str) -> bytes:
        """The cubin of ``bytecode`` for ``sm_90`` or the like; raises `AssemblyError`."""
        return self.assembled(bytecode, architecture).cubin

    def assembled(self, bytecode: bytes, architecture: str) -> Assembled:
        """The same with what it was made of."""
        refuse_foreign_functions(bytecode)
        watched = keeping_ptx(self.path)
        with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
            source, target = Path(folder, "kernel.tileirbc"), Path(folder, "kernel.cubin")
            source.write_bytes(bytecode)
            command = [str(watched or self.path), "--gpu-name", architecture, str(source), "-o", str(target)]
            steadily = same_addresses() if self.steady else ()
            _assemble([*steadily, *command], target, architecture, {**os.environ, KEPT_IN: folder})
            ptx, host = Path(folder, PTX), Path(folder, HOST)
            return Assembled(
                target.read_bytes(),
                ptx.read_text() if ptx.is_file() else None,
                host.read_bytes() if host.is_file() else None,
            )

    def assembled_as(self, bytecode: bytes, architecture: str, cubin_sha256: str) -> Assembled:
        """The same with this very cubin, if one of several runs makes it; else what `assembled` makes."""
        first = made = self.assembled(bytecode, architecture)
        drawn = replace(self, steady=False)
        for _ in range(_TRIES):
            if hashlib.sha256(made.cubin).hexdigest() == cubin_sha256:
                return made
            made = drawn.assembled(bytecode, architecture)
        return first

    def remarks(self, bytecode: bytes, architecture: str) -> str:
        """What tileiras says of the code that it made, as YAML for `compiled.remarks`; raises `AssemblyError`."""
        refuse_foreign_functions(bytecode)
        with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
            source, target, said = (Path(folder, name) for name in ("kernel.tileirbc", "kernel.cubin", "remarks.yaml"))
            source.write_bytes(bytecode)
            asked = ["--remarks=all", "--remark-format=yaml", f"--remarks-output-file={said}"]
            command = [str(self.path), "--gpu-name", architecture, *asked, str(source), "-o", str(target)]
            _assemble(command, target, architecture, dict(os.environ))
            return said.read_text(encoding="utf-8", errors="replace") if said.is_file() else ""


def refuse_foreign_functions(bytecode: bytes) -> None:
    """Raise `AssemblyError` at the first op of a module that Tile IR lacks, if the module can be read."""
    try:
        entries = decode(bytecode).entries
    except TileVerifyError:
        return  # tileiras says better what it does not take
    for entry in entries:
        for op in walk(entry.body):
            foreign = beyond_tile_ir(op)
            if foreign is not None:
                frame = user_frame(op.location)
                file, line = (frame.file, frame.line) if frame else (None, None)
                problem = f"{foreign} has no counterpart in Tile IR, so '{entry.name}' cannot be built"
                raise AssemblyError(problem, file, line)


def _assemble(command: list[str], target: Path, architecture: str, environment: dict[str, str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        raise AssemblyError(f"tileiras took more than {_SECONDS:.0f} s for {architecture}") from None
    if done.returncode or not target.is_file():
        said = done.stderr.strip().splitlines()
        number = -done.returncode if done.returncode < 0 else done.returncode - 128  # by a shell in between
        if number in signal.valid_signals():
            ended = signal.Signals(number).name
            raise AssemblyError(f"tileiras crashed ({ended}) on the bytecode for {architecture}: a fault of tileiras")
        reason = said[0] if said else f"exit code {done.returncode}, no message"
        raise AssemblyError(f"tileiras refused the bytecode for {architecture}: {reason}")


@cache
def same_addresses() -> tuple[str, ...]:
    """The words before a command that has its memory at the same addresses each time; none where that is not allowed,
    as in most containers."""
    words = ("setarch", platform.machine(), "-R")
    try:
        done = subprocess.run([*words, "true"], capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return () if done.returncode else words


def find_assembler() -> Assembler:
    """``tileiras`` of the extra ``assemble``, or of PATH; raises `AssemblyError` where there is none."""
    beside = f"{sysconfig.get_path('purelib')}/nvidia/cu13/bin"
    found = shutil.which("tileiras", path=os.pathsep.join((beside, os.environ.get("PATH", ""))))
    if found is None:
        raise AssemblyError("there is no tileiras here: pip install 'tileverify[assemble]', or put it on PATH")
    return Assembler(Path(found))


# -------------------------------------------------------------------------------------------------------------- toolkit
# A toolkit in which the PTX between ``tileiras`` and ``ptxas`` is kept.
#
# ``tileiras`` writes PTX into a file of its own and calls the ``ptxas`` that lies beside it.  So a folder that mirrors
# the toolkit, with links to everything and a script in place of ``ptxas``, sees the text that the cubin is made of.


KEPT_IN: Final = "PTX_KEPT_IN"
PTX, HOST = "kernel.ptx", "host.o"
_SCRIPT: Final = """#!/bin/sh
if [ -n "${folder}" ]; then
  for each in "$@"; do
    case "$each" in
      *.ptx) cp "$each" "${folder}/{ptx}" ;;
      --nv-host=*) cp "${{each#--nv-host=}}" "${folder}/{host}" ;;
    esac
  done
fi
exec {ptxas} "$@"
"""

_lasting: Final[list[tempfile.TemporaryDirectory[str]]] = []
"""Until the process ends."""


@cache
def keeping_ptx(tileiras: Path) -> Path | None:
    """``tileiras`` in such a folder, which lasts as long as this process; ``None`` where none can be made."""
    tools = tileiras.resolve().parent
    root, ptxas = tools.parent, tools / "ptxas"
    if os.name != "posix" or not ptxas.is_file() or not (root / "nvvm").is_dir():
        return None
    folder = tempfile.TemporaryDirectory(prefix="tileverify-toolkit-")
    _lasting.append(folder)
    mirror = Path(folder.name)
    try:
        (mirror / "bin").mkdir()
        for each in root.iterdir():
            if each.name != "bin":
                (mirror / each.name).symlink_to(each)
        for each in tools.iterdir():
            if each.name not in ("tileiras", "ptxas"):
                (mirror / "bin" / each.name).symlink_to(each)
        made = mirror / "bin" / "tileiras"
        try:
            os.link(tools / "tileiras", made)
        except OSError:
            shutil.copy2(tools / "tileiras", made)
        script = mirror / "bin" / "ptxas"
        script.write_text(_SCRIPT.format(folder="{" + KEPT_IN + "}", ptx=PTX, host=HOST, ptxas=_quoted(ptxas)))
        script.chmod(0o700)
    except OSError:
        folder.cleanup()
        return None
    return made


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "'\\''") + "'"


# -------------------------------------------------------------------------------------------------------------- remarks
# What ``tileiras`` says of each access that it compiled: the instruction that it took, and why it was not TMA.
#
# Remarks come as YAML documents, of which these lines are read: the tag, ``Name``, ``DebugLoc`` and the ``Args``.  Keys
# that nobody knows are passed over.


_PLACE: Final = re.compile(
    r"DebugLoc:\s*\{\s*File:\s*(?P<file>'(?:[^']|'')*'|\"[^\"]*\"|[^,]*),\s*"
    r"Line:\s*(?P<line>\d+)(?:,\s*Column:\s*(?P<column>\d+))?"
)
_KEY: Final = re.compile(r"\s*(?:-\s*)?(?P<key>\w+):\s*(?P<value>.*)")
_OWN_PLACE: Final = re.compile(r"^loc\(.*?\):\s*")
_MEMORY: Final = re.compile(r"Memory(Load|Store|Tma)")
_SELECTED: Final = re.compile(r"Failed to select (.*?)(?: instruction)?")


@dataclass
class CompilerRemark:
    """One document.  ``column`` counts as the file says; ``reasons`` stand in it once each."""

    kind: str
    name: str = ""
    file: str = ""
    line: int = 0
    column: int | None = None
    text: str = ""
    instruction: str = ""
    reasons: list[str] = field(default_factory=list)

    @property
    def of_memory(self) -> bool:
        """Whether it is about a load or a store."""
        return _MEMORY.search(self.name) is not None

    @property
    def words(self) -> str:
        """``global-memory load``, ``no TMA load: base pointer not 16-byte aligned``."""
        failed = _SELECTED.fullmatch(self.text)
        if failed is not None:
            return f"no {failed[1]}" + (f": {'; '.join(self.reasons)}" if self.reasons else "")
        chosen = self.instruction.removesuffix(" instruction") or self.text
        return chosen[:1].lower() + chosen[1:] if not chosen.startswith("TMA") else chosen


def read_remarks(text: str) -> list[CompilerRemark]:
    """The remarks of a file of ``tileiras --remark-format=yaml``, in its order."""
    found: list[CompilerRemark] = []
    for line in text.splitlines():
        if line.startswith("---"):
            found.append(CompilerRemark(line[3:].strip().removeprefix("!").lower()))
        elif found:
            _read(line, found[-1])
    return found


def _read(line: str, remark: CompilerRemark) -> None:
    if (place := _PLACE.match(line)) is not None:
        remark.file, remark.line = _plain(place["file"]), int(place["line"])
        remark.column = None if place["column"] is None else int(place["column"])
        return
    entry = _KEY.match(line)
    if entry is None:
        return
    value = _plain(entry["value"])
    match entry["key"]:
        case "Name":
            remark.name = value
        case "Remark":
            remark.text = value
        case "Instruction":
            remark.instruction = value
        case "Reason":
            reason = _OWN_PLACE.sub("", value)
            if reason not in remark.reasons:
                remark.reasons.append(reason)


def _plain(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].replace("''", "'") if value[0] == "'" else value[1:-1]
    return value


def remarks_at(remarks: Iterable[CompilerRemark], location: Location | None) -> tuple[str, ...]:
    """What is said of the access at ``location``, in words, each once; by its line where columns are not the same."""
    if location is None:
        return ()
    there = [
        each
        for each in remarks
        if each.of_memory and any((each.file, each.line) == (frame.file, frame.line) for frame in location.chain())
    ]
    columns = {column for frame in location.chain() for column in (frame.column, frame.column + 1)}
    exact = [each for each in there if each.column in columns]
    return tuple(dict.fromkeys(_ordered(exact or there)))


def _ordered(remarks: Iterable[CompilerRemark]) -> Iterator[str]:
    """What was taken before what was not."""
    every = list(remarks)
    yield from (each.words for each in every if each.kind == "passed")
    yield from (each.words for each in every if each.kind != "passed")


# ---------------------------------------------------------------------------------------------------------- split loads
# Loads that tileiras does not compile to what Tile IR means by them.
#
# A load op has one value.  Seen with tileiras 13.4.92 and 13.5 for sm_90: every warp of a tile block makes a scoped
# load (relaxed or acquire) of a small tile for itself and goes on with what it read, so that warps see different values
# where another block writes meanwhile.  They leave a waiting loop in different rounds, the barriers behind it no longer
# pair, and what follows is done twice, or the block hangs: on an H200 the corpus' `turns.py` and `ticket_lock.py`,
# right in Tile IR, gave wrong sums in 4 to 7 % of the launches.  Atomic operations are made by one thread, which tells
# the others.  Weak loads are no matter: where no race is, all warps read the same.
#
# The comparison of compiled code with its bytecode (`compiled.cubin_look`) finds that by itself where it can follow the
# launch.  Where it cannot, and where few launches compare equal, this rule refuses: equal bytes do not show that all
# threads see one value, nor that what is behind an acquire waits for it.


_WHY = (
    "tileiras makes this {ordering} load once in each warp, and the warps may see different values (seen with 13.4 and "
    "13.5), so that its machine code does not do what the bytecode says"
)
WAIT_BY_ATOMIC = "wait with an atomic operation, as `atomic_add(flag, 0)`"


def split_loads(entry: Entry) -> Iterator[Op]:
    """The scoped loads of an entry."""
    return (op for op in walk(entry.body) if is_split_load(op))


def is_split_load(op: Op) -> bool:
    return op.declaration.loads and op.attributes["ord"] != MemoryOrdering.WEAK


def notes_on_split_loads(entry: Entry) -> tuple[str, ...]:
    """What a report says of them: once for each line."""
    return tuple(dict.fromkeys(f"{_place(op)}{why_split(op)}, and it is not run on a GPU" for op in split_loads(entry)))


def refuse_split_loads(bytecode: bytes) -> None:
    """Raises `AssemblyError` (TV503) for a module with such a load, if it can be read: for code that is not compared
    before it runs."""
    try:
        entries = decode(bytecode).entries
    except TileVerifyError:
        return  # tileiras says better what it does not take
    for entry in entries:
        for op in split_loads(entry):
            frame = user_frame(op.location)
            file, line = (frame.file, frame.line) if frame else (None, None)
            raise AssemblyError(f"{why_split(op)} (TV503); {WAIT_BY_ATOMIC}", file, line)


def why_split(op: Op) -> str:
    return _WHY.format(ordering=op.attributes["ord"])


def _place(op: Op) -> str:
    frame = user_frame(op.location)
    return f"line {frame.line}: " if frame else ""
