"""Programs of the CUDA Tile toolkit, which the extra ``assemble`` brings; a bare installation has none of them.

A test that runs one is marked ``assembler``, with its name: ``@pytest.mark.assembler("tileiras")``.  It is skipped
where the program is missing, unless ``--assembler`` says that it must be there.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import pytest

MARKER: Final = "assembler"


def find_tool(name: str) -> Path | None:
    """A tool of the CUDA toolkit: beside this Python's packages, or on the path."""
    installed = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin" / name
    if installed.exists():
        return installed
    found = shutil.which(name)
    return Path(found) if found else None


def _find_nvcc() -> Path | None:
    """An nvcc before 13.3 may be on PATH: it is no compiler of tile code."""
    nvcc = find_tool("nvcc")
    if nvcc is None:
        return None
    told = subprocess.run([str(nvcc), "--help"], capture_output=True, text=True, check=False)
    return nvcc if "--enable-tile" in told.stdout else None


def _find_disassembler() -> Path | None:
    from tests.frontend.bytecode.disassembly import find_disassembler

    return find_disassembler()


TOOLS: Final[dict[str, Callable[[], Path | None]]] = {
    "tileiras": lambda: find_tool("tileiras"),
    "tileirdisasm": _find_disassembler,
    "nvcc": _find_nvcc,
}


@cache
def present(tool: str) -> bool:
    return TOOLS[tool]() is not None


def mark_missing(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips the tests whose programs are missing.

    :raises pytest.UsageError: one is missing although ``--assembler`` was given.
    """
    for item in items:
        for tool in (mark.args[0] for mark in item.iter_markers(MARKER)):
            if present(tool):
                continue
            reason = f"{tool} is not installed (pip install 'tileverify[assemble]')"
            if config.getoption("--assembler"):
                raise pytest.UsageError(f"--assembler: {item.nodeid} cannot run: {reason}")
            item.add_marker(pytest.mark.skip(reason=reason))
