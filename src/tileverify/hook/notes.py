"""The notes that a recorded process leaves: one line of JSON per event, bytecode in files named by their hash.

A file of notes belongs to one process (a fork opens its own) and each line is written whole, so that a killed process
leaves one that can be read.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TextIO

from .noted import Event


class Notes:
    """Writes into ``folder``, which exists."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pid = -1
        self._file: TextIO | None = None

    def write(self, event: Event) -> None:
        """Append one event."""
        if self._file is None or self._pid != os.getpid():
            self._pid = os.getpid()
            handle, _ = tempfile.mkstemp(prefix=f"{self._pid}-", suffix=".jsonl", dir=self._folder)
            self._file = os.fdopen(handle, "w", encoding="utf-8")
        self._file.write(json.dumps(event) + "\n")
        self._file.flush()

    def store(self, content: bytes, suffix: str = "tileirbc") -> str:
        """Keep bytecode, or what an array holds; returns the SHA-256 that names it (``<sha256>.<suffix>``)."""
        digest = hashlib.sha256(content).hexdigest()
        target = self.path(digest, suffix)
        if not target.exists():
            handle, name = tempfile.mkstemp(prefix=f"{digest}-", suffix=".partial", dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(name, target)
        return digest

    def path(self, digest: str, suffix: str = "tileirbc") -> Path:
        """Where `store` keeps it."""
        return self._folder / f"{digest}.{suffix}"
