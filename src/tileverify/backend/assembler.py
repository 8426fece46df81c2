"""``tileiras``, the assembler of the CUDA toolkit: Tile IR bytecode to cubins.

The same bytecode, architecture and version give the same cubin, byte for byte (seen with 13.4), which is how a cubin
from somewhere else can be checked.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from ..system.errors import TileVerifyError
from .toolkit import HOST, KEPT_IN, PTX, keeping_ptx

ARCHITECTURES: Final = (
    "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_100", "sm_103", "sm_107", "sm_110", "sm_120", "sm_121",
)  # fmt: skip
"""What tileiras 13.4 assembles for."""

_SECONDS: Final = 600.0


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
    """An installed ``tileiras``."""

    path: Path

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
            _assemble(command, target, architecture, {**os.environ, KEPT_IN: folder})
            ptx, host = Path(folder, PTX), Path(folder, HOST)
            return Assembled(
                target.read_bytes(),
                ptx.read_text() if ptx.is_file() else None,
                host.read_bytes() if host.is_file() else None,
            )

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


def find_assembler() -> Assembler:
    """``tileiras`` of the extra ``assemble``, or of PATH; raises `AssemblyError` where there is none."""
    beside = f"{sysconfig.get_path('purelib')}/nvidia/cu13/bin"
    found = shutil.which("tileiras", path=os.pathsep.join((beside, os.environ.get("PATH", ""))))
    if found is None:
        raise AssemblyError("there is no tileiras here: pip install 'tileverify[assemble]', or put it on PATH")
    return Assembler(Path(found))
