"""``tileiras``, the assembler of the CUDA toolkit: Tile IR bytecode to cubins.

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
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from ..system.errors import TileVerifyError
from .toolkit import HOST, KEPT_IN, PTX, keeping_ptx

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
        with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
            source, target, said = (Path(folder, name) for name in ("kernel.tileirbc", "kernel.cubin", "remarks.yaml"))
            source.write_bytes(bytecode)
            asked = ["--remarks=all", "--remark-format=yaml", f"--remarks-output-file={said}"]
            command = [str(self.path), "--gpu-name", architecture, *asked, str(source), "-o", str(target)]
            _assemble(command, target, architecture, dict(os.environ))
            return said.read_text(encoding="utf-8", errors="replace") if said.is_file() else ""


def _assemble(command: list[str], target: Path, architecture: str, environment: dict[str, str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        raise AssemblyError(f"tileiras took more than {_SECONDS:.0f} s for {architecture}") from None
    if done.returncode or not target.is_file():
        said = done.stderr.strip().splitlines()
        raise AssemblyError(f"tileiras refused the bytecode for {architecture}: {said[0] if said else '?'}")


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
