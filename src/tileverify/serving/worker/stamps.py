"""What a worker has loaded, and whether it would load the same again.

A package that is edited or replaced where it is installed makes a worker out of date, and so does a module that comes
to lie before a loaded one on the module path.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from ...system.own_files import own_sources
from ...system.preloaded import importable_in

_Stamp = tuple[int, int, int, int]


class Changed(Exception):
    """What is loaded is not what lies there."""


@dataclass(frozen=True, slots=True)
class Stamps:
    """``files`` as they were when they were loaded (``None``: not there); ``shadows``: loaded names that each foreign
    folder has, too; ``folders``: those where packages are installed, and when one came or went."""

    files: dict[str, _Stamp | None]
    shadows: dict[str, frozenset[str]]
    folders: dict[str, int | None]

    def changed(self) -> str | None:
        """The first file or folder that is not as it was."""
        for file, stamp in self.files.items():
            if _stamp(file) != stamp:
                return file
        tops = _tops()
        for folder, names in self.shadows.items():
            if _shadows(folder, tops) != names:
                return folder
        for folder, time in self.folders.items():
            if _time(folder) != time:
                return folder
        return None


def stamps(since_ns: int, foreign: Iterable[str]) -> Stamps:
    """Of everything that this process has loaded since ``since_ns`` (of the system's clock), at the earliest.

    Raises `Changed` for a file that was written after that: what was loaded may be what was there before.
    """
    files: dict[str, _Stamp | None] = {}
    for file in _loaded():
        stamp = _stamp(file)
        if stamp is None or max(stamp[:2]) >= since_ns:
            raise Changed(f"'{file}' was changed while it was loaded")
        files[file] = stamp
    outside = []
    for entry in foreign:
        if os.path.isdir(entry):
            outside.append(entry)
        else:  # an archive, or what may become one
            files[entry] = _stamp(entry)
    tops = _tops()
    installed = {entry: _time(entry) for entry in sys.path if entry not in outside}
    return Stamps(files, {each: _shadows(each, tops) for each in outside}, installed)


def _loaded() -> set[str]:
    """The files of all modules and libraries in this process, and all modules of this package."""
    found = {str(path) for path in own_sources()}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str):
            found.add(file)
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            place = line.split(maxsplit=5)[5:]
            if place and place[0].startswith("/") and not place[0].startswith(("/dev/", "/memfd:", "/proc/")):
                found.add(place[0].rstrip("\n"))
    return {file for file in found if os.path.isabs(file)}


def _stamp(file: str) -> _Stamp | None:
    """Time of change of contents, and of anything; size and number of the file; ``None`` if there is none."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _time(folder: str) -> int | None:
    """When an entry of the folder was last made or removed, as installing a package does."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return None


def _tops() -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in sys.modules)


def _shadows(folder: str, tops: frozenset[str]) -> frozenset[str]:
    return frozenset(importable_in(folder) & tops)
