"""Which targets a change of files concerns."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

from ...frontend.sources.fixed_inputs import fixed_inputs
from ...serving.lsp.concerned import imported
from ...system.module_folders import is_installed

SOURCES: Final = frozenset({".py", ".cu", ".cuh", ".h", ".hpp", ".toml", ".tileirbc"})
"""What kernels are made of; other files may be bytecode, too, when they are named."""


def path_of(target: str) -> Path:
    """The file or folder of ``FILE::KERNEL::LAUNCH``."""
    return Path(target.split("::")[0])


def folders_of(targets: Iterable[str], known: Iterable[str]) -> set[Path]:
    """Where what ``targets`` depend on lies: their own folders, and those of modules that they import and that are not
    installed.  ``known``: files below targets that gave results."""
    elsewhere = [Path(entry).resolve() for entry in sys.path if os.path.isdir(entry) and not is_installed(entry)]
    places = [path_of(target) for target in targets]
    files = {file.resolve() for file in (*places, *map(Path, known)) if file.suffix == ".py"}
    modules = [module for file in files for module in imported(file, _text, elsewhere)]
    own = (place if place.is_dir() else place.parent for place in places)
    return {folder.resolve() for folder in (*own, *(module.parent for module in modules))}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def affected(targets: Sequence[str], known: Iterable[str], changed: AbstractSet[Path]) -> tuple[str, ...]:
    """What to check again: whole targets, or files below a folder that is one.

    ``known`` are the files that gave results, as reports spell them; ``changed`` are resolved paths.  A file is
    concerned if it, its specs or what it imports has changed, and, where it cannot be told what it depends on, if any
    source has.
    """
    concerned: dict[str, None] = {}
    files = list(known)
    for target in targets:
        place = path_of(target)
        if not place.is_dir():
            if place.is_file() and _concerns(place, changed):
                concerned[target] = None
            continue
        inside = [file for file in files if Path(file).resolve().is_relative_to(place.resolve())]
        for file in inside:
            if Path(file).is_file() and _concerns(Path(file), changed):
                concerned[file] = None
        seen = {Path(file).resolve() for file in files}
        for path in sorted(changed - seen):
            if path.is_file() and path.is_relative_to(place.resolve()) and path.suffix in (".py", ".cu", ".tileirbc"):
                concerned[str(place / path.relative_to(place.resolve()))] = None
    return tuple(concerned)


def _concerns(file: Path, changed: AbstractSet[Path]) -> bool:
    inputs = fixed_inputs(file)
    if inputs is None or inputs.translated:
        return any(path.suffix in SOURCES for path in changed)
    return any(each.resolve() in changed for each in (file, *inputs.files))
