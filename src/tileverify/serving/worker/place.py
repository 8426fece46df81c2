"""Which worker belongs to this process, and where its socket lies.

A worker stands for a process that would have been started just now, so it is known by everything that such a process
would have from its start: the interpreter, its flags and module path, the variables that are read when something is
loaded, and what the system lets it do (`confinement`).  What changes between two requests without a restart is not part
of it (see `stamps`), and what a request brings along is not either: its folder, other variables, streams.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from dataclasses import dataclass
from typing import Final

from ...system.own_files import PACKAGE
from .confinement import confinement, readable

SWITCH: Final = "TILEVERIFY_WORKER"
"""The variable: 0 to do without a worker, 1 to start one without being asked from a terminal."""

_READ_WHEN_LOADED: Final = (
    "CUDA", "GLIBC_", "LANG", "LC_", "LD_", "LOCPATH", "MALLOC_", "MKL_", "NPY_", "NUMPY", "OMP_", "OPENBLAS_",
    "PYTHON", "TZ", "Z3",
)  # fmt: skip
"""What the names of variables have in them that libraries and Python read once."""

_PROTOCOL: Final = 2
_MARKS: Final = ("pyproject.toml", ".git")
_LONGEST_ADDRESS: Final = 100
"""Bytes; the system allows 107."""


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """``folder``: this user's alone; ``key``: of the worker, in hexadecimal; ``project``: the folder that it is for."""

    folder: str
    key: str
    project: str

    @property
    def address(self) -> str:
        """Of the socket."""
        return os.path.join(self.folder, f"{self.key}.socket")

    @property
    def lock(self) -> str:
        """Held by a worker as long as it lives; its text says which one it is."""
        return os.path.join(self.folder, f"{self.key}.lock")

    @property
    def log(self) -> str:
        """What a worker says that goes wrong."""
        return os.path.join(self.folder, f"{self.key}.log")


def place(project: str | None = None) -> WorkerPlace | None:
    """The place of the worker for this process, and for ``project`` (the one it works in, if not given).

    ``None`` where there can be none: another system, a folder that is not this user's alone, a module path that depends
    on the working folder, a filter of seccomp that nobody can compare.
    """
    if sys.platform != "linux" or not all(os.path.isabs(entry) for entry in sys.path):
        return None
    folder = folder_of_sockets()
    try:
        if folder is None or not readable() or not is_own_folder(folder, make=True):
            return None
        project = project or project_of(os.getcwd())
        key = hashlib.sha256(json.dumps([project, _surroundings()]).encode()).hexdigest()[:32]
    except OSError:
        return None
    found = WorkerPlace(folder, key, project)
    return found if len(os.fsencode(found.address)) <= _LONGEST_ADDRESS else None


def folder_of_sockets() -> str | None:
    """Where this user's workers have their sockets; ``None`` where there are no users."""
    if not hasattr(os, "geteuid"):
        return None
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isabs(runtime) and is_own_folder(runtime):
        return os.path.join(runtime, "tileverify")
    return f"/tmp/tileverify-{os.geteuid()}"


def is_own_folder(folder: str, *, make: bool = False) -> bool:
    """Whether ``folder`` is one that nobody but this user can write to, read, or replace; made if it may be."""
    if make:
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass
        except OSError:
            return False
    try:
        status, above = os.lstat(folder), os.stat(os.path.dirname(folder))
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        return False
    # In a sticky folder, as /tmp is, nobody may put another entry in the place of somebody else's.
    replaceable = above.st_mode & 0o022 and not above.st_mode & stat.S_ISVTX
    return above.st_uid in (0, os.geteuid()) and not replaceable


def project_of(folder: str) -> str:
    """The nearest folder above that looks like a project's, else ``folder`` itself."""
    at = folder
    while True:
        if any(os.path.exists(os.path.join(at, mark)) for mark in _MARKS):
            return at
        above = os.path.dirname(at)
        if above == at:
            return folder
        at = above


def _surroundings() -> list[object]:
    variables = {name: value for name, value in os.environ.items() if any(each in name for each in _READ_WHEN_LOADED)}
    streams = [getattr(each, "encoding", None) for each in (sys.stdin, sys.stdout, sys.stderr)]
    return [
        _PROTOCOL, sys.executable, sys.version, list(sys.flags), sys.path, str(PACKAGE), variables, confinement(),
        streams,
    ]  # fmt: skip
