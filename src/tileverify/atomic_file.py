"""Files that are either whole or not there."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write ``content`` (text as UTF-8) to ``path`` so that no reader ever sees a part of it, also after a crash.

    A device, pipe or the like is written to directly; a link is followed.  Raises OSError.
    """
    data = content if isinstance(content, bytes) else content.encode("utf-8", errors="backslashreplace")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        path.write_bytes(data)
        return
    path = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, stat.S_IMODE(mode) if mode is not None else 0o666 & ~_umask())
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
