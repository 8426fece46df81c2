"""What is being verified at this moment, for people who wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..verifier.effort import Effort


@dataclass
class UnderWay:
    """Written by who works, read by another thread: ``kernel``, empty if none is under way, ``since`` when (of
    `time.monotonic`), and the account that says what its proof is at."""

    kernel: str = ""
    since: float = 0.0
    effort: Effort | None = None

    @contextmanager
    def at(self, kernel: str) -> Iterator[None]:
        """Meanwhile it is this kernel."""
        self.begin(kernel)
        try:
            yield
        finally:
            self.end()

    def begin(self, kernel: str) -> None:
        """From now on it is this kernel."""
        self.effort, self.since, self.kernel = None, time.monotonic(), kernel

    def end(self) -> None:
        """From now on it is none."""
        self.kernel = ""

    def proves(self, effort: Effort) -> None:
        """Its proof has begun, and is paid from this account."""
        self.effort = effort

    def words(self) -> str:
        """``kernel.py::add [0]: 3 s, clauses for the contract, TV101, the store of `out` at line 12``; empty if nothing
        is under way."""
        kernel, since, effort = self.kernel, self.since, self.effort
        if not kernel:
            return ""
        at = [f"{kernel}: {time.monotonic() - since:.0f} s"]
        if effort is not None:
            from ..verifier.messages import short

            stage, obligation = effort.stage, effort.obligation
            at += [each for each in (stage, short(obligation) if obligation is not None else "") if each]
        return ", ".join(at)

    @property
    def seconds(self) -> float:
        """For how long the kernel has been under way; 0 if none is."""
        return time.monotonic() - self.since if self.kernel else 0.0
