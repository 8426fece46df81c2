"""What was read of files, by content: the bytes that were run and compiled are the bytes whose hash is kept.

A file may be saved while it is being checked.  Whoever wants to know later what a verdict was about listens from
before the first file is looked at; a hash that is taken afterwards may be of a newer text.
"""

from __future__ import annotations

import hashlib
import os
import stat
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

MOST_BYTES: Final = 1 << 28
"""Of a source, a spec or bytecode."""

_listening: weakref.WeakSet[Readings] = weakref.WeakSet()
_roots: list[Path] = []
_texts: dict[Path, bytes] = {}


@dataclass(eq=False)
class Readings:
    """Everything that this process reads of sources and specs while the object lives.

    ``imported``: the files of user modules that each imported file ran, itself included, by resolved paths.
    """

    imported: dict[Path, set[Path]] = field(default_factory=dict)
    _digests: dict[Path, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _listening.add(self)

    def digest(self, path: Path) -> str | None:
        """The hash of all that was read of ``path``; ``None`` if nothing was, or two readings differed."""
        found = self._digests.get(path.resolve(), set())
        return next(iter(found)) if len(found) == 1 else None

    def was_read(self, path: Path) -> bool:
        return path.resolve() in self._digests

    def add(self, path: Path, digest: str) -> None:
        self._digests.setdefault(path, set()).add(digest)


def read(path: Path) -> bytes:
    """The bytes of a file, which whoever listens gets the hash of.  Raises OSError."""
    data = content(path)
    note(path, data)
    return data


def content(path: Path) -> bytes:
    """The bytes of a file, or of what stands for it.  Raises OSError."""
    known = _texts.get(path.resolve()) if _texts else None
    if known is not None:
        return known
    with plain_file(path) as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise OSError(f"it has more than {MOST_BYTES >> 20} MiB")
        return file.read()


def plain_file(path: Path) -> BinaryIO:
    """The file, to be read; raises OSError for what may never end: a pipe, a device."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("it is no plain file")
    return os.fdopen(handle, "rb")


def text_of(path: Path, errors: str = "strict") -> str:
    """The same as text, in UTF-8, with line ends as Python reads them.  Raises OSError and UnicodeDecodeError."""
    return content(path).decode("utf-8", errors).replace("\r\n", "\n").replace("\r", "\n")


def stand_for(texts: Mapping[str, str]) -> None:
    """From now on ``texts`` are what is read of the files at these paths: what an editor shows and has not saved."""
    _texts.clear()
    _texts.update((Path(name).resolve(), text.encode("utf-8", "surrogatepass")) for name, text in texts.items())


def note(path: Path, data: bytes) -> None:
    """Tell those who listen that ``data`` was read from ``path``."""
    if _listening:
        resolved, digest = path.resolve(), sha256(data)
        for each in _listening:
            each.add(resolved, digest)


def ran(path: Path) -> None:
    """Tell those who listen that the file was run as a module, for the file that is being imported."""
    for each in _listening:
        for root in _roots[-1:]:
            each.imported.setdefault(root, set()).add(path.resolve())


@contextmanager
def importing(path: Path) -> Iterator[None]:
    """What runs in the block is run for ``path``, a resolved one."""
    _roots.append(path)
    try:
        yield
    finally:
        _roots.pop()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
