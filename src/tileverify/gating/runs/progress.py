"""The line that a terminal shows while a run goes on."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from typing import Final

_EVERY_S: Final = 0.2


class Progress:
    """On stderr, and only where that is a terminal.  ``done``: submissions that were known before this run."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done, self._before = total, done, done
        self._started = time.monotonic()
        self._shown = 0.0
        self._live = sys.stderr.isatty()

    def step(self) -> None:
        """One more submission has its answer."""
        self._done += 1
        now = time.monotonic()
        if self._live and (now - self._shown > _EVERY_S or self._done == self._total):
            self._shown = now
            self._write(f"\r\x1b[K{self._text(now)}")

    def _text(self, now: float) -> str:
        rate = (self._done - self._before) / max(now - self._started, 1e-3)
        left = (self._total - self._done) / rate
        text = f"{self._done} of {self._total}, {rate:.1f} a second, {left / 60:.0f} min left"
        return text[: shutil.get_terminal_size().columns - 1]

    def close(self) -> None:
        """Take the line away."""
        if self._live and self._shown:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
