"""nvcc, started by the recorded program to make kernels of CUDA Tile C++: the Tile IR of what it makes.

On a machine with a GPU nvcc runs once more with ``--tilebc``, and what it made first is known by its bytes.  Without
one it is asked for Tile IR in the first place: nobody will run a cubin, and the assembler takes the most time.

NVRTC needs no hook: its Tile IR (``nvrtcGetTileIR``) is what the program itself hands to the driver.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .modules import MAGIC, Modules

_WANTED = ("tilebc", "tilecubin", "tilefatbin", "cubin", "fatbin")
"""Options that say what nvcc makes of tile code; the first is Tile IR."""
_TILE_CODE = ("enable-tile", "tile-only", *_WANTED[:3])
_LONGEST_S = 600.0


def tile_command(command: object) -> list[str] | None:
    """``command`` with ``--tilebc`` in the place of what it wants, if it has nvcc compile tile code to one file of
    another kind."""
    if not isinstance(command, (list, tuple)) or not command:
        return None
    words = [os.fsdecode(word) for word in command]
    options = [word.lstrip("-") if word.startswith("-") else "" for word in words]
    is_nvcc = os.path.basename(words[0]) in ("nvcc", "nvcc.exe")
    if not is_nvcc or not set(options) & set(_TILE_CODE) or output_of(words) is None:
        return None
    if "tilebc" in options or not set(options) & set(_WANTED):
        return None
    kept = [word for word, option in zip(words, options, strict=True) if option not in _WANTED]
    return [kept[0], "--tilebc", *kept[1:]]


def output_of(words: Sequence[str]) -> str | None:
    """The file that nvcc is to write."""
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if word in ("-o", "--output-file"):
            return following or None
        if word.startswith("--output-file="):
            return word.partition("=")[2]
    return None


def watch_nvcc(modules: Modules, *, runs: bool) -> None:
    """Put a `subprocess.Popen` of ours in the place of Python's, in this process."""

    class Popen(subprocess.Popen):  # type: ignore[type-arg]
        __doc__ = subprocess.Popen.__doc__

        def __init__(self, args: Any, *rest: Any, **options: Any) -> None:
            self._tile: list[str] | None = None
            instead = tile_command(args)
            if instead is not None and runs:
                self._tile = instead
                self._folder, self._environment = options.get("cwd"), options.get("env")
            super().__init__(args if instead is None or runs else instead, *rest, **options)

        def poll(self) -> int | None:
            return self._noted(super().poll())

        def wait(self, timeout: float | None = None) -> int:
            code = super().wait(timeout)
            self._noted(code)
            return code

        def communicate(
            self, input: str | bytes | None = None, timeout: float | None = None
        ) -> tuple[object, object]:  # fmt: skip
            told = super().communicate(input, timeout)
            self._noted(self.returncode)
            return told

        def _noted(self, code: int | None) -> int | None:
            if code is not None and self._tile is not None:
                command, self._tile = self._tile, None
                if code == 0:
                    _note_output(modules, command, self._folder, self._environment)
            return code

    subprocess.Popen = Popen  # type: ignore[misc]


def _note_output(
    modules: Modules, command: list[str], folder: str | None, environment: Mapping[str, str] | None
) -> None:
    """Note the bytecode of what nvcc has just made; a second run that fails leaves it unknown."""
    output = output_of(command)
    assert output is not None
    with tempfile.TemporaryDirectory(prefix="tileverify-") as made:
        target = Path(made) / "module.tileirbc"
        words = [str(target) if word == output else word.replace(f"={output}", f"={target}") for word in command]
        try:
            subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=_LONGEST_S, check=False)
            image, bytecode = Path(folder or ".", output).read_bytes(), target.read_bytes()
        except (OSError, subprocess.SubprocessError):
            return
    if bytecode.startswith(MAGIC):
        modules.note(image, bytecode)
