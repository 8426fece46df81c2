"""Bundles whose kernels this machine has proved, kept on disk, so that the next process need not prove them again."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass
from pathlib import Path

from ...pipeline import solver_version
from ...pipeline.verdict_cache import generation
from ...system.private_folder import is_private, read_private, write_private
from .model import Bundle


@dataclass(frozen=True, slots=True)
class ProvedHere:
    """An empty file for each bytecode and certificate, under the version of prover and solver that proved it."""

    folder: Path

    def holds(self, bundle: Bundle) -> bool:
        if not is_private(self.folder):
            return False
        try:
            return read_private(self._path(bundle)) == b"proved\n"
        except OSError:
            return False

    def keep(self, bundle: Bundle) -> None:
        if is_private(self.folder):
            with contextlib.suppress(OSError):
                write_private(self._path(bundle), "proved\n")

    def _path(self, bundle: Bundle) -> Path:
        digest = hashlib.sha256(hashlib.sha256(bundle.bytecode).digest() + bundle.certificate_text.encode()).hexdigest()
        return self.folder / generation(solver_version()) / "bundles" / digest
