"""Modules that host code loads, as far as they hold Tile IR: their bytecode, and what each entry takes.

A module is known by its image: what was given to the driver.  That is bytecode itself, or a cubin of which the hook on
the compiler has noted the bytecode (``compilers``).
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from .notes import Notes

MAGIC = b"\x7fTileIR\0"
"""How Tile IR bytecode begins."""


class NotedParameter(TypedDict):
    """``dtype``: of the scalar, or of what the pointer points to, as specs call it; ``bits``: 0 for one without;
    ``divisor``: what the kernel takes for granted to divide it."""

    name: str
    is_pointer: bool
    dtype: str
    bits: int
    divisor: int


class NotedEntry(TypedDict):
    """``file`` is empty where the bytecode does not say from what it was made."""

    symbol: str
    name: str
    file: str
    line: int
    parameters: list[NotedParameter]


class NotedEntries(TypedDict, total=False):
    version: str
    entries: list[NotedEntry]
    error: str


class UnreadableModule(ValueError):
    """Bytecode that the recorder cannot read."""


@dataclass(frozen=True)
class TileModule:
    """One module with Tile IR.  ``digest``: the SHA-256 of ``bytecode``, under which it is stored."""

    bytecode: bytes
    digest: str
    version: str
    entries: dict[str, NotedEntry]


@dataclass
class Modules:
    """All modules of a process.  ``python``: the recorder's own interpreter, ``package``: the folder of tileverify."""

    notes: Notes
    python: str
    package: Path
    _bytecode: dict[str, bytes] = field(default_factory=dict)
    _known: dict[str, TileModule] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _reader: subprocess.Popen[str] | None = None
    _reader_of: int = -1

    def note(self, image: bytes, bytecode: bytes) -> None:
        """``image`` was made of ``bytecode``."""
        self._bytecode[hashlib.sha256(image).hexdigest()] = bytecode

    def holds_tile_ir(self, image: bytes) -> bool:
        """Whether `of_image` finds a module."""
        return image.startswith(MAGIC) or hashlib.sha256(image).hexdigest() in self._bytecode

    def of_image(self, image: bytes) -> TileModule | None:
        """The module; ``None`` for one without Tile IR.  Raises `UnreadableModule`."""
        digest = hashlib.sha256(image).hexdigest()
        bytecode = image if image.startswith(MAGIC) else self._bytecode.get(digest)
        if bytecode is None:
            return None
        with self._lock:
            if digest not in self._known:
                self._known[digest] = self._read(bytecode)
            return self._known[digest]

    def _read(self, bytecode: bytes) -> TileModule:
        stored = self.notes.store(bytecode)
        found = self._ask(self.notes.path(stored))
        if "error" in found:
            raise UnreadableModule(found["error"])
        entries = {entry["symbol"]: entry for entry in found["entries"]}
        return TileModule(bytecode, stored, found["version"], entries)

    def _ask(self, path: Path) -> NotedEntries:
        if self._reader is None or self._reader_of != os.getpid():
            self._reader, self._reader_of = self._start(), os.getpid()
            atexit.register(self._reader.kill)
        assert self._reader.stdin is not None
        assert self._reader.stdout is not None
        try:
            self._reader.stdin.write(json.dumps(str(path)) + "\n")
            self._reader.stdin.flush()
            answer = self._reader.stdout.readline()
        except OSError:
            answer = ""
        if not answer:
            self._reader = None
            return {"error": f"the reader of Tile IR modules, started with {self.python}, has ended"}
        found: NotedEntries = json.loads(answer)
        return found

    def _start(self) -> subprocess.Popen[str]:
        """It ends with its input, so that one whose program was killed does not stay."""
        environment = {name: each for name, each in os.environ.items() if not name.startswith("TILEVERIFY_RECORD_")}
        environment["PYTHONPATH"] = str(self.package.parent)
        command = [self.python, "-m", f"{self.package.name}.record.module_entries"]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=self.notes.path("any").parent,
            text=True,
            encoding="utf-8",
        )
