"""Machine code that this machine's assembler made, kept on disk.

One file for each bytecode, architecture and version of ``tileiras``, with its own hash in front: a file that is damaged
counts as absent, and so does everything where others may write.  Files are written whole, so that processes may share
the folder; the oldest ones go when all of them take too much space.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..backend.assembler import Assembled, Assembler
from ..system.private_folder import is_private, read_private, write_private

MOST_BYTES: Final = 512 << 20
_HASH: Final = 32
_LOOKED_AT: Final = "1"
"""How cubins are looked at before they are kept; those of other numbers are not found."""


@dataclass
class CubinCache:
    """``folder`` is made when something is put into it.  Threads that want the same cubin wait for one of them."""

    folder: Path
    assembler: Assembler
    most_bytes: int = MOST_BYTES
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cubin(self, bytecode: bytes, architecture: str, look: Callable[[Assembled], None]) -> bytes:
        """The machine code of ``bytecode``; raises `AssemblyError`, as ``look`` may, which sees what is new."""
        words = f"{_LOOKED_AT}\0{architecture}\0{self.assembler.version}\0"
        key = hashlib.sha256(words.encode() + bytecode).hexdigest()
        with self._lock:
            one_at_a_time = self._locks.setdefault(key, threading.Lock())
        with one_at_a_time:
            known = self._read(key)
            if known is not None:
                return known
            made = self.assembler.assembled(bytecode, architecture)
            look(made)
            self._write(key, made.cubin)
            return made.cubin

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.cubin"

    def _read(self, key: str) -> bytes | None:
        path = self._path(key)
        if not is_private(self.folder):
            return None
        try:
            data = read_private(path)
        except OSError:
            return None
        with contextlib.suppress(OSError):
            path.touch()
        digest, cubin = data[:_HASH], data[_HASH:]
        return cubin if hashlib.sha256(key.encode() + cubin).digest() == digest else None

    def _write(self, key: str, cubin: bytes) -> None:
        if not is_private(self.folder):
            return
        with contextlib.suppress(OSError):
            write_private(self._path(key), hashlib.sha256(key.encode() + cubin).digest() + cubin)
            self._shrink()

    def _shrink(self) -> None:
        found = []
        for path in self.folder.glob("*.cubin"):
            with contextlib.suppress(FileNotFoundError):  # another process makes room, too
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        found.sort()
        total = sum(size for _, size, _ in found)
        for _, size, path in found[:-1]:  # the newest stays, however large it is
            if total <= self.most_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size
