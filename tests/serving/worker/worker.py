"""A folder of sockets, and command lines that a worker of it may answer."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3] / "src"


@dataclass(frozen=True)
class Ran:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def by_worker(self) -> bool:
        """Whether a worker has done it; needs ``--verbose``."""
        return "checked in this process" not in self.err


@dataclass(frozen=True)
class Workers:
    """``root``: holds a project; ``runtime``: the folder of sockets."""

    root: Path
    runtime: Path

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "CI"))}
        own.pop("TILEVERIFY_WORKER", None)
        path = os.pathsep.join([*([more["PYTHONPATH"]] if more and "PYTHONPATH" in more else []), str(SOURCE)])
        return {**own, "XDG_RUNTIME_DIR": str(self.runtime), **(more or {}), "PYTHONPATH": path}

    def command(self, *words: str, folder: Path | None = None, more: Mapping[str, str] | None = None) -> Ran:
        """``tileverify WORDS...`` in ``folder``."""
        done = subprocess.run(
            [sys.executable, "-m", "tileverify", *words],
            env=self.environment(more), cwd=folder or self.root, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def workers() -> Iterator[Workers]:
    """A project without a worker; all that are started for it end with the block."""
    # Not one of pytest's folders: the address of a socket is short.
    top = Path(tempfile.mkdtemp(prefix="tv-"))
    try:
        (top / "project" / ".git").mkdir(parents=True)
        (top / "run").mkdir(mode=0o700)
        made = Workers(top / "project", top / "run")
        try:
            yield made
        finally:
            made.command("worker", "stop", "--all")
    finally:
        shutil.rmtree(top, ignore_errors=True)
