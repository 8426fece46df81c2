"""Files that are either whole or not there, and ZIP archives whose table of members is looked at before any is read."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from .printable import printable


def write_whole(path: Path, content: str | bytes, *, mode: int | None = None) -> None:
    """Write ``content`` (text as UTF-8) to ``path`` so that no reader ever sees a part of it, also after a crash.

    ``mode``: of the file, in place of that of the file before, or of new files.  A device, pipe or the like is written
    to directly; a link is followed.  Raises OSError.
    """
    data = content if isinstance(content, bytes) else content.encode("utf-8", errors="backslashreplace")
    try:
        before = path.stat().st_mode
    except FileNotFoundError:
        before = None
    if before is not None and not stat.S_ISREG(before):
        path.write_bytes(data)
        return
    path = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is None:
            mode = stat.S_IMODE(before) if before is not None else 0o666 & ~_umask()
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    """Can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# ------------------------------------------------------------------------------------------------------- private folder
# Folders whose contents are believed: verdicts and machine code of earlier runs.
#
# Whoever may write there decides what is believed, so nobody but this user may: neither the folder, nor a link on the
# way to it, nor an entry belongs to another user or may be written by one.  What is refused is told once, and the work
# goes on without it.


_MODE: Final = 0o700
_told: dict[Path, str | None] = {}


def is_private(folder: Path) -> bool:
    """Whether ``folder``, which need not be there yet, can be believed; why not is told once a process, on stderr."""
    if folder not in _told:
        _told[folder] = problem_of(folder)
        if (problem := _told[folder]) is not None:
            advice = "make it yours alone (chmod 700), or name another with TILEVERIFY_CACHE_DIR"
            text = f"the cache folder '{folder}' is not used: {problem}; {advice}"
            with contextlib.suppress(OSError, ValueError):
                print(printable(text), file=sys.stderr, flush=True)
    return _told[folder] is None


def problem_of(folder: Path) -> str | None:
    """Who else decides what lies in ``folder``, in words; ``None``: nobody, or the system has no owners."""
    if not hasattr(os, "geteuid"):
        return None
    spelled = folder.absolute()
    for place in (spelled, *spelled.parents):
        with contextlib.suppress(OSError):
            status = place.lstat()
            if stat.S_ISLNK(status.st_mode) and status.st_uid not in (0, os.geteuid()):
                return f"the link '{place}' belongs to another user"
    try:
        real = folder.resolve()
    except (OSError, RuntimeError):
        return "its links lead in a circle"
    if real.exists():
        status = real.stat()
        if not stat.S_ISDIR(status.st_mode):
            return "it is no folder"
        if status.st_uid != os.geteuid():
            return "it belongs to another user"
        if _others_may_write(status):
            return "other users may write to it"
    for place in real.parents:
        with contextlib.suppress(OSError):
            status = place.stat()
            # In a sticky folder, as /tmp is, only the owner of an entry may put another in its place.
            writable = _others_may_write(status) and not status.st_mode & stat.S_ISVTX
            if writable or status.st_uid not in (0, os.geteuid()):
                return f"other users may replace it, as '{place}' is theirs to write"
    return None


def read_private(path: Path) -> bytes:
    """The bytes of an entry of a private folder; raises OSError for one that is not this user's alone."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError("it is no file")
        if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or _others_may_write(status)):
            raise PermissionError("it is not this user's alone")
        return file.read()


def write_private(path: Path, content: str | bytes) -> None:
    """Write an entry that nobody else may read or write, and the folders that it needs; raises OSError."""
    missing = [place for place in path.parents if not place.exists()]
    for place in reversed(missing):
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=_MODE)
    write_whole(path, content, mode=0o600)


def _others_may_write(status: os.stat_result) -> bool:
    """A group of the user's own, which has the user's number, is not others."""
    by_group = status.st_mode & stat.S_IWGRP and status.st_gid != status.st_uid
    return bool(status.st_mode & stat.S_IWOTH or by_group)


# ---------------------------------------------------------------------------------------------------------- zip members
# The look at a ZIP archive's table of members before any of them is read: its own words, bounded by its size.
#
# Members may overlap in a file of a megabyte so that together they hold gigabytes.


MOST_MEMBERS: Final = 10_000
_LOCAL_HEADER: Final = 30
"""Bytes in front of a member's content, besides its name."""


def refuse_overlaps(archive: zipfile.ZipFile, size: int) -> None:
    """Raises `zipfile.BadZipFile` where members share bytes of the file, which has ``size``, or are too many.

    Members that share none fit into the file, one behind the other, in the order of their places.
    """
    entries = archive.infolist()
    if len(entries) > MOST_MEMBERS:
        raise zipfile.BadZipFile(f"it has more than {MOST_MEMBERS} members")
    end = 0
    for entry in sorted(entries, key=lambda each: each.header_offset):
        if entry.header_offset < end:
            raise zipfile.BadZipFile("two members overlap")
        end = entry.header_offset + _LOCAL_HEADER + len(entry.filename.encode()) + entry.compress_size
    if end > size:
        raise zipfile.BadZipFile("a member is larger than the file")
