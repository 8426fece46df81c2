"""The process of one round, which may be ended before it is done."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from ...serving.worker.place import SWITCH


def ran(words: Sequence[str], disturbed: Callable[[], bool] | None = None) -> tuple[int, str] | None:
    """``tileverify WORDS...``: its exit code and what it said on stderr; ``None`` if it was ended, since ``disturbed``,
    which waits a little before it answers, said so."""
    surroundings = {SWITCH: "1", **os.environ}  # the first round starts a worker for the others
    command = [sys.executable, "-m", __package__.split(".")[0], *words]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as told:
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(command, env=surroundings, stdin=nothing, stdout=nothing, stderr=told)
        try:
            while disturbed is not None and process.poll() is None:
                if disturbed():
                    return None
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        told.seek(0)
        return code, told.read()
