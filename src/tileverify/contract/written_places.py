"""Where the lines of a launch stand, in whatever it is written."""

from __future__ import annotations

import contextlib
from pathlib import Path

from ..system.errors import SpecError
from ..system.readings import text_of
from .launch import LaunchSpec
from .written_calls import keys_of_call
from .written_keys import WrittenKey, place_of, written_keys

__all__ = ["keys_of_launch", "mistake_in", "place_of"]


def keys_of_launch(file: str, line: int) -> tuple[WrittenKey, ...]:
    """Of the launch whose header, or decorator, stands at ``line``; none in what has changed beyond that."""
    if Path(file).suffix != ".toml":
        return keys_of_call(file, line, ())
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = text_of(Path(file))
        if line <= text.count("\n"):
            return written_keys(text, line)
    return ()


def mistake_in(launch: LaunchSpec, problem: str) -> SpecError:
    """A mistake in the arguments of this spec, with its file, launch, and the line of the one that it quotes."""
    file, line = launch.file, launch.line
    found = place_of(keys_of_launch(file, line), "args", problem) if file and line else None
    label = launch.where.removeprefix(f"{file}: ")
    return SpecError(f"{label}, {problem}" if label else problem, file or None, *(found or (line, None)))
