"""What is needed to find out why the tool failed, in one archive beside the user's work.

The archive holds what it is given, and what is asked for here: versions, the words of the command line and the
traceback.  It holds no value of a variable of the environment or of the program, and no words of another program.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Final

from .atomic_file import write_whole
from .own_files import PACKAGE
from .version import __version__

FOLDER: Final = "TILEVERIFY_CRASH_DIR"
"""The environment variable with the folder that archives are written into; if it is empty, none are."""

MOST_BYTES: Final = 8 << 20
"""Of one file; larger ones are named and left out."""

_PACKAGES: Final = ("z3-solver", "cuda-tile", "nvidia-cuda-tileiras", "numpy", "msgspec", "click", "cvc5")
_TIME: Final = (2020, 1, 1, 0, 0, 0)
_README: Final = """\
tileverify failed, and this archive says how.

  traceback.txt  where it happened
  crash.json     versions, the command line, what was looked at
  file-*         sources, launch specs and bytecode that the failure is about, if any were at hand

No value of an environment variable and none of a variable of the program is in it. The sources are yours: look through
them before you hand the archive to anybody. Then please attach it to a report of the failure.
"""


@dataclass(frozen=True, slots=True)
class CrashContents:
    """What the failure was about.  ``told``: JSON values that say so; ``files``: contents by the names that the user
    knows them by."""

    told: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def crash_folder() -> Path | None:
    """Where archives go: the folder that `FOLDER` names, else the working folder, and where nobody may write there,
    the one for temporary files; ``None``: nowhere."""
    chosen = os.environ.get(FOLDER)
    if chosen is not None:
        return Path(chosen) if chosen else None
    here = Path.cwd()
    usable = here != here.parent and os.access(here, os.W_OK)  # nobody looks for it in the root of the file system
    return here if usable else Path(tempfile.gettempdir())


def write_crash(error: BaseException, contents: CrashContents, folder: Path | None) -> Path | None:
    """The archive on ``error``, whole; ``None`` if it could not be written, which must not hide the failure itself.

    One cause has one archive: what lies there of the same place in the same version stays.
    """
    if folder is None:
        return None
    try:
        path = folder / f"tileverify-crash-{_cause(error, contents)}.zip"
        if not path.exists():
            write_whole(path, _archive(error, contents), mode=0o600)
    except Exception:
        return None
    return path


def command_words() -> list[str]:
    """The command line, without the words behind ``--``, which are another program's."""
    words = sys.argv[1:]
    return words[: words.index("--") + 1] if "--" in words else words


def _cause(error: BaseException, contents: CrashContents) -> str:
    """Twelve digits for where in this package, in which version, it happened; without a place, for what with."""
    own = [
        f"{Path(frame.filename).relative_to(PACKAGE).as_posix()}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(PACKAGE)
    ]
    place = own[-1:] or [hashlib.sha256(content).hexdigest() for _, content in sorted(contents.files.items())]
    return hashlib.sha256("\0".join([__version__, type(error).__name__, *place]).encode()).hexdigest()[:12]


def _archive(error: BaseException, contents: CrashContents) -> bytes:
    names = {f"file-{number}{_suffix(name)}": name for number, name in enumerate(contents.files, start=1)}
    told = {
        "schema": "tileverify/crash/1",
        "error": type(error).__name__,
        "message": str(error),
        "command": command_words(),
        "versions": _versions(),
        "variables": sorted(name for name in os.environ if name.startswith(("TILEVERIFY_", "CUDA_TILE_"))),
        "files": names,
        **contents.told,
    }
    members: dict[str, bytes] = {
        "README.txt": _README.encode(),
        "traceback.txt": "".join(traceback.format_exception(error)).encode(errors="backslashreplace"),
        "crash.json": (json.dumps(told, indent=2, default=repr) + "\n").encode(errors="backslashreplace"),
    }
    for member, name in names.items():
        if len(contents.files[name]) <= MOST_BYTES:
            members[member] = contents.files[name]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(zipfile.ZipInfo(member, _TIME), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _suffix(name: str) -> str:
    """What programs know a file by, if it is a plain one."""
    suffix = Path(name).suffix
    return suffix if suffix[1:].isascii() and suffix[1:].isalnum() else ""


def _versions() -> dict[str, str]:
    found = {"tileverify": __version__, "python": sys.version, "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
