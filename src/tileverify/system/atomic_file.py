"""Files that are either whole or not there."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


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
